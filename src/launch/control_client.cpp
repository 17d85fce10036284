// SPDX-License-Identifier: MIT
#include "launch/control_client.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "base/control_directory.h"
#include "base/printable.h"
#include "launch/process_tree.h"

namespace rochound::launch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(3);
constexpr size_t kMostAnswer = 64 * 1024;
constexpr char kSilent[] = "it does not answer; perhaps it is stopped";

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int get() const { return number_; }

 private:
  int number_;
};

struct Place {
  std::string directory;
  uid_t user;
};

// The directories of our own programs, or of everybody's that are in the usual places.
std::vector<Place> Places(Whose whose) {
  const auto environment = base::ControlEnvironment::OfThisProcess();
  std::vector<Place> places;
  for (const std::string& directory : base::ControlDirectories(environment, geteuid()))
    places.push_back({directory, geteuid()});
  if (whose == Whose::kOwn || environment.control_directory != nullptr) return places;
  for (const char* pattern : {"/tmp/rochound-*", "/run/user/*/rochound"}) {
    glob_t found{};
    if (glob(pattern, 0, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) {
        struct stat owner{};
        const std::string path = found.gl_pathv[i];
        if (lstat(path.c_str(), &owner) == 0 &&
            std::none_of(places.begin(), places.end(),
                         [&](const Place& one) { return one.directory == path; }))
          places.push_back({path, owner.st_uid});
      }
    }
    globfree(&found);
  }
  return places;
}

// The sockets in one directory; none in one that is not there or not private.
std::vector<ControlSocket> SocketsIn(const Place& place) {
  const auto opened = base::OpenPrivateDirectory(place.directory, place.user);
  if (!opened.ok()) return {};
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(fdopendir(opened.value()), closedir);
  std::vector<ControlSocket> sockets;
  if (listing == nullptr) {
    close(opened.value());
    return sockets;
  }
  while (const dirent* entry = readdir(listing.get()))
    if (const pid_t process = base::ControlSocketProcess(entry->d_name); process != 0)
      sockets.push_back({process, place.directory, place.user, false});
  std::sort(sockets.begin(), sockets.end(),
            [](const ControlSocket& a, const ControlSocket& b) { return a.process < b.process; });
  return sockets;
}

ControlAnswer Failed(std::string error) {
  ControlAnswer answer;
  answer.error = std::move(error);
  return answer;
}

// One request in flight.
class Conversation {
 public:
  Conversation(const ControlSocket& socket, const std::string& request)
      : socket_(socket), request_(request) {
    Begin();
  }

  ControlAnswer Finish(Clock::time_point deadline) {
    if (ended_) return *ended_;
    Receive(deadline);
    // A daemon may have closed the socket; the process makes another when it sees that.
    if (!ended_ && text_.empty()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      Begin();
      if (!ended_) Receive(deadline);
    }
    return ended_ ? *ended_ : ParseControlAnswer(text_);
  }

 private:
  void Begin() {
    auto opened = base::OpenPrivateDirectory(socket_.directory, socket_.user);
    if (!opened.ok()) return End(Failed(opened.error().message));
    const Descriptor directory(opened.value());
    int problem = Connect(directory.get());
    if (problem == ECONNREFUSED && ProcessExists(socket_.process)) {
      // Perhaps it has just come and does not listen yet.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      problem = Connect(directory.get());
    }
    // Others are asking, too, or it is stopped and has been asked often.
    for (int tries = 0; problem == EAGAIN && tries < 50; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      problem = Connect(directory.get());
    }
    if (problem == ECONNREFUSED)
      unlinkat(directory.get(), base::ControlSocketName(socket_.process).c_str(), 0);
    if (problem == ECONNREFUSED || problem == ENOENT) {
      ControlAnswer gone;
      gone.outcome = ControlAnswer::kGone;
      gone.error = "the process has ended";
      return End(gone);
    }
    if (problem == EAGAIN) return End(Failed(kSilent));
    if (problem != 0) return End(Failed(std::string("cannot connect: ") + strerror(problem)));
    if (!IsExpected()) return End(Failed("somebody else listens in its place"));
    const std::string line = request_ + "\n";
    if (send(connection_.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0 && errno != EPIPE)
      End(Failed(std::string("cannot send: ") + strerror(errno)));
  }

  int Connect(int directory) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = base::PathThrough(directory, base::ControlSocketName(socket_.process));
    if (path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
    memcpy(address.sun_path, path.c_str(), path.size() + 1);
    // Not blocking: a process that is stopped has a backlog that fills.
    connection_ = Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (connection_.get() < 0) return errno;
    const int made =
        connect(connection_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    return made == 0 ? 0 : errno;
  }

  // Whoever made the directory may have put anything there, also a link to another's socket.
  bool IsExpected() const {
    ucred peer{};
    socklen_t size = sizeof peer;
    return getsockopt(connection_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           peer.uid == socket_.user && (!socket_.exact || peer.pid == socket_.process);
  }

  void Receive(Clock::time_point deadline) {
    for (;;) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      pollfd ready{connection_.get(), POLLIN, 0};
      if (poll(&ready, 1, static_cast<int>(std::max<long long>(left, 0))) == 0)
        return End(Failed(kSilent));
      char piece[4096];
      const ssize_t got = recv(connection_.get(), piece, sizeof piece, 0);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0 || text_.size() > kMostAnswer) return;
      text_.append(piece, static_cast<size_t>(got));
    }
  }

  void End(ControlAnswer answer) { ended_ = std::move(answer); }

  const ControlSocket& socket_;
  const std::string& request_;
  Descriptor connection_;
  std::string text_;
  std::optional<ControlAnswer> ended_;
};

}  // namespace

ControlAnswer ParseControlAnswer(std::string_view text) {
  ControlAnswer answer;
  bool first = true;
  bool whole = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string line = base::Printable(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (first && line.compare(0, 6, "error ") == 0) return Failed(line.substr(6));
    if (first && line != "ok") break;
    first = false;
    whole = whole || line == "end";
    if (const size_t equals = line.find('='); equals != std::string::npos)
      answer.values[line.substr(0, equals)] = line.substr(equals + 1);
  }
  if (!whole) return Failed("its answer is not whole; is it of another release?");
  answer.outcome = ControlAnswer::kDone;
  return answer;
}

std::string ControlAnswer::Text(const std::string& key) const {
  const auto found = values.find(key);
  return found == values.end() ? std::string() : found->second;
}

long long ControlAnswer::Number(const std::string& key) const {
  return strtoll(Text(key).c_str(), nullptr, 10);
}

std::vector<InFlight> ControlAnswer::LongWork() const {
  std::vector<InFlight> work;
  for (int number = 0;; ++number) {
    std::istringstream words(Text("in_flight." + std::to_string(number)));
    InFlight one;
    double nanoseconds = 0;
    if (!(words >> nanoseconds >> one.gpu >> one.queue)) return work;
    words >> one.kernel;
    one.seconds = nanoseconds * 1e-9;
    work.push_back(std::move(one));
  }
}

std::string WhyNoSocket(pid_t process) {
  const auto user = ProcessUser(process);
  if (!user) return "there is no such process";
  if (*user != geteuid() && geteuid() != 0)
    return "it belongs to user " + std::to_string(*user) +
           "; only that user and root may control it";
  return "it is not being recorded; start it with rochound run, and note that a program has its "
         "recorder only once it uses the GPU";
}

std::vector<ControlSocket> FindControlSockets(Whose whose) {
  std::vector<ControlSocket> all;
  for (const Place& place : Places(whose)) {
    const auto here = SocketsIn(place);
    all.insert(all.end(), here.begin(), here.end());
  }
  return all;
}

ControlSocket FindControlSocket(pid_t process) {
  std::vector<Place> places;
  const auto user = EffectiveUser(process);
  if (user) {
    const auto control = ProcessVariable(process, "ROCHOUND_CONTROL_DIR");
    const auto runtime = ProcessVariable(process, "XDG_RUNTIME_DIR");
    const base::ControlEnvironment environment{control ? control->c_str() : nullptr,
                                               runtime ? runtime->c_str() : nullptr};
    for (const std::string& directory : base::ControlDirectories(environment, *user))
      places.push_back({directory, *user});
  }
  // The environment may have changed since, or may not be ours to read.
  const std::vector<Place> usual = Places(geteuid() == 0 ? Whose::kEverybodys : Whose::kOwn);
  places.insert(places.end(), usual.begin(), usual.end());
  // A process that we do not see is in a container, and has its number there.
  for (const Place& place : places) {
    if (user && place.user != *user && place.user != geteuid()) continue;
    for (ControlSocket& socket : SocketsIn(place)) {
      if (socket.process != process) continue;
      socket.exact = user.has_value();
      return socket;
    }
  }
  return {};
}

std::vector<ControlAnswer> AskAll(const std::vector<ControlSocket>& sockets,
                                  const std::string& request) {
  std::vector<std::unique_ptr<Conversation>> conversations;
  conversations.reserve(sockets.size());
  for (const ControlSocket& socket : sockets)
    conversations.push_back(std::make_unique<Conversation>(socket, request));
  const auto deadline = Clock::now() + kPatience;
  std::vector<ControlAnswer> answers;
  answers.reserve(sockets.size());
  for (const auto& conversation : conversations) answers.push_back(conversation->Finish(deadline));
  return answers;
}

}  // namespace rochound::launch
