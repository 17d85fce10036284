// SPDX-License-Identifier: MIT
#include "launch/control_client.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "base/files.h"

namespace rochound::launch {
namespace {

constexpr uid_t kStranger = 65534;

int Listen(const std::string& path) {
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(listen(listener, 8), 0);
  return listener;
}

// What a client sent, or whether one came at all.
std::string Received(int listener, const char* answer) {
  pollfd ready{listener, POLLIN, 0};
  if (poll(&ready, 1, 1000) <= 0) return "nobody";
  const int client = accept(listener, nullptr, nullptr);
  char request[100] = "";
  ready.fd = client;
  if (poll(&ready, 1, 1000) > 0) (void)!read(client, request, sizeof request - 1);
  (void)!send(client, answer, strlen(answer), MSG_NOSIGNAL);
  close(client);
  return request;
}

// A process that waits to be ended.
class Sleeper {
 public:
  Sleeper() : process(fork()) {
    while (process == 0) pause();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  const pid_t process;
};

class ControlSockets : public testing::Test {
 protected:
  // A name under which root looks for everybody's sockets.
  ControlSockets() : folder_(base::TempDir::Create("/tmp", "rochound-").value()) {
    unsetenv("ROCHOUND_CONTROL_DIR");
  }
  std::string Path(pid_t process) const {
    return folder_.path() / (std::to_string(process) + ".sock");
  }
  base::TempDir folder_;
};

TEST_F(ControlSockets, OfAStrangerAreNotThoseOfAProcess) {
  if (geteuid() != 0) GTEST_SKIP() << "only root looks at other users' sockets";
  const Sleeper program;
  const int listener = Listen(Path(program.process));
  EXPECT_EQ(FindControlSocket(program.process).directory, folder_.path());
  ASSERT_EQ(chown(folder_.path().c_str(), kStranger, kStranger), 0);
  EXPECT_EQ(FindControlSocket(program.process).process, 0);
  close(listener);
}

TEST_F(ControlSockets, AreAskedOnlyIfTheirUserListens) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has sockets that others may not reach";
  const base::TempDir roots = base::TempDir::Create("/tmp", "rochound-root-").value();
  const int listener = Listen(roots.path() / "service");
  ASSERT_EQ(symlink((roots.path() / "service").c_str(), Path(4711).c_str()), 0);
  ASSERT_EQ(chown(folder_.path().c_str(), kStranger, kStranger), 0);
  std::string received;
  std::thread service([&] { received = Received(listener, "ok\nend\n"); });
  const auto answers = AskAll({{4711, folder_.path(), kStranger, false}}, "stop");
  service.join();
  EXPECT_EQ(answers.front().outcome, ControlAnswer::kFailed);
  EXPECT_EQ(received, "");
  close(listener);
}

TEST_F(ControlSockets, AreAskedOnlyIfTheProcessListens) {
  setenv("ROCHOUND_CONTROL_DIR", folder_.path().c_str(), 1);
  const Sleeper program;
  for (const pid_t process : {program.process, getpid()}) {
    const int listener = Listen(Path(process));
    std::string received;
    std::thread service([&] { received = Received(listener, "ok\nend\n"); });
    const auto answers = AskAll({FindControlSocket(process)}, "stop");
    service.join();
    const bool is_it = process == getpid();
    EXPECT_EQ(answers.front().outcome, is_it ? ControlAnswer::kDone : ControlAnswer::kFailed);
    EXPECT_EQ(received, is_it ? "stop\n" : "");
    close(listener);
  }
  unsetenv("ROCHOUND_CONTROL_DIR");
}

TEST(ControlAnswers, AreReadLineByLine) {
  const ControlAnswer answer = ParseControlAnswer(
      "ok\nprotocol=1\nstate=recording\ndirectory=/a=b\nin_flight.0=2500000000 1 3 Add\nend\n");
  EXPECT_EQ(answer.outcome, ControlAnswer::kDone);
  EXPECT_EQ(answer.Text("state"), "recording");
  EXPECT_EQ(answer.Text("directory"), "/a=b");
  EXPECT_EQ(answer.Number("protocol"), 1);
  ASSERT_EQ(answer.LongWork().size(), 1u);
  EXPECT_EQ(answer.LongWork()[0].kernel, "Add");
  EXPECT_DOUBLE_EQ(answer.LongWork()[0].seconds, 2.5);
}

TEST(ControlAnswers, WithoutAnEndOrABeginningFail) {
  for (const char* text : {"", "ok\n", "ok\nstate=off\n", "state=off\nend\n", "\n\n"})
    EXPECT_EQ(ParseControlAnswer(text).outcome, ControlAnswer::kFailed) << text;
  EXPECT_EQ(ParseControlAnswer("error it is busy\n").error, "it is busy");
}

// Root asks everybody's sockets.
TEST(ControlAnswers, SteerNoTerminal) {
  EXPECT_EQ(ParseControlAnswer("ok\nreason=\x1b[2J\xc2\x9b"
                               "2J\nend\n")
                .Text("reason"),
            "\\x1b[2J\\x9b2J");
  EXPECT_EQ(ParseControlAnswer("error \x1b]0;x\a\n").error, "\\x1b]0;x\\x07");
}

}  // namespace
}  // namespace rochound::launch
