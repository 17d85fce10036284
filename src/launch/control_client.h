// SPDX-License-Identifier: MIT
//
// The client's side of the control sockets (docs/formats/control.md): which processes have one, and
// what they answer. Called on one thread; nothing is kept. A process that does not answer is waited
// for a few seconds, all of them at the same time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rochound::launch {

struct ControlSocket {
  pid_t process = 0;
  std::string directory;
  uid_t user = 0;      // the directory's owner
  bool exact = false;  // only `process` may answer, not one that has that number in a container
};

// What is first in a queue for long.
struct InFlight {
  std::string kernel;  // symbol; empty: a packet that is no kernel
  uint32_t gpu = 0;
  uint32_t queue = 0;
  double seconds = 0;
};

struct ControlAnswer {
  enum Outcome {
    kDone,
    kGone,    // nobody listens: the process has ended; the stale socket was removed
    kFailed,  // `error` tells why
  };
  Outcome outcome = kFailed;
  std::string error;
  std::map<std::string, std::string> values;

  std::string Text(const std::string& key) const;  // empty: not told
  long long Number(const std::string& key) const;  // 0: not told
  std::vector<InFlight> LongWork() const;
};

// What a process sent. Whoever listens may have sent anything: its texts are made harmless for a
// terminal.
ControlAnswer ParseControlAnswer(std::string_view text);

// Of our own programs, or of everybody's that we have the right to see. Only our own where
// ROCHOUND_CONTROL_DIR says where they are.
enum class Whose { kOwn, kEverybodys };
std::vector<ControlSocket> FindControlSockets(Whose whose);

// The socket of one process, looked for where its own environment says, too. Only in directories of
// its user and of our own. `process` of the result is 0 if it has none.
ControlSocket FindControlSocket(pid_t process);

// Why a process without a socket cannot be asked.
std::string WhyNoSocket(pid_t process);

// Sends the request to all of them, then collects the answers, in the same order. Nothing is sent to
// who is not the socket's user, or not its process.
std::vector<ControlAnswer> AskAll(const std::vector<ControlSocket>& sockets,
                                  const std::string& request);

}  // namespace rochound::launch
