// SPDX-License-Identifier: MIT
//
// Speaks arbitrary bytes to a recorder's control socket, in several connections and pieces: it
// answers every one of them or closes it, never late, and its answers are whole. The agent runs on
// the small runtime of its tests. The input: parts with two bytes of length before them; each is
// sent as a piece, and an empty one ends a connection without waiting for the answer.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "agent/fake_runtime.h"
#include "fuzz/folder.h"

extern "C" bool OnLoad(void* table, uint64_t version, uint64_t failed, const char* const* names);

namespace {

using namespace rochound;

constexpr int kPatienceMs = 5000;
constexpr int kMostConnections = 12;  // more than are heard at a time

sockaddr_un address{};

int Connect() {
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0 ||
      connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    abort();
  return connection;
}

// The answer, up to the end of the connection.
std::string Receive(int connection) {
  std::string answer;
  for (;;) {
    pollfd ready{connection, POLLIN, 0};
    // The fuzzer's alarm interrupts it.
    if (TEMP_FAILURE_RETRY(poll(&ready, 1, kPatienceMs)) != 1)
      abort();  // it neither answers nor closes
    char piece[4096];
    const ssize_t got = recv(connection, piece, sizeof piece, 0);
    if (got <= 0) return answer;
    answer.append(piece, static_cast<size_t>(got));
  }
}

void MustBeWhole(const std::string& answer) {
  if (answer.empty()) return;  // dropped for a newer client, or no line was sent
  if (answer.starts_with("error ") && answer.find('\n') == answer.size() - 1) return;
  if (!answer.starts_with("ok\n") || !answer.ends_with("\nend\n")) abort();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const std::string control = (fuzz::Folder() / "control").string();
  setenv("ROCHOUND_LOG_DIR", (fuzz::Folder() / "log").c_str(), 1);
  setenv("ROCHOUND_CONTROL_DIR", control.c_str(), 1);
  setenv("ROCHOUND_RECORD", "kernels", 1);
  static auto* const runtime = new agent::FakeRuntime;
  if (!OnLoad(runtime->table(), 0, 0, nullptr)) abort();
  hsa_queue_t* const queue = runtime->CreateQueue(64);
  agent::FakeRuntime::Of(queue).Write(agent::FakeRuntime::Of(queue).Reserve(), 64, {0});
  runtime->Ring(queue, 0);
  const std::string path = control + "/" + std::to_string(getpid()) + ".sock";
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) abort();
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  close(Connect());
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMaxInput = 4096;
  if (size > kMaxInput) return 0;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  int open[kMostConnections];
  int connections = 0;
  int current = Connect();
  while (!input.empty()) {
    const std::string_view piece = fuzz::TakePart(&input);
    if (!piece.empty()) {
      (void)!send(current, piece.data(), piece.size(), MSG_NOSIGNAL);
      continue;
    }
    if (connections == kMostConnections) break;
    open[connections++] = current;
    current = Connect();
  }
  // What was sent is all: the recorder need not wait for more.
  shutdown(current, SHUT_WR);
  MustBeWhole(Receive(current));
  close(current);
  for (int i = 0; i < connections; ++i) close(open[i]);
  return 0;
}
