// SPDX-License-Identifier: MIT
#include "agent/control.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "agent/faults.h"
#include "agent/session.h"
#include "agent/state.h"
#include "base/clock.h"
#include "base/control_directory.h"
#include "base/file_limit.h"
#include "base/mutex.h"

namespace rochound::agent {
namespace {

constexpr size_t kMostClients = 8;
constexpr int kBacklog = 64;
constexpr size_t kMostRequest = 256;
constexpr size_t kMostAnswer = 8192;
constexpr uint64_t kPatienceNs = 1'000'000'000;  // for a client to send its line

// A descriptor of ours in a program that may close every descriptor it does not know, and then use
// the number for a file of its own: it is looked at before each use.
class Owned {
 public:
  void Take(int descriptor) {
    struct stat found{};
    if (fstat(descriptor, &found) != 0) return;
    device_ = found.st_dev;
    inode_ = found.st_ino;
    descriptor_.store(descriptor);
  }
  bool StillOurs() const {
    struct stat found{};
    const int descriptor = descriptor_.load();
    return descriptor >= 0 && fstat(descriptor, &found) == 0 && found.st_dev == device_ &&
           found.st_ino == inode_;
  }
  void Close() {
    const bool ours = StillOurs();
    const int descriptor = descriptor_.exchange(-1);  // first: a child forked now must not close it
    if (ours) close(descriptor);
  }
  int get() const { return descriptor_.load(); }

 private:
  std::atomic<int> descriptor_{-1};
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

struct Client {
  Owned socket;
  uint64_t deadline_ns = 0;
  size_t used = 0;
  char request[kMostRequest] = {};
};

// The control thread's, but for a forked child and the end of the process.
constinit Owned listening;
constinit Client clients[kMostClients];
constinit std::atomic<bool> leaving{false};
constinit std::atomic<pid_t> served_process{0};

// Where the socket is, for taking its name away.
constinit base::Mutex place_lock;
struct Place {
  std::string directory;
  dev_t device = 0;
  ino_t inode = 0;
};
Place& ThePlace() ROCHOUND_REQUIRES(place_lock) {
  static auto* const place = new Place;  // outlives static destructors
  return *place;
}

void PrintReason(const std::string& reason) {
  static constinit std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  WriteToStderr("rochound: process " + std::to_string(getpid()) +
                " cannot be controlled: " + reason + ". Recording goes on.\n");
}

// A program whose standard streams are closed must not get our socket as one of them; and one that
// has few descriptors left keeps them.
int AwayFromStreams(int descriptor) {
  descriptor = base::UnlessScarce(descriptor);
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(descriptor);
  return moved;
}

int NewSocket() {
  return AwayFromStreams(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

bool AddressOf(const std::string& path, sockaddr_un* address) {
  if (path.size() >= sizeof address->sun_path) return false;
  address->sun_family = AF_UNIX;
  memcpy(address->sun_path, path.c_str(), path.size() + 1);
  return true;
}

// A socket of our number is there already. Its process had our number before us, or is ourselves
// before an exec; or it lives in another process namespace that shares the directory.
bool Stale(const sockaddr_un& address) {
  const int probe = NewSocket();
  if (probe < 0) return false;
  bool stale = false;
  if (connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    stale = errno == ECONNREFUSED;
  } else {
    ucred owner{};
    socklen_t size = sizeof owner;
    stale = getsockopt(probe, SOL_SOCKET, SO_PEERCRED, &owner, &size) == 0 && owner.pid == getpid();
  }
  close(probe);
  return stale;
}

// Empty: served from now on.
std::string ListenThrough(int directory) {
  const std::string name = base::ControlSocketName(getpid());
  sockaddr_un address{};
  if (!AddressOf(base::PathThrough(directory, name), &address)) return "its name is too long";
  const int fresh = NewSocket();
  if (fresh < 0) return std::string("no socket: ") + strerror(errno);
  fchmod(fresh, 0600);  // Linux makes the name with the socket's mode; umask is not ours to change
  const auto bind_now = [&] {
    return bind(fresh, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  };
  bool bound = bind_now();
  if (!bound && errno == EADDRINUSE) {
    if (!Stale(address)) {
      close(fresh);
      return "another process has the socket " + name;
    }
    unlinkat(directory, name.c_str(), 0);
    bound = bind_now();
  }
  if (!bound || listen(fresh, kBacklog) != 0) {
    const std::string reason = std::string("cannot make its socket: ") + strerror(errno);
    close(fresh);
    return reason;
  }
  listening.Take(fresh);
  return {};
}

// Empty: served from now on. The first directory that will do.
std::string Listen() {
  const auto places =
      base::ControlDirectories(base::ControlEnvironment::OfThisProcess(), geteuid());
  std::string reason;
  for (const std::string& place : places) {
    const auto opened = base::MakePrivateDirectory(place, geteuid());
    if (!opened.ok()) {
      reason = opened.error().message;
      continue;
    }
    const int directory = AwayFromStreams(opened.value());
    reason = ListenThrough(directory);
    struct stat found{};
    if (reason.empty() && fstat(directory, &found) == 0) {
      const base::Lock lock(place_lock);
      ThePlace() = {place, found.st_dev, found.st_ino};
    }
    close(directory);
    if (reason.empty()) return {};
  }
  return reason;
}

// The text of an answer, in a buffer that is never too small for what it is used for; a text that
// would not fit is cut.
class Answer {
 public:
  void Line(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text_ + used_, sizeof text_ - used_, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    const size_t begin = used_;
    used_ = std::min(used_ + static_cast<size_t>(length), sizeof text_ - 2);
    // One line, whatever a path or reason contains.
    for (size_t at = begin; at < used_; ++at)
      if (static_cast<unsigned char>(text_[at]) < ' ') text_[at] = '?';
    text_[used_++] = '\n';
  }
  void Error(const char* reason) { Line("error %s", reason); }
  std::string_view text() const { return {text_, used_}; }

 private:
  size_t used_ = 0;
  char text_[kMostAnswer];
};

// What is in flight for longer than most kernels take. Names may be long; they are cut rather than
// what comes after them.
void DescribeLongWork(Answer* answer) {
  constexpr uint64_t kLongNs = 1'000'000'000;
  constexpr size_t kMost = 16;
  int number = 0;
  for (const InFlightWork& work : WorkInFlightFor(kLongNs)) {
    if (number == kMost) break;
    answer->Line("in_flight.%d=%llu %u %u %.200s", number++,
                 static_cast<unsigned long long>(work.ns), work.gpu, work.queue,
                 work.kernel.c_str());
  }
}

void DescribeState(Answer* answer) {
  const Wishes wishes = CurrentWishes();
  answer->Line("state=%s", trace::kRecorderStateNames[static_cast<size_t>(CurrentState())]);
  answer->Line("reason=%s", DisabledReason());
  answer->Line("outside=%s", wishes.outside ? "on" : "off");
  answer->Line("program=%d", wishes.program);
  answer->Line("range=%s", settings().range.c_str());
  answer->Line("in_range=%s", wishes.range_allows ? "yes" : "no");
  if (trace::Writer* log = Log()) {
    answer->Line("directory=%s", log->process_directory());
    answer->Line("bytes=%llu", static_cast<unsigned long long>(log->committed_bytes()));
    answer->Line("dropped=%llu", static_cast<unsigned long long>(log->dropped()));
    answer->Line("threads=%u", log->threads());
  }
  DescribeLongWork(answer);
}

void RunRequest(std::string_view request, Answer* answer) {
  const bool disabled = CurrentState() == State::kDisabled;
  if (request == "start" || request == "stop") {
    if (disabled) return answer->Error(DisabledReason());
    SwitchFromOutside(request == "start");
  } else if (request == "flush" || request == "dump") {
    Flush();
  } else if (request == "hang") {
    if (!DescribeInFlight()) return answer->Error("it uses no GPU now");
  } else if (request != "status") {
    return answer->Error("unknown request; known are start, stop, flush, dump, hang and status");
  }
  answer->Line("ok");
  answer->Line("protocol=1");
  answer->Line("pid=%d", static_cast<int>(getpid()));
  DescribeState(answer);
  answer->Line("end");
}

bool MayControl(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == geteuid() || peer.uid == 0);
}

// Fits into the fresh socket's buffer, so it never waits for the client.
void Send(int socket, const Answer& answer) {
  const ssize_t sent =
      send(socket, answer.text().data(), answer.text().size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  static_cast<void>(sent);  // the client sees that "end" is missing
}

// False: no place, or the program has reached its limit of descriptors.
bool Accept(uint64_t now_ns) {
  Client* place = std::find_if(clients, clients + kMostClients,
                               [](const Client& one) { return one.socket.get() < 0; });
  if (place == clients + kMostClients) {  // the one that has waited longest has had its chance
    place = std::min_element(clients, clients + kMostClients, [](const Client& a, const Client& b) {
      return a.deadline_ns < b.deadline_ns;
    });
    place->socket.Close();
  }
  const int accepted =
      AwayFromStreams(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (accepted < 0) return errno == EAGAIN || errno == ECONNABORTED || errno == EINTR;
  if (!MayControl(accepted)) {
    Answer refusal;
    refusal.Error("this process belongs to another user");
    Send(accepted, refusal);
    close(accepted);
    return true;
  }
  place->deadline_ns = now_ns + kPatienceNs;
  place->used = 0;
  place->socket.Take(accepted);
  if (place->socket.get() < 0) close(accepted);
  return true;
}

// Reads what is there; answers when the line is complete. One request per connection.
void ReadRequest(Client& client) {
  if (!client.socket.StillOurs()) {
    client.socket.Close();
    return;
  }
  const ssize_t got = recv(client.socket.get(), client.request + client.used,
                           kMostRequest - client.used, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) client.used += static_cast<size_t>(got);
  const std::string_view text(client.request, client.used);
  const size_t end = text.find('\n');
  if (end == std::string_view::npos && got > 0 && client.used < kMostRequest) return;
  if (end != std::string_view::npos || client.used == kMostRequest) {
    Answer answer;
    if (end == std::string_view::npos)
      answer.Error("the request is too long");
    else
      RunRequest(text.substr(0, end), &answer);
    Send(client.socket.get(), answer);
  }
  client.socket.Close();
}

// Milliseconds until the first client's patience ends; -1: nobody is connected.
int NextDeadline(uint64_t now_ns) {
  uint64_t first = ~0ull;
  for (const Client& client : clients)
    if (client.socket.get() >= 0) first = std::min(first, client.deadline_ns);
  if (first == ~0ull) return -1;
  return first <= now_ns ? 0 : static_cast<int>((first - now_ns) / 1'000'000 + 1);
}

// Held by the control thread while it does anything but wait: a forked child closes the connections
// that are noted, and must not come between a connection and its note.
constinit pthread_mutex_t handling = PTHREAD_MUTEX_INITIALIZER;

class Handling {
 public:
  Handling() { pthread_mutex_lock(&handling); }
  ~Handling() { pthread_mutex_unlock(&handling); }
  Handling(const Handling&) = delete;
  Handling& operator=(const Handling&) = delete;
};

// Until the program closes our socket or the process ends.
void Serve() {
  while (!leaving.load()) {
    pollfd ready[1 + kMostClients];
    ready[0] = {listening.get(), POLLIN, 0};
    for (size_t i = 0; i < kMostClients; ++i)
      ready[1 + i] = {clients[i].socket.get(), POLLIN, 0};  // negative numbers are passed over
    if (poll(ready, 1 + kMostClients, NextDeadline(base::ClockNs(CLOCK_MONOTONIC))) < 0 &&
        errno != EINTR)
      return;
    const Handling mine;
    if (!listening.StillOurs()) return;
    const uint64_t now_ns = base::ClockNs(CLOCK_MONOTONIC);
    for (size_t i = 0; i < kMostClients; ++i) {
      Client& client = clients[i];
      if (client.socket.get() < 0 || client.socket.get() != ready[1 + i].fd) continue;
      if (ready[1 + i].revents != 0) ReadRequest(client);
      if (client.socket.get() >= 0 && client.deadline_ns <= now_ns) client.socket.Close();
    }
    if (ready[0].revents != 0 && !Accept(now_ns)) {
      const timespec pause{0, 100'000'000};  // no descriptor left: try again, but not all the time
      nanosleep(&pause, nullptr);
    }
  }
}

void CloseAll() {
  listening.Close();
  for (Client& client : clients) client.socket.Close();
}

void ServeAgainAndAgain() {
  // A daemon closes the descriptors it does not know; then there is a new socket. A program that
  // does so over and over has made itself clear.
  for (int attempt = 0; attempt < 16 && !leaving.load(); ++attempt) {
    if (attempt != 0 && !Listen().empty()) return;
    Serve();
    CloseAll();
  }
}

void* ControlThread(void*) {
  pthread_setname_np(pthread_self(), "rochound-ctl");
  try {
    ServeAgainAndAgain();
  } catch (...) {
    leaving.store(true);  // no memory: without control, then; and nobody waits for an answer
    const Handling mine;
    CloseAll();
  }
  return nullptr;
}

}  // namespace

void ServeControl() {
  try {
    const char* directory = base::ControlEnvironment::OfThisProcess().control_directory;
    if (directory != nullptr && *directory == '\0') return;
    if (const std::string reason = Listen(); !reason.empty()) return PrintReason(reason);
    served_process.store(getpid());
    if (StartThread(ControlThread)) return;
    LeaveControl();
    listening.Close();
    PrintReason("no thread for it");
  } catch (...) {
    PrintReason("no memory");
  }
}

void LeaveControl() {
  if (served_process.load() != getpid()) return;
  leaving.store(true);
  Guarded("no memory at the end", [] {
    const base::Lock lock(place_lock);
    const Place& place = ThePlace();
    const int directory = open(place.directory.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0) return;
    struct stat found{};
    if (fstat(directory, &found) == 0 && found.st_dev == place.device &&
        found.st_ino == place.inode)
      unlinkat(directory, base::ControlSocketName(getpid()).c_str(), 0);
    close(directory);
  });
}

bool HoldControlForFork(const timespec& deadline) {
  return pthread_mutex_timedlock(&handling, &deadline) == 0;
}

void ReleaseControlAfterFork() { pthread_mutex_unlock(&handling); }

void ForgetControlAfterFork() {
  new (&handling) pthread_mutex_t(PTHREAD_MUTEX_INITIALIZER);
  served_process.store(0);
  leaving.store(false);
  new (&place_lock) base::Mutex;
  CloseAll();
}

}  // namespace rochound::agent
