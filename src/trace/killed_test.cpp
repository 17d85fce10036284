// SPDX-License-Identifier: MIT
//
// Kills a writing process at random instants, many times over. The process notes in a shared page
// how many records each of its threads has committed; every one of them must be in the log.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "trace/reader.h"
#include "trace/tsc.h"
#include "trace/writer.h"

namespace rochound::trace {
namespace {

namespace fs = std::filesystem;

constexpr int kThreads = 3;
constexpr int kMaxLives = 4096;

// What the process says it has done, by the thread's index in its log.
struct Page {
  std::atomic<uint64_t> committed[kMaxLives];
  std::atomic<uint64_t> strings;
};

uint64_t Check(uint64_t correlation, uint64_t salt) {
  return correlation * 0x9e3779b97f4a7c15 + salt;
}

// A thread of the program, and the next one when it ends: writes calls with arguments, with the
// call noted as open meanwhile.
void Work(Writer* writer, Page* page, uint64_t calls_per_life) {
  for (uint64_t done = 0;;) {
    ThreadLog* log = writer->Attach();
    if (log == nullptr || log->index() >= kMaxLives) {
      pause();
      return;
    }
    for (uint64_t i = 0; i < calls_per_life; ++i) {
      const uint64_t correlation = log->NextCorrelation();
      log->OpenCall(1, ReadTsc(), correlation);
      ApiArguments* arguments = log->Reserve<ApiArguments>();
      while (arguments == nullptr) {
        usleep(50);
        arguments = log->Reserve<ApiArguments>();
      }
      arguments->correlation = correlation;
      for (uint64_t word = 0; word < 6; ++word) arguments->words[word] = Check(correlation, word);
      log->Commit(arguments, 6, 0);
      ApiCall* call = log->Reserve<ApiCall>();
      while (call == nullptr) {
        usleep(50);
        call = log->Reserve<ApiCall>();
      }
      call->begin_tsc = Check(correlation, 7);
      call->end_tsc = Check(correlation, 8);
      call->correlation = correlation;
      log->Commit(call, 1, static_cast<uint32_t>(correlation));
      page->committed[log->index()].store(i + 1, std::memory_order_release);
      log->CloseCall();
      if (++done % 512 == 0) usleep(200);
    }
    writer->Detach(log);
  }
}

[[noreturn]] void Program(const std::string& run, Page* page, uint64_t calls_per_life) {
  Writer* writer =
      Writer::Open({.directory = run, .chunk_bytes = 16 * 1024, .segment_chunks = 256}, nullptr);
  if (writer == nullptr) _exit(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([=] { Work(writer, page, calls_per_life); });
  }
  for (uint64_t i = 0;; ++i) {
    writer->Maintain();
    writer->Intern("string " + std::to_string(i));
    page->strings.store(i + 1, std::memory_order_release);
    usleep(200);
  }
}

struct Found : Visitor {
  void OnCall(const CallEvent& call) override {
    uint64_t& count = calls[call.thread.index];
    const uint64_t expected = uint64_t{call.thread.index} << 40 | (count + 1);
    if (call.correlation != expected || call.words.size() != 6 ||
        call.result != static_cast<uint32_t>(call.correlation)) {
      ++wrong;
      return;
    }
    for (uint64_t word = 0; word < 6; ++word) {
      wrong += call.words[word] != Check(call.correlation, word);
    }
    ++count;
  }
  std::map<uint32_t, uint64_t> calls;
  uint64_t wrong = 0;
};

class KilledTest : public testing::TestWithParam<uint64_t> {};

TEST_P(KilledTest, LosesNothingThatWasCommitted) {
  constexpr int kRuns = 50;
  auto dir = base::TempDir::Create(testing::TempDir(), "rochound-killed-").value();
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  uint64_t committed_in_all = 0;
  int opened = 0;
  int open_calls = 0;
  for (int i = 0; i < kRuns; ++i) {
    void* memory =
        mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    Page* page = new (memory) Page{};
    const fs::path run = dir.path() / std::to_string(i);
    const pid_t child = fork();
    if (child == 0) Program(run.string(), page, GetParam());
    ASSERT_GT(child, 0);
    // Some die while the log is still being made; the others only once there is something to lose.
    for (int turn = 0; i % 5 != 0 && page->strings.load() == 0 && turn < 10000; ++turn)
      usleep(1000);
    usleep(random() % (i % 5 == 0 ? 3000 : 20000));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself";

    uint64_t committed = 0;
    for (const auto& count : page->committed) committed += count.load();
    auto log = RunLog::Open(run);
    if (!log.ok()) {
      EXPECT_EQ(committed, 0u) << log.error().message;
    } else {
      ++opened;
      const ProcessLog& process = *log.value().processes().at(0);
      EXPECT_FALSE(process.finished());
      EXPECT_FALSE(process.running());
      for (const std::string& problem : process.problems()) {
        // The program here writes no text files.
        EXPECT_TRUE(problem.find("file is missing") != std::string::npos) << problem;
      }
      Found found;
      ASSERT_TRUE(process.Visit(found).ok());
      EXPECT_EQ(found.wrong, 0u);
      for (uint32_t thread = 0; thread < kMaxLives; ++thread) {
        const uint64_t said = page->committed[thread].load();
        if (said == 0) continue;
        ASSERT_GE(found.calls[thread], said) << "thread " << thread << " of run " << i;
        ASSERT_LE(found.calls[thread], said + 1) << "thread " << thread << " of run " << i;
      }
      EXPECT_LE(process.open_calls().size(), static_cast<size_t>(kThreads));
      open_calls += static_cast<int>(process.open_calls().size());
      for (const OpenCall& call : process.open_calls()) {
        EXPECT_EQ(call.correlation & 0xffffffffff, found.calls[call.thread] + 1)
            << "the call that comes next";
      }
      uint64_t strings = 0;
      for (uint32_t id = 0; id < 64 * 1024; ++id) strings += process.String(id).has_value();
      EXPECT_GE(strings, std::min<uint64_t>(page->strings.load(), 1000));
    }
    committed_in_all += committed;
    munmap(memory, sizeof(Page));
    fs::remove_all(run);
  }
  EXPECT_GT(opened, kRuns / 2);
  EXPECT_GT(committed_in_all, 10000u) << "hardly anything was tested";
  EXPECT_GT(open_calls, 0);
}

// Threads that stay, and threads that end after a few calls and leave their chunk to the next.
INSTANTIATE_TEST_SUITE_P(Log, KilledTest, testing::Values(1000000000, 20, 700));

}  // namespace
}  // namespace rochound::trace
