// SPDX-License-Identifier: MIT
//
// Runs the real rochound command, from a directory that has the shape of an installation, with an
// empty library in place of the shim: what is tested here is the command, not the GPU.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;
using testing::IsSubstring;
using Arguments = std::vector<std::string>;

struct Outcome {
  int status = 0;  // of waitpid
  std::string out;
  std::string err;
  int code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
};

class SoftgpuCommand : public testing::Test {
 protected:
  SoftgpuCommand() : dir_(base::TempDir::Create(testing::TempDir(), "rochound-cli-").value()) {
    for (const char* folder : {"bin", "lib", "share/rochound", "run"})
      fs::create_directories(dir_.path() / folder);
    fs::copy_file(ROCHOUND_TEST_COMMAND, Rochound());
    fs::copy_file(ROCHOUND_TEST_SHIM, Shim());
    fs::copy(ROCHOUND_TEST_DEVICES, dir_.path() / "share/rochound/devices");
  }

  fs::path Rochound() const { return dir_.path() / "bin/rochound"; }
  fs::path Shim() const { return dir_.path() / "lib/librochound_softgpu.so"; }
  fs::path Runtime() const { return dir_.path() / "run"; }
  fs::path Store() const { return Runtime() / fmt::format("rochound-softgpu-{}", geteuid()); }

  // Starts rochound with the arguments; its output goes to numbered files, so that several can run
  // at once.
  pid_t Start(const Arguments& arguments, int number) const {
    const pid_t child = fork();
    if (child != 0) return child;
    const auto redirect = [&](const char* kind, int fd) {
      dup2(open(Output(kind, number).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), fd);
    };
    redirect("out", STDOUT_FILENO);
    redirect("err", STDERR_FILENO);
    setenv("XDG_RUNTIME_DIR", Runtime().c_str(), 1);
    unsetenv("ROCHOUND_SOFTGPU_THREADS");
    unsetenv("ROCHOUND_SOFTGPU_COUNTERS");
    unsetenv("ROCHOUND_SOFTGPU_FAULTS");
    unsetenv("ROCHOUND_SOFTGPU_FAULT_LOG");
    preload_.empty() ? unsetenv("LD_PRELOAD") : setenv("LD_PRELOAD", preload_.c_str(), 1);
    // In an ASan build, rochound itself would refuse to start after another library.
    if (!preload_.empty()) setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
    std::vector<char*> argv = {const_cast<char*>("rochound")};
    for (const std::string& argument : arguments)
      argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execv(Rochound().c_str(), argv.data());
    _exit(99);
  }

  Outcome Finish(pid_t child, int number) const {
    Outcome outcome;
    EXPECT_EQ(waitpid(child, &outcome.status, 0), child);
    outcome.out = base::ReadFile(Output("out", number)).value();
    outcome.err = base::ReadFile(Output("err", number)).value();
    return outcome;
  }

  Outcome Run(const Arguments& arguments) const { return Finish(Start(arguments, 0), 0); }

  // Runs a shell script on the software GPU.
  Outcome RunShell(const std::string& script, Arguments options = {}) const {
    Arguments arguments = {"softgpu"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"--", "/bin/sh", "-c", script});
    return Run(arguments);
  }

  fs::path Output(const char* kind, int number) const {
    return dir_.path() / fmt::format("{}{}", kind, number);
  }

  base::TempDir dir_;
  std::string preload_;
};

TEST_F(SoftgpuCommand, PassesTheExitCodeThrough) {
  for (int code : {0, 1, 2, 77, 125, 255})
    EXPECT_EQ(RunShell(fmt::format("exit {}", code)).code(), code);
}

TEST_F(SoftgpuCommand, PassesTheSignalThrough) {
  for (int signal : {SIGTERM, SIGKILL, SIGABRT}) {
    const Outcome outcome = RunShell(fmt::format("kill -{} $$", signal));
    ASSERT_TRUE(WIFSIGNALED(outcome.status)) << signal;
    EXPECT_EQ(WTERMSIG(outcome.status), signal);
  }
}

TEST_F(SoftgpuCommand, BecomesTheProgram) {
  const pid_t child = Start({"softgpu", "--", "/bin/sh", "-c", "echo $$"}, 0);
  EXPECT_EQ(Finish(child, 0).out, fmt::format("{}\n", child));
}

TEST_F(SoftgpuCommand, PassesArgumentsAndOutputThrough) {
  const Outcome outcome =
      Run({"softgpu", "--", "/bin/sh", "-c", "printf '%s|' \"$@\"; echo oops >&2", "sh", "--gpu",
           "", "a b", "--"});
  EXPECT_EQ(outcome.out, "--gpu||a b|--|");
  EXPECT_EQ(outcome.err, "oops\n");
}

TEST_F(SoftgpuCommand, SetsTheEnvironment) {
  const Outcome outcome = RunShell(
      "echo $LD_PRELOAD; echo $ROCHOUND_SOFTGPU_ROOT; echo ${ROCHOUND_SOFTGPU_THREADS-unset}");
  ASSERT_EQ(outcome.code(), 0) << outcome.err;
  EXPECT_PRED_FORMAT2(IsSubstring, Shim().string() + "\n", outcome.out);
  EXPECT_PRED_FORMAT2(IsSubstring, Store().string() + "/", outcome.out);
  EXPECT_PRED_FORMAT2(IsSubstring, "\nunset\n", outcome.out);
}

TEST_F(SoftgpuCommand, KeepsAnExistingPreload) {
  preload_ = (dir_.path() / "other.so").string();
  fs::copy_file(ROCHOUND_TEST_SHIM, preload_);
  const Outcome outcome = RunShell("echo $LD_PRELOAD");
  EXPECT_PRED_FORMAT2(IsSubstring, Shim().string() + ":" + preload_ + "\n", outcome.out);
}

TEST_F(SoftgpuCommand, ThreadsAreHandedOn) {
  EXPECT_EQ(RunShell("echo $ROCHOUND_SOFTGPU_THREADS", {"--threads", "3"}).out, "3\n");
  for (const char* bad : {"0", "-1", "many", "5000"}) {
    const Outcome outcome = RunShell("true", {"--threads", bad});
    EXPECT_EQ(outcome.code(), 2) << bad;
    EXPECT_PRED_FORMAT2(IsSubstring, "--threads", outcome.err);
  }
}

TEST_F(SoftgpuCommand, FaultsAreHandedOn) {
  const std::string show = "echo ${ROCHOUND_SOFTGPU_FAULTS-unset}";
  EXPECT_EQ(RunShell(show).out, "unset\n");
  EXPECT_EQ(RunShell(show, {"--strict"}).out, "strict\n");
  EXPECT_EQ(RunShell(show, {"--fault", "early-packets=4,seed=9"}).out, "early-packets=4,seed=9\n");
  EXPECT_EQ(RunShell(show, {"--strict", "--fault", "seed=9"}).out, "strict,seed=9\n");
  const std::string file = (dir_.path() / "faults.jsonl").string();
  EXPECT_EQ(RunShell("echo $ROCHOUND_SOFTGPU_FAULT_LOG", {"--fault-log", file}).out, file + "\n");
  EXPECT_EQ(base::ReadFile(file).value(), "");
  const Outcome bad = RunShell("true", {"--fault", "late-packets"});
  EXPECT_EQ(bad.code(), 2);
  EXPECT_PRED_FORMAT2(IsSubstring, "there is no fault 'late-packets'; there are strict, ", bad.err);
}

TEST_F(SoftgpuCommand, CountersStartWithAnEmptyFile) {
  const std::string file = (dir_.path() / "counters.jsonl").string();
  ASSERT_TRUE(base::WriteFile(file, "of an earlier run\n").ok());
  EXPECT_EQ(RunShell("echo $ROCHOUND_SOFTGPU_COUNTERS", {"--counters", file}).out, file + "\n");
  EXPECT_EQ(base::ReadFile(file).value(), "");
  EXPECT_EQ(RunShell("echo $ROCHOUND_SOFTGPU_COUNTERS").out, "\n");
  const char* const code = "echo $ROCHOUND_SOFTGPU_COUNTERS_CODE";
  EXPECT_EQ(RunShell(code, {"--counters", file}).out, "\n");
  EXPECT_EQ(RunShell(code, {"--counters", file, "--counters-code"}).out, "1\n");
  EXPECT_EQ(RunShell(code, {"--counters-code"}).code(), 2);
  const char* const caches = "echo $ROCHOUND_SOFTGPU_CACHES";
  const Outcome device =
      RunShell(caches, {"--counters", file, "--cache-model", "device", "--gpu", "mi300x"});
  EXPECT_EQ(device.out,
            "units=304 dies=8 l1=32768/128/16 l2=4194304/128/16 mall=268435456/64/16 "
            "scalar=16384/64/16\n");
  EXPECT_PRED_FORMAT2(
      IsSubstring, " l2=4096/128/4 mall=0 ",
      RunShell(caches, {"--counters", file, "--cache-model", "l2=4096/128/4,mall=0"}).out);
  EXPECT_EQ(RunShell(caches, {"--counters", file, "--cache-model", "l2=4096"}).code(), 2);
  EXPECT_EQ(RunShell(caches, {"--cache-model", "device"}).code(), 2);
  const Outcome bad = RunShell("true", {"--counters", (dir_.path() / "no/such/file").string()});
  EXPECT_EQ(bad.code(), 125);
  EXPECT_PRED_FORMAT2(IsSubstring, "no/such/file", bad.err);
}

TEST_F(SoftgpuCommand, AccessesAreHandedOn) {
  const std::string file = (dir_.path() / "accesses.txt").string();
  const std::string show =
      "echo $ROCHOUND_SOFTGPU_ACCESSES $ROCHOUND_SOFTGPU_ACCESSES_KERNEL "
      "$ROCHOUND_SOFTGPU_ACCESSES_DISPATCHES";
  EXPECT_EQ(RunShell(show).out, "\n");
  EXPECT_EQ(RunShell(show, {"--accesses", file, "--accesses-kernel", "gemm", "--accesses-dispatch",
                            "0,3-4"})
                .out,
            file + " gemm 0,3-4\n");
  EXPECT_EQ(base::ReadFile(file).value(), "rochound accesses 1\n");
  EXPECT_EQ(RunShell("true", {"--accesses-kernel", "gemm"}).code(), 2);
  EXPECT_EQ(RunShell("true", {"--accesses", file, "--accesses-kernel", "("}).code(), 2);
  EXPECT_EQ(RunShell("true", {"--accesses", file, "--accesses-dispatch", "3-"}).code(), 2);
}

TEST_F(SoftgpuCommand, TheTreeHoldsTheGpusAskedFor) {
  const std::string show = "cat $ROCHOUND_SOFTGPU_ROOT/devices/*.conf | grep -E '^(name|node) '";
  EXPECT_EQ(RunShell(show).out, "name mi300x\nnode 1\n");
  EXPECT_EQ(RunShell(show, {"--gpu", "rx6800xt,mi300x"}).out,
            "name rx6800xt\nnode 1\nname mi300x\nnode 2\n");
  EXPECT_EQ(RunShell(show, {"--gpu", "rx6800xt", "--gpu", "rx6800xt"}).out,
            "name rx6800xt\nnode 1\nname rx6800xt\nnode 2\n");
  EXPECT_EQ(RunShell("ls $ROCHOUND_SOFTGPU_ROOT/sys/class/kfd/kfd/topology/nodes",
                     {"--gpu", "mi300x,mi300x"})
                .out,
            "0\n1\n2\n");
}

TEST_F(SoftgpuCommand, AGpuMayBeAFile) {
  std::string text = base::ReadFile(fs::path(ROCHOUND_TEST_DEVICES) / "mi300x.json").value();
  text.replace(text.find("mi300x"), 6, "mine");
  const fs::path file = dir_.path() / "mine.json";
  ASSERT_TRUE(base::WriteFile(file, text).ok());
  EXPECT_EQ(
      RunShell("head -n 1 $ROCHOUND_SOFTGPU_ROOT/devices/1.conf", {"--gpu", file.string()}).out,
      "name mine\n");
  ASSERT_TRUE(base::WriteFile(file, "{}").ok());
  const Outcome broken = RunShell("true", {"--gpu", file.string()});
  EXPECT_EQ(broken.code(), 2);
  EXPECT_PRED_FORMAT2(IsSubstring, "field 'name' is missing", broken.err);
}

TEST_F(SoftgpuCommand, AnUnknownGpuListsWhatThereIs) {
  const Outcome outcome = RunShell("echo ran", {"--gpu", "h100"});
  EXPECT_EQ(outcome.code(), 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_PRED_FORMAT2(
      IsSubstring, "no GPU is called 'h100'; there are mi250x, mi300x, mi300x-cpx, mi325x, mi355x",
      outcome.err);
}

TEST_F(SoftgpuCommand, SixteenGpusAreTheMost) {
  std::string gpus = "mi300x";
  for (int i = 1; i < 16; ++i) gpus += ",mi300x";
  EXPECT_EQ(RunShell("ls $ROCHOUND_SOFTGPU_ROOT/devices | wc -l", {"--gpu", gpus}).out, "16\n");
  const Outcome outcome = RunShell("true", {"--gpu", gpus + ",mi300x"});
  EXPECT_EQ(outcome.code(), 2);
  EXPECT_PRED_FORMAT2(IsSubstring, "17 GPUs", outcome.err);
}

TEST_F(SoftgpuCommand, ListsAsTextAndAsJson) {
  const Outcome text = Run({"softgpu", "--list"});
  EXPECT_EQ(text.code(), 0);
  EXPECT_PRED_FORMAT2(IsSubstring, "mi300x       gfx942     304  192 GiB  AMD Instinct MI300X\n",
                      text.out);
  EXPECT_PRED_FORMAT2(IsSubstring, "rx6800xt     gfx1030     72   16 GiB  AMD Radeon RX 6800 XT\n",
                      text.out);

  const Outcome as_json = Run({"softgpu", "--list", "--json"});
  EXPECT_EQ(as_json.code(), 0);
  const auto list = nlohmann::json::parse(as_json.out);
  ASSERT_EQ(list.size(), 8u);
  EXPECT_EQ(list[1]["name"], "mi300x");
  EXPECT_EQ(list[1]["target"], "gfx942");
  EXPECT_EQ(list[1]["cu_count"], 304);
  EXPECT_EQ(list[5]["name"], "rx6800xt");
  EXPECT_EQ(list[5]["vram_bytes"], 17163091968);
}

TEST_F(SoftgpuCommand, WrongUsageIsTwoAndSaysWhatIsRight) {
  struct Case {
    Arguments arguments;
    const char* hint;
  };
  const Case cases[] = {
      {{}, "Usage: rochound COMMAND"},
      {{"dance"}, "dance"},
      {{"softgpu"}, "example: rochound softgpu -- rocminfo"},
      {{"softgpu", "--"}, "example: rochound softgpu -- rocminfo"},
      {{"softgpu", "rocminfo"}, "put -- before the program"},
      {{"softgpu", "--gpu", "mi300x", "rocminfo"}, "put -- before the program"},
      {{"softgpu", "--gpu"}, "--gpu"},
      {{"softgpu", "--dance", "--", "true"}, "--dance"},
      {{"softgpu", "--json", "--", "true"}, "--json goes with --list"},
      {{"softgpu", "--list", "--", "true"}, "--list runs no program"},
  };
  for (const Case& c : cases) {
    const Outcome outcome = Run(c.arguments);
    EXPECT_EQ(outcome.code(), 2) << c.hint;
    EXPECT_EQ(outcome.out, "") << c.hint;
    EXPECT_PRED_FORMAT2(IsSubstring, c.hint, outcome.err);
  }
}

TEST_F(SoftgpuCommand, HelpAndVersionGoToStdout) {
  const Outcome version = Run({"--version"});
  EXPECT_EQ(version.code(), 0);
  EXPECT_EQ(version.out, "rochound " ROCHOUND_VERSION "\n");
  const Outcome help = Run({"--help"});
  EXPECT_EQ(help.code(), 0);
  EXPECT_PRED_FORMAT2(IsSubstring, "softgpu", help.out);
  const Outcome more = Run({"softgpu", "--help"});
  EXPECT_EQ(more.code(), 0);
  EXPECT_PRED_FORMAT2(IsSubstring, "  rochound softgpu -- rocminfo\n", more.out);
  EXPECT_PRED_FORMAT2(IsSubstring, "--threads", more.out);
  EXPECT_EQ(more.err, "");
}

TEST_F(SoftgpuCommand, AProgramThatIsMissingIs127) {
  const Outcome outcome = Run({"softgpu", "--", "no-such-program"});
  EXPECT_EQ(outcome.code(), 127);
  EXPECT_PRED_FORMAT2(IsSubstring,
                      "cannot run 'no-such-program': No such file or directory. Check the name",
                      outcome.err);
}

TEST_F(SoftgpuCommand, AProgramThatCannotRunIs126) {
  const fs::path file = dir_.path() / "data";
  ASSERT_TRUE(base::WriteFile(file, "x").ok());
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  const Outcome outcome = Run({"softgpu", "--", file.string()});
  EXPECT_EQ(outcome.code(), 126);
  EXPECT_PRED_FORMAT2(IsSubstring, "chmod +x", outcome.err);
}

TEST_F(SoftgpuCommand, AMissingShimIs125AndSaysWhereItShouldBe) {
  fs::remove(Shim());
  const Outcome outcome = RunShell("true");
  EXPECT_EQ(outcome.code(), 125);
  EXPECT_PRED_FORMAT2(IsSubstring, Shim().string(), outcome.err);
}

TEST_F(SoftgpuCommand, MissingDevicesAre125) {
  fs::remove_all(dir_.path() / "share");
  EXPECT_EQ(RunShell("true").code(), 125);
  EXPECT_EQ(Run({"softgpu", "--list"}).code(), 125);
}

TEST_F(SoftgpuCommand, AFolderThatCannotBePreloadedGetsAnotherName) {
  for (const char* name : {"with space", "with:colon"}) {
    const fs::path folder = dir_.path() / name;
    fs::create_directories(folder / "bin");
    fs::copy_file(ROCHOUND_TEST_COMMAND, folder / "bin/rochound");
    fs::copy(dir_.path() / "lib", folder / "lib");
    fs::copy(dir_.path() / "share", folder / "share", fs::copy_options::recursive);
    // Started through a link, as a packager might: what counts is where the file is.
    fs::remove(Rochound());
    fs::create_symlink(folder / "bin/rochound", Rochound());
    for (int time : {1, 2}) {
      const Outcome outcome =
          RunShell("echo $LD_PRELOAD; grep -o -m 1 'with.*softgpu.so' /proc/$$/maps");
      EXPECT_EQ(outcome.code(), 0) << time;
      EXPECT_EQ(outcome.err, "") << time;  // the loader says what it cannot preload
      EXPECT_PRED_FORMAT2(IsSubstring, std::string(name) + "/lib/librochound_softgpu.so",
                          outcome.out);
      EXPECT_PRED_FORMAT2(IsSubstring, Store().string() + "/link-", outcome.out);
    }
  }
}

TEST_F(SoftgpuCommand, APathThatCannotBePreloadedIsRefused) {
  const fs::path spaced = dir_.path() / "with space";
  for (const char* folder : {"bin", "run"}) fs::create_directories(spaced / folder);
  fs::copy_file(Rochound(), spaced / "bin/rochound");
  fs::copy(dir_.path() / "lib", spaced / "lib");
  fs::copy(dir_.path() / "share", spaced / "share", fs::copy_options::recursive);
  fs::remove_all(Runtime());
  fs::create_symlink("gone", Runtime());
  setenv("TMPDIR", (spaced / "run").c_str(), 1);
  fs::remove(Rochound());
  fs::create_symlink(spaced / "bin/rochound", Rochound());
  const Outcome outcome = RunShell("echo ran");
  unsetenv("TMPDIR");
  EXPECT_EQ(outcome.code(), 125);
  EXPECT_EQ(outcome.out, "");
  EXPECT_PRED_FORMAT2(IsSubstring, "space or a colon", outcome.err);
}

TEST_F(SoftgpuCommand, SixteenAtOnceShareOneTree) {
  constexpr int kProcesses = 16;
  const std::string script =
      "cat $ROCHOUND_SOFTGPU_ROOT/devices/2.conf; echo $ROCHOUND_SOFTGPU_ROOT";
  std::vector<pid_t> children(kProcesses);
  for (int i = 0; i < kProcesses; ++i) {
    children[i] = Start({"softgpu", "--gpu", "mi300x,rx6800xt", "--", "/bin/sh", "-c", script}, i);
  }
  std::set<std::string> outputs;
  for (int i = 0; i < kProcesses; ++i) {
    const Outcome outcome = Finish(children[i], i);
    EXPECT_EQ(outcome.code(), 0) << outcome.err;
    outputs.insert(outcome.out);
  }
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_PRED_FORMAT2(IsSubstring, "name rx6800xt\n", *outputs.begin());
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(Store())) names.insert(entry.path().filename());
  EXPECT_EQ(names.size(), 2u) << "the tree and the lock";
}

}  // namespace
}  // namespace rochound::cli
