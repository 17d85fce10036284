// SPDX-License-Identifier: MIT
//
// Does what it is told, line by line on stdin, and answers each line when it is done, so that a
// test knows what happened before and what after. No HIP call comes before the first line that
// needs one. Ends when stdin does, with the number of kernels it has launched.
//
//   launch N        N kernels, waited for           range NAME N   the same in a range of the C
//   interface steady, calm    begin and end launching a       roctx NAME N   the same in a range of
//   roctx
//                   kernel every 2 ms
//   start, stop, flush, recording, mark TEXT        the C interface
//   exec            becomes itself anew             fork           makes a child that only waits
//   lose            closes every socket it has      pid            nothing; the answer has it
//
// With --steady it launches from the start, and the lines are optional.

#include <dirent.h>
#include <dlfcn.h>
#include <hip/hip_runtime.h>
#include <rochound/rochound.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

__global__ void Nothing() {}

namespace {

std::atomic<long> launched{0};
std::atomic<bool> steady{false};

[[noreturn]] void Fail(const char* what) {
  fprintf(stderr, "FAIL obedient: %s\n", what);
  _exit(1);
}

void Launch(long count) {
  for (long i = 0; i < count; ++i) {
    Nothing<<<1, 64>>>();
    if (hipGetLastError() != hipSuccess) Fail("launch");
    ++launched;
  }
  if (hipDeviceSynchronize() != hipSuccess) Fail("hipDeviceSynchronize");
}

void LaunchSteadily() {
  while (steady) {
    Launch(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void LaunchInRoctx(const std::string& name, long count) {
  void* library = dlopen("libroctx64.so.4", RTLD_LAZY);
  if (library == nullptr) Fail("no libroctx64.so.4");
  const auto push = reinterpret_cast<int (*)(const char*)>(dlsym(library, "roctxRangePushA"));
  const auto pop = reinterpret_cast<int (*)()>(dlsym(library, "roctxRangePop"));
  if (push == nullptr || pop == nullptr) Fail("no roctxRangePushA");
  push(name.c_str());
  Launch(count);
  pop();
}

void CloseSockets() {
  DIR* listing = opendir("/proc/self/fd");
  if (listing == nullptr) Fail("/proc/self/fd");
  while (const dirent* entry = readdir(listing)) {
    char target[64] = {};
    const std::string path = std::string("/proc/self/fd/") + entry->d_name;
    if (readlink(path.c_str(), target, sizeof target - 1) > 0 && strncmp(target, "socket:", 7) == 0)
      close(atoi(entry->d_name));
  }
  closedir(listing);
}

}  // namespace

int main(int argc, char** argv) {
  std::thread background;
  const auto begin = [&] {
    if (steady.exchange(true)) return;
    background = std::thread(LaunchSteadily);
  };
  const auto end = [&] {
    steady = false;
    if (background.joinable()) background.join();
  };
  if (argc > 1 && strcmp(argv[1], "--steady") == 0) begin();

  int child = 0;
  std::string line;
  const auto answer_now = [&](const std::string& answer) {
    printf("%s pid=%d child=%d launched=%ld\n", answer.c_str(), getpid(), child, launched.load());
    fflush(stdout);
  };
  if (argc > 1 && strcmp(argv[1], "--again") == 0) answer_now("done");
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string word, name, answer = "done";
    long count = 0;
    words >> word;
    if (word == "launch") {
      words >> count;
      Launch(count);
    } else if (word == "range") {
      words >> name >> count;
      rochound_range_push(name.c_str());
      Launch(count);
      rochound_range_pop();
    } else if (word == "roctx") {
      words >> name >> count;
      LaunchInRoctx(name, count);
    } else if (word == "steady") {
      begin();
    } else if (word == "calm") {
      end();
    } else if (word == "start") {
      rochound_start();
    } else if (word == "stop") {
      rochound_stop();
    } else if (word == "flush") {
      rochound_flush();
    } else if (word == "mark") {
      words >> name;
      rochound_mark(name.c_str());
    } else if (word == "recording") {
      answer = rochound_is_recording() ? "yes" : "no";
    } else if (word == "exec") {
      execl("/proc/self/exe", argv[0], "--again", nullptr);
      Fail("execl");
    } else if (word == "fork") {
      child = fork();
      if (child == 0) {
        for (;;) pause();
      }
    } else if (word == "lose") {
      CloseSockets();
    } else if (word != "pid") {
      Fail("what is that line?");
    }
    answer_now(answer);
  }
  end();
  printf("end launched=%ld\n", launched.load());
  return 0;
}
