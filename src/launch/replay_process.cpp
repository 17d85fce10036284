// SPDX-License-Identifier: MIT
#include "launch/replay_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>

#include "base/installation.h"
#include "base/progress_bar.h"
#include "launch/recorded_program.h"

namespace rochound::launch {
namespace {

using base::Error;
using base::Result;
using capture::replay::Verdict;
using nlohmann::ordered_json;

constexpr int kAnswer = 3;  // the descriptor that the answer comes on

[[noreturn]] void BecomeReplay(std::vector<std::string> command, int answer, bool quiet) {
  // Libraries far away from where captured programs have their memory; see replay/steering.h.
  // Where that is forbidden, replay finds its way without.
  if (const int now = personality(0xffffffff); now >= 0)
    personality(static_cast<unsigned>(now) | ADDR_COMPAT_LAYOUT);
  // Whoever runs programs holds signals back; replay is to end by them.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // A kernel that hangs must not outlive whoever waited for it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (const int nowhere = quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1; nowhere >= 0)
    dup2(nowhere, STDERR_FILENO);
  if (answer == kAnswer || dup2(answer, kAnswer) == kAnswer) {
    std::vector<char*> argv;
    for (std::string& argument : command) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
  }
  _exit(127);
}

// Reads lines until the other end closes.
void ForEachLine(int descriptor, const std::function<void(const std::string&)>& use) {
  std::string text;
  char buffer[65536];
  for (;;) {
    const ssize_t got = read(descriptor, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    text.append(buffer, static_cast<size_t>(got));
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      use(text.substr(0, end));
      text.erase(0, end + 1);
    }
  }
}

ordered_json AnswerFromEnd(int status, const std::string& launching) {
  const std::string how = WIFSIGNALED(status)
                              ? fmt::format("was ended by signal {} ({})", WTERMSIG(status),
                                            strsignal(WTERMSIG(status)))
                              : fmt::format("ended with {}", WEXITSTATUS(status));
  // Before the first launch it is not the kernel's fault.
  const Verdict verdict = launching.empty() ? Verdict::kFailed : Verdict::kFault;
  return {{"verdict", NameOf(verdict)},
          {"message", fmt::format("rochound-replay {} {}", how,
                                  launching.empty() ? "before it launched anything"
                                                    : "while it ran " + launching)},
          {"candidate", launching},
          {"notes", ordered_json::array()}};
}

}  // namespace

Verdict VerdictOf(const ordered_json& json) {
  const std::string name = json.value("verdict", "");
  for (const auto& known : capture::replay::kVerdicts)
    if (known.name == name) return known.verdict;
  return Verdict::kFailed;
}

Result<ReplayAnswer> RunReplay(const std::vector<std::string>& arguments,
                               const std::string& softgpu, bool quiet) {
  ROCHOUND_TRY(
      const std::filesystem::path program,
      base::FindBesideExecutable("../libexec/rochound/rochound-replay", "the replay program"));
  std::vector<std::string> replay = {program.string()};
  replay.insert(replay.end(), arguments.begin(), arguments.end());
  replay.insert(replay.end(), {"--answer", std::to_string(kAnswer)});
  ROCHOUND_TRY(std::vector<std::string> command, OnSoftwareGpu(softgpu, replay));
  int ends[2];
  if (pipe(ends) != 0) return Error{fmt::format("cannot make a pipe: {}", strerror(errno))};
  const pid_t child = fork();
  if (child < 0) return Error{fmt::format("cannot start a process: {}", strerror(errno))};
  if (child == 0) {
    close(ends[0]);
    BecomeReplay(std::move(command), ends[1], quiet);
  }
  close(ends[1]);

  ReplayAnswer result;
  {
    base::ProgressBar bar("replaying");
    ForEachLine(ends[0], [&](const std::string& line) {
      const ordered_json json = ordered_json::parse(line, nullptr, false);
      if (!json.is_object()) return;
      if (json.contains("answer")) result.answer = json["answer"];
      if (json.contains("launching")) result.launching = json["launching"];
      if (json.contains("progress")) {
        bar.set_what(json["progress"]);
        bar.Show(json["part"]);
      }
    });
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!result.answer.is_object()) result.answer = AnswerFromEnd(status, result.launching);
  return result;
}

}  // namespace rochound::launch
