// SPDX-License-Identifier: MIT
#include "fleet/daemon/publisher.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/mutex.h"
#include "fleet/bus/names.h"
#include "fleet/bus/packed.h"

namespace rochound::fleet {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{5000};
constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{10000};

}  // namespace

Publisher::Publisher(Bus* bus, Spool* spool, Options options)
    : bus_(bus), spool_(spool), options_(std::move(options)), thread_([this] { Run(); }) {}

Publisher::~Publisher() {
  {
    const base::Lock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Publisher::Wake() {
  {
    const base::Lock lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void Publisher::Drain(milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (spool_->size() > 0 && std::chrono::steady_clock::now() < deadline) {
    Wake();
    std::this_thread::sleep_for(milliseconds(20));
  }
}

void Publisher::Run() {
  milliseconds pause = kFirstPause;
  for (;;) {
    const auto message = spool_->Oldest();
    const bool sent = message && SendOne(*message);
    if (sent) {
      pause = kFirstPause;
      spool_->Remove(message->number);
    }
    const base::Lock lock(mutex_);
    if (stop_) return;
    if (sent) continue;
    if (message) {
      // Not acknowledged. Whoever wakes us meanwhile has nothing that could be sent before.
      const auto until = std::chrono::steady_clock::now() + pause;
      while (!stop_ && changed_.WaitUntil(mutex_, until)) {
      }
      pause = std::min(pause * 2, kLongestPause);
    } else {
      while (!stop_ && !woken_) changed_.Wait(mutex_);
      woken_ = false;
    }
    if (stop_) return;
  }
}

bool Publisher::SendOne(const Spool::Message& message) {
  std::string job = "none";
  uint32_t shard = 0;
  try {
    const auto content = nlohmann::json::parse(message.text);
    job = content.at("job");
    shard = content.at("shard");
  } catch (const nlohmann::json::exception&) {
    // Damaged on disk. It is sent all the same: the lake then says that a message was refused.
    job = "none";
  }
  const std::string subject = SketchSubject(options_.tenant, shard, job, options_.host);
  const std::string id = fmt::format("{}.{}.{}", options_.host, options_.epoch, message.number);
  const std::string packed = Pack(message.text);
  auto acknowledged = bus_->Publish(subject, id, packed, kPatience);
  if (!acknowledged.ok() && bus_->connected()) {
    // Perhaps nobody has made the stream yet.
    const auto stream = SketchStream(options_.tenant, shard, options_.replicas);
    if (bus_->MakeStream(stream).ok()) acknowledged = bus_->Publish(subject, id, packed, kPatience);
  }
  if (!acknowledged.ok()) {
    if (failures_++ == 0) base::LogWarning("message " + id + ": " + acknowledged.error().message);
    return false;
  }
  ++acknowledged_;
  if (acknowledged.value().duplicate) ++duplicates_;
  return true;
}

}  // namespace rochound::fleet
