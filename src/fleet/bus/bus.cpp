// SPDX-License-Identifier: MIT
#include "fleet/bus/bus.h"

#include <nats/nats.h>

#include <algorithm>
#include <cctype>
#include <deque>

#include "base/files.h"

namespace rochound::fleet {
namespace {

using base::Error;
using base::Result;

template <auto kDestroy>
struct Destroy {
  void operator()(auto* object) const { kDestroy(object); }
};
template <typename T, auto kDestroy>
using Handle = std::unique_ptr<T, Destroy<kDestroy>>;
using MessageHandle = Handle<natsMsg, natsMsg_Destroy>;
using OptionsHandle = Handle<natsOptions, natsOptions_Destroy>;
using StreamInfoHandle = Handle<jsStreamInfo, jsStreamInfo_Destroy>;
using SubscriptionHandle = Handle<natsSubscription, natsSubscription_Destroy>;

Error Failed(const std::string& what, natsStatus status) {
  const char* details = nats_GetLastError(nullptr);
  std::string reason = natsStatus_GetText(status);
  if (details != nullptr && *details != '\0') reason += std::string(" (") + details + ")";
  return Error{what + ": " + reason};
}

constexpr int64_t kNanoseconds = 1000000000;

StreamFacts FactsOf(const jsStreamInfo& info) {
  return {info.Created, info.State.FirstSeq, info.State.LastSeq, info.State.Msgs};
}

std::string TextOf(natsMsg* message) {
  return {natsMsg_GetData(message), static_cast<size_t>(natsMsg_GetDataLength(message))};
}

struct Service {
  natsConnection* connection = nullptr;
  Bus::Handler handler;
  SubscriptionHandle subscription;
};

void Answer(natsConnection*, natsSubscription*, natsMsg* request, void* closure) {
  const MessageHandle owned(request);
  auto& service = *static_cast<Service*>(closure);
  const auto answer = service.handler(TextOf(request));
  if (answer && natsMsg_GetReply(request) != nullptr)
    natsConnection_Publish(service.connection, natsMsg_GetReply(request), answer->data(),
                           static_cast<int>(answer->size()));
}

void Ignore(natsConnection*, void*) {}

}  // namespace

struct Bus::State {
  natsConnection* connection = nullptr;
  jsCtx* stream = nullptr;
  std::deque<Service> services;
};

Bus::Bus(std::unique_ptr<State> state) : state_(std::move(state)) {}

Bus::~Bus() {
  state_->services.clear();
  jsCtx_Destroy(state_->stream);
  if (state_->connection != nullptr) natsConnection_Close(state_->connection);
  natsConnection_Destroy(state_->connection);
}

Result<std::unique_ptr<Bus>> Bus::Connect(const BusOptions& options) {
  natsOptions* made = nullptr;
  natsStatus status = natsOptions_Create(&made);
  const OptionsHandle handle(made);
  std::vector<const char*> servers;
  for (const std::string& server : options.servers) servers.push_back(server.c_str());
  const auto set = [&](natsStatus next) {
    if (status == NATS_OK) status = next;
  };
  set(natsOptions_SetServers(made, servers.data(), static_cast<int>(servers.size())));
  set(natsOptions_SetName(made, options.name.c_str()));
  set(natsOptions_SetMaxReconnect(made, -1));
  // Credentials that have expired may be renewed: the file is read again at each attempt.
  set(natsOptions_SetIgnoreAuthErrorAbort(made, true));
  // A link that is cut says nothing.
  set(natsOptions_SetPingInterval(made, 10000));
  set(natsOptions_SetMaxPingsOut(made, 2));
  set(natsOptions_SetReconnectWait(made, 500));
  set(natsOptions_SetReconnectJitter(made, 500, 1000));
  set(natsOptions_SetRetryOnFailedConnect(made, true, Ignore, nullptr));
  if (!options.credentials.empty())
    set(natsOptions_SetUserCredentialsFromFiles(made, options.credentials.c_str(), nullptr));
  if (!options.authority.empty()) {
    set(natsOptions_SetSecure(made, true));
    set(natsOptions_LoadCATrustedCertificates(made, options.authority.c_str()));
  }
  if (!options.certificate.empty())
    set(natsOptions_LoadCertificatesChain(made, options.certificate.c_str(), options.key.c_str()));
  if (status != NATS_OK) return Failed("the bus's settings are not usable", status);
  auto state = std::make_unique<State>();
  status = natsConnection_Connect(&state->connection, made);
  if (status != NATS_OK && status != NATS_NOT_YET_CONNECTED)
    return Failed("cannot connect to the bus", status);
  status = natsConnection_JetStream(&state->stream, state->connection, nullptr);
  if (status != NATS_OK) return Failed("the bus has no streams", status);
  return std::unique_ptr<Bus>(new Bus(std::move(state)));
}

bool Bus::connected() const {
  return natsConnection_Status(state_->connection) == NATS_CONN_STATUS_CONNECTED;
}

Result<StreamFacts> Bus::DescribeStream(const std::string& name) {
  jsStreamInfo* info = nullptr;
  const natsStatus status = js_GetStreamInfo(&info, state_->stream, name.c_str(), nullptr, nullptr);
  const StreamInfoHandle handle(info);
  if (status != NATS_OK) return Failed("cannot look at the stream " + name, status);
  return FactsOf(*info);
}

Result<StreamFacts> Bus::MakeStream(const StreamOptions& options) {
  jsStreamInfo* info = nullptr;
  natsStatus status =
      js_GetStreamInfo(&info, state_->stream, options.name.c_str(), nullptr, nullptr);
  if (status == NATS_NOT_FOUND) {
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    const char* subject = options.subject.c_str();
    config.Name = options.name.c_str();
    config.Subjects = &subject;
    config.SubjectsLen = 1;
    config.Storage = options.in_memory ? js_MemoryStorage : js_FileStorage;
    config.MaxAge = options.keep.count() * kNanoseconds;
    // As long as a message is kept, a second one with its id is refused.
    config.Duplicates = config.MaxAge;
    config.Replicas = options.replicas;
    config.AllowDirect = true;
    status = js_AddStream(&info, state_->stream, &config, nullptr, nullptr);
  }
  const StreamInfoHandle handle(info);
  if (status != NATS_OK) return Failed("cannot make the stream " + options.name, status);
  return FactsOf(*info);
}

Result<Bus::Acknowledgement> Bus::Publish(const std::string& subject, const std::string& id,
                                          std::string_view text,
                                          std::chrono::milliseconds patience) {
  jsPubOptions options;
  jsPubOptions_Init(&options);
  options.MsgId = id.c_str();
  options.MaxWait = patience.count();
  jsPubAck* ack = nullptr;
  const natsStatus status = js_Publish(&ack, state_->stream, subject.c_str(), text.data(),
                                       static_cast<int>(text.size()), &options, nullptr);
  if (status != NATS_OK) return Failed("not acknowledged", status);
  const Acknowledgement result{ack->Sequence, ack->Duplicate};
  jsPubAck_Destroy(ack);
  return result;
}

Result<void> Bus::Send(const std::string& subject, std::string_view text) {
  const natsStatus status = natsConnection_Publish(state_->connection, subject.c_str(), text.data(),
                                                   static_cast<int>(text.size()));
  if (status != NATS_OK) return Failed("cannot send", status);
  return {};
}

Result<std::optional<StoredMessage>> Bus::Next(const std::string& stream,
                                               const std::string& subject, uint64_t from) {
  jsDirectGetMsgOptions options;
  jsDirectGetMsgOptions_Init(&options);
  options.Sequence = from;
  options.NextBySubject = subject.c_str();
  natsMsg* message = nullptr;
  const natsStatus status =
      js_DirectGetMsg(&message, state_->stream, stream.c_str(), nullptr, &options);
  const MessageHandle handle(message);
  if (status == NATS_NOT_FOUND) return std::optional<StoredMessage>();
  if (status != NATS_OK) return Failed("cannot read the stream " + stream, status);
  return std::optional<StoredMessage>({natsMsg_GetSequence(message), natsMsg_GetTime(message),
                                       natsMsg_GetSubject(message), TextOf(message)});
}

Result<std::vector<StoredMessage>> Bus::LastOfEach(const std::string& stream,
                                                   const std::string& pattern,
                                                   std::chrono::milliseconds patience) {
  jsSubOptions options;
  jsSubOptions_Init(&options);
  options.Stream = stream.c_str();
  options.Ordered = true;
  options.Config.DeliverPolicy = js_DeliverLastPerSubject;
  natsSubscription* made = nullptr;
  natsStatus status =
      js_SubscribeSync(&made, state_->stream, pattern.c_str(), nullptr, &options, nullptr);
  const SubscriptionHandle subscription(made);
  if (status != NATS_OK) return Failed("cannot read the stream " + stream, status);
  std::vector<StoredMessage> messages;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  jsConsumerInfo* info = nullptr;
  status = natsSubscription_GetConsumerInfo(&info, made, nullptr, nullptr);
  // So many are on their way or wait to be sent.
  uint64_t left = status == NATS_OK ? info->NumPending + info->Delivered.Consumer : UINT64_MAX;
  jsConsumerInfo_Destroy(info);
  for (; left > 0; --left) {
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    natsMsg* message = nullptr;
    if (time.count() <= 0 || natsSubscription_NextMsg(&message, made, time.count()) != NATS_OK)
      break;
    const MessageHandle handle(message);
    messages.push_back({0, natsMsg_GetTime(message), natsMsg_GetSubject(message), TextOf(message)});
  }
  return messages;
}

Result<void> Bus::Serve(const std::string& subject, Handler handler) {
  Service& service = state_->services.emplace_back();
  service.connection = state_->connection;
  service.handler = std::move(handler);
  natsSubscription* subscription = nullptr;
  const natsStatus status = natsConnection_Subscribe(&subscription, state_->connection,
                                                     subject.c_str(), Answer, &service);
  service.subscription.reset(subscription);
  if (status != NATS_OK) return Failed("cannot listen on " + subject, status);
  return {};
}

Result<std::vector<std::string>> Bus::Gather(const std::string& subject, std::string_view request,
                                             std::chrono::milliseconds patience,
                                             const IsLast& is_last) {
  natsInbox* inbox = nullptr;
  natsStatus status = natsInbox_Create(&inbox);
  if (status != NATS_OK) return Failed("cannot ask", status);
  natsSubscription* made = nullptr;
  status = natsConnection_SubscribeSync(&made, state_->connection, inbox);
  const SubscriptionHandle subscription(made);
  if (status == NATS_OK)
    status = natsConnection_PublishRequest(state_->connection, subject.c_str(), inbox,
                                           request.data(), static_cast<int>(request.size()));
  natsInbox_Destroy(inbox);
  if (status != NATS_OK) return Failed("cannot ask", status);
  std::vector<std::string> answers;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    natsMsg* message = nullptr;
    status = natsSubscription_NextMsg(&message, made, left.count());
    const MessageHandle handle(message);
    // Nobody listens: the server says so at once.
    if (status == NATS_TIMEOUT || status == NATS_NO_RESPONDERS) break;
    if (status != NATS_OK) return Failed("cannot collect answers", status);
    if (natsMsg_GetDataLength(message) == 0) continue;
    answers.push_back(TextOf(message));
    if (is_last(answers.back())) break;
  }
  return answers;
}

Result<void> ReadServers(BusOptions* options) {
  std::vector<std::string> servers;
  for (const std::string& server : options->servers) {
    if (!server.starts_with('@')) {
      servers.push_back(server);
      continue;
    }
    ROCHOUND_TRY(std::string text, base::ReadFile(server.substr(1), base::kMostText));
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      if (end > at) servers.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }
  options->servers = std::move(servers);
  return {};
}

std::string SubjectToken(std::string_view text) {
  std::string token;
  for (const char character : text) {
    const bool good = std::isalnum(static_cast<unsigned char>(character)) != 0 ||
                      character == '-' || character == '_';
    token += good ? character : '_';
  }
  return token.empty() ? "_" : token;
}

}  // namespace rochound::fleet
