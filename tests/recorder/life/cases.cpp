// SPDX-License-Identifier: MIT
//
// The cases of main.cpp. Each does its rounds and says how they ended, in words that are the same
// with and without a recorder; lines that begin with `elapsed` hold what may differ.
#include <dlfcn.h>
#include <pthread.h>
#include <rochound/rochound.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../hsa_machine.h"
#include "ends.h"

namespace {

struct Words {
  unsigned rounds;
  const char* kernel;
  char** argv;
};

// A queue, and what it takes to launch on it. The kernel does next to nothing.
class Work {
 public:
  explicit Work(const Words& words)
      : machine_(FindMachine()), kernel_(LoadKernel(machine_, words.kernel, "Timed.kd")) {
    struct Arguments {
      uint64_t* times;
      uint64_t ticks;
    };
    auto* const arguments = Allocate<Arguments>(machine_, 1);
    *arguments = {Allocate<uint64_t>(machine_, 2), 0};
    arguments_ = arguments;
    Check(hsa_signal_create(0, 0, nullptr, &done_), "signal");
    queue_ = NewQueue();
  }

  hsa_queue_t* NewQueue() const {
    hsa_queue_t* queue = nullptr;
    Check(hsa_queue_create(machine_.gpu, 256, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX,
                           UINT32_MAX, &queue),
          "hsa_queue_create");
    return queue;
  }

  // Any thread. Nothing between reserving and ringing takes a lock of the bare runtime's.
  void Launch(hsa_queue_t* queue = nullptr, hsa_signal_t signal = {0}) const {
    if (queue == nullptr) queue = queue_;
    const uint64_t at = hsa_queue_add_write_index_screlease(queue, 1);
    while (at - hsa_queue_load_read_index_scacquire(queue) >= queue->size) sched_yield();
    WriteLaunch(queue, at, kernel_, arguments_, signal, signal.handle != 0);
    hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(at));
  }

  // Launches once more, and waits for it and all before. One thread at a time.
  void Wait(hsa_queue_t* queue = nullptr) const {
    hsa_signal_store_screlease(done_, 1);
    Launch(queue, done_);
    while (hsa_signal_wait_scacquire(done_, HSA_SIGNAL_CONDITION_LT, 1, 1'000'000'000,
                                     HSA_WAIT_STATE_BLOCKED) >= 1) {
    }
  }

  void End() {
    Wait();
    Check(hsa_queue_destroy(queue_), "hsa_queue_destroy");
    Check(hsa_signal_destroy(done_), "hsa_signal_destroy");
    Check(hsa_shut_down(), "hsa_shut_down");
  }

 private:
  const Machine machine_;
  const uint64_t kernel_;
  void* arguments_ = nullptr;
  hsa_signal_t done_{};
  hsa_queue_t* queue_ = nullptr;
};

// Launches until it is destroyed, beside what a case does.
class Background {
 public:
  explicit Background(const Work& work)
      : thread_([this, &work] {
          while (!end_) {
            for (int i = 0; i < 8; ++i) work.Launch();
            usleep(200);
          }
        }) {}
  ~Background() {
    end_ = true;
    thread_.join();
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

 private:
  std::atomic<bool> end_{false};
  std::thread thread_;
};

void Once(const Words& words) {
  Work work(words);
  for (int i = 0; i < 100; ++i) work.Launch();
  work.End();
}

void ForkBesideWork(const Words& words) {
  Work work(words);
  Ends ends;
  {
    const Background background(work);
    for (unsigned i = 0; i < words.rounds; ++i) {
      ends.Collect("mark", Fork([] {
                     for (int mark = 0; mark < 3; ++mark) rochound_mark("from the child");
                   }));
      ends.Collect("load", Fork([] {
                     void* const library = dlopen("libanl.so.1", RTLD_NOW);
                     void* const other = dlopen("libresolv.so.2", RTLD_NOW);
                     if (library != nullptr) dlclose(library);
                     if (other != nullptr) dlclose(other);
                     _exit(other != nullptr ? 0 : 1);
                   }));
      ends.Collect("allocate", Fork([] {
                     std::vector<std::string> texts(1000, std::string(100, 'x'));
                     rochound_range_push("in the child");
                     rochound_range_pop();
                     _exit(texts.size() == 1000 ? 0 : 1);
                   }));
      ends.Collect(
          "ask", Fork([] {
            uint64_t now = 0;
            _exit(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now) == HSA_STATUS_SUCCESS ? 0
                                                                                             : 1);
          }));
      ends.Collect("again", Fork([&] {
                     execl("/proc/self/exe", words.argv[0], words.argv[1], "once", "1",
                           words.kernel, nullptr);
                     _exit(1);
                   }));
    }
  }
  work.End();
  ends.Print();
}

void NoCoreFile() {
  const rlimit none{};
  setrlimit(RLIMIT_CORE, &none);
}

// The parent does not use the GPU, its children do, and end in every way.
void ForkBeforeWork(const Words& words) {
  using End = void (*)();
  static const std::map<std::string, End> kWays = {
      {"return", [] { exit(0); }},
      {"exit", [] { exit(5); }},
      {"_exit", [] { _exit(6); }},
      {"quick_exit", [] { quick_exit(7); }},
      {"abort", [] { abort(); }},
      {"kill", [] { raise(SIGKILL); }},
      {"segmentation fault", [] { raise(SIGSEGV); }},
      {"exit on a thread", [] { std::thread([] { exit(8); }).join(); }},
  };
  Ends ends;
  for (unsigned i = 0; i < words.rounds; ++i)
    for (const auto& [name, end] : kWays)
      ends.Collect(name, Fork([&] {
                     NoCoreFile();
                     Work work(words);
                     for (int launch = 0; launch < 20; ++launch) work.Launch();
                     // With work in flight or without.
                     if (i % 2 == 0) work.Wait();
                     end();
                   }));
  ends.Print();
}

pid_t VforkToEnd(int code) {
  const pid_t child = vfork();
  if (child == 0) _exit(code);
  return child;
}

pid_t VforkToBecome(const char* program) {
  const pid_t child = vfork();
  if (child != 0) return child;
  execl(program, program, nullptr);
  _exit(1);
}

void Vfork(const Words& words) {
  Work work(words);
  Ends ends;
  {
    const Background background(work);
    for (unsigned i = 0; i < words.rounds; ++i) {
      ends.Collect("vfork", VforkToEnd(static_cast<int>(i % 4)));
      ends.Collect("vfork and exec", VforkToBecome("/bin/true"));
    }
  }
  work.End();
  ends.Print();
}

// Children that no handler of fork knows of.
void Clone(const Words& words) {
  Work work(words);
  Ends ends;
  std::vector<char> stack(64 * 1024);
  std::atomic<int> counted{0};
  {
    const Background background(work);
    for (unsigned i = 0; i < words.rounds; ++i) {
      const auto child =
          static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
      if (child == 0) {
        rochound_mark("from the child");
        syscall(SYS_exit_group, 0);
      }
      ends.Collect("clone", child);
      const pid_t shares = clone(
          [](void* count) {
            static_cast<std::atomic<int>*>(count)->fetch_add(1);
            syscall(SYS_exit, 3);
            return 0;
          },
          stack.data() + stack.size(), CLONE_VM | SIGCHLD, &counted);
      ends.Collect("clone with shared memory", shares);
    }
  }
  work.End();
  ends.Print();
  printf("counted %d\n", counted.load());
}

// The process becomes itself anew while a thread launches.
void Exec(const Words& words) {
  Work work(words);
  work.Wait();
  if (words.rounds == 1) return work.End();
  const Background background(work);
  usleep(1000 + words.rounds * 37 % 3000);
  const std::string left = std::to_string(words.rounds - 1);
  fflush(stdout);
  execl("/proc/self/exe", words.argv[0], words.argv[1], "exec", left.c_str(), words.kernel,
        nullptr);
  _exit(1);
}

// A signal handler that calls exit, most likely in the middle of a doorbell.
void ExitInHandler(const Words& words) {
  Ends ends;
  std::minstd_rand random(7);
  for (unsigned i = 0; i < words.rounds; ++i) {
    const auto after_us = static_cast<suseconds_t>(random() % 3000 + 1);
    ends.Collect("exit in a handler", Fork([&] {
                   Work work(words);
                   work.Wait();
                   signal(SIGALRM, [](int) { exit(7); });
                   const itimerval timer{{}, {0, after_us}};
                   setitimer(ITIMER_REAL, &timer, nullptr);
                   for (;;) work.Launch();
                 }));
  }
  ends.Print();
}

// Threads that are cancelled before, while and after they use the runtime first.
void Cancel(const Words& words) {
  Work work(words);
  struct Shared {
    const Work* work;
    std::atomic<bool> cancelled{false};
  };
  unsigned cancelled = 0;
  for (unsigned i = 0; i < words.rounds; ++i) {
    Shared shared{&work};
    pthread_t thread{};
    const auto run = [](void* data) -> void* {
      auto& mine = *static_cast<Shared*>(data);
      while (!mine.cancelled) sched_yield();
      rochound_range_push("cancelled");
      for (int launch = 0; launch < 3; ++launch) mine.work->Launch();
      rochound_range_pop();
      pthread_testcancel();
      return data;
    };
    if (pthread_create(&thread, nullptr, run, &shared) != 0) exit(2);
    pthread_cancel(thread);
    shared.cancelled = true;
    void* result = nullptr;
    pthread_join(thread, &result);
    cancelled += result == PTHREAD_CANCELED;
  }
  work.End();
  printf("cancelled %u of %u\n", cancelled, words.rounds);
}

void ShutDown(const Words& words) {
  for (unsigned i = 0; i < words.rounds; ++i) Once(words);
}

void Threads(const Words& words) {
  constexpr unsigned kAtOnce = 20;
  Work work(words);
  Growing(words.rounds / kAtOnce, [&] {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kAtOnce; ++i)
      threads.emplace_back([&] {
        work.Launch();
        rochound_mark("a thread");
      });
    for (std::thread& thread : threads) thread.join();
  });
  work.End();
}

void Queues(const Words& words) {
  Work work(words);
  Growing(words.rounds, [&] {
    hsa_queue_t* const queue = work.NewQueue();
    for (int i = 0; i < 3; ++i) work.Launch(queue);
    work.Wait(queue);
    Check(hsa_queue_destroy(queue), "hsa_queue_destroy");
  });
  work.End();
}

// Makes the log grow, while the bare program does nothing.
void WriteMuch() {
  for (int i = 0; i < 60'000; ++i) rochound_mark("something to write down");
}

// A stack cannot grow any more under some of the limits, so it grows before.
void GrowStack() {
  volatile char deep[512 * 1024];
  for (size_t i = 0; i < sizeof deep; i += 4096) deep[i] = 1;
}

// Everything that the bare program needs is there when the limit falls.
void Limits(const Words& words) {
  static const std::map<std::string, std::pair<int, rlim_t>> kLimits = {
      {"as", {RLIMIT_AS, 0}},
      {"core", {RLIMIT_CORE, 0}},
      {"data", {RLIMIT_DATA, 0}},
      {"fsize", {RLIMIT_FSIZE, 0}},
      {"locks", {RLIMIT_LOCKS, 0}},
      {"memlock", {RLIMIT_MEMLOCK, 0}},
      {"msgqueue", {RLIMIT_MSGQUEUE, 0}},
      {"nice", {RLIMIT_NICE, 0}},
      {"nofile", {RLIMIT_NOFILE, 3}},
      {"nproc", {RLIMIT_NPROC, 0}},
      {"rss", {RLIMIT_RSS, 0}},
      {"rtprio", {RLIMIT_RTPRIO, 0}},
      {"rttime", {RLIMIT_RTTIME, 1000}},
      {"sigpending", {RLIMIT_SIGPENDING, 0}},
      {"stack", {RLIMIT_STACK, 256 * 1024}},
  };
  Ends ends;
  for (unsigned i = 0; i < words.rounds; ++i)
    for (const auto& [name, limit] : kLimits)
      ends.Collect(name, Fork([&, which = limit.first, most = limit.second] {
                     GrowStack();
                     Work work(words);
                     work.Wait();
                     rlimit now{};
                     getrlimit(which, &now);
                     now.rlim_cur = most;
                     if (setrlimit(which, &now) != 0) _exit(2);
                     for (int launch = 0; launch < 50; ++launch) work.Launch();
                     WriteMuch();
                     work.Wait();
                     _exit(0);
                   }));
  ends.Print();
}

// For whoever changes the world around it: works, and writes much, until its standard input ends.
void UntilToldTo(const Words& words) {
  Work work(words);
  work.Wait();
  puts("ready");
  fflush(stdout);
  for (int c = 0; (c = getchar()) != EOF;) {
    for (int launch = 0; launch < 200; ++launch) work.Launch();
    WriteMuch();
    work.Wait();
    puts("done");
    fflush(stdout);
  }
  work.End();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int RunCase(char** argv) {
  using Case = void (*)(const Words&);
  static const std::map<std::string, Case> kCases = {
      {"once", Once},           {"dlclose", Once},
      {"fork", ForkBesideWork}, {"ends", ForkBeforeWork},
      {"vfork", Vfork},         {"clone", Clone},
      {"exec", Exec},           {"handler", ExitInHandler},
      {"cancel", Cancel},       {"shut_down", ShutDown},
      {"threads", Threads},     {"queues", Queues},
      {"limits", Limits},       {"until_told_to", UntilToldTo},
  };
  const auto found = kCases.find(argv[2]);
  if (found == kCases.end()) return 2;
  found->second({static_cast<unsigned>(atoi(argv[3])), argv[4], argv});
  return 0;
}
