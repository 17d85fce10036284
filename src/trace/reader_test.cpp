// SPDX-License-Identifier: MIT
#include "trace/reader.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "trace/tsc.h"
#include "trace/writer.h"

namespace rochound::trace {
namespace {

namespace fs = std::filesystem;

class ReaderTest : public testing::Test {
 protected:
  ReaderTest()
      : dir_(base::TempDir::Create(testing::TempDir(), "rochound-reader-").value()),
        run_((dir_.path() / "run").string()) {}

  Writer* Open(Writer::Options options = {}) const {
    options.directory = run_;
    std::string error;
    Writer* writer = Writer::Open(options, &error);
    EXPECT_NE(writer, nullptr) << error;
    writer->WriteText("info", "pid=1\n");
    writer->WriteText("functions", "");
    return writer;
  }

  static std::unique_ptr<ProcessLog> Read(const Writer* writer) {
    auto log = ProcessLog::Open(writer->process_directory());
    EXPECT_TRUE(log.ok()) << log.error().message;
    return std::move(log).value();
  }

  base::TempDir dir_;
  std::string run_;
};

void WriteCall(ThreadLog* log, uint64_t correlation, uint64_t begin, uint64_t end,
               uint16_t function = 1, uint32_t result = 0) {
  auto* call = log->Reserve<ApiCall>();
  ASSERT_NE(call, nullptr);
  call->begin_tsc = begin;
  call->end_tsc = end;
  call->correlation = correlation;
  log->Commit(call, function, result);
}

void WriteArguments(ThreadLog* log, uint64_t correlation, uint32_t first,
                    const std::vector<uint64_t>& words) {
  auto* arguments = log->Reserve<ApiArguments>();
  ASSERT_NE(arguments, nullptr);
  arguments->correlation = correlation;
  std::copy(words.begin(), words.end(), arguments->words);
  log->Commit(arguments, static_cast<uint16_t>(words.size()), first);
}

void WriteText(ThreadLog* log, uint64_t correlation, uint32_t argument, std::string_view text) {
  for (uint32_t at = 0; at == 0 || at < text.size(); at += sizeof(TextPiece::text)) {
    auto* piece = log->Reserve<TextPiece>();
    ASSERT_NE(piece, nullptr);
    const size_t bytes = text.substr(at).copy(piece->text, sizeof piece->text);
    piece->correlation = correlation;
    piece->total = text.size();
    log->Commit(piece, static_cast<uint16_t>(argument << 8 | bytes), at);
  }
}

struct Call {
  CallEvent event;
  std::vector<uint64_t> words;
  std::vector<uint64_t> frames;
  std::vector<std::string> texts;
};

struct Collector : Visitor {
  void OnCall(const CallEvent& event) override {
    Call call{event,
              {event.words.begin(), event.words.end()},
              {event.frames.begin(), event.frames.end()},
              {}};
    for (const TextArgument& text : event.texts) {
      call.texts.push_back(std::to_string(text.argument) + ":" + std::string(text.text) + "/" +
                           std::to_string(text.total));
    }
    calls.push_back(call);
  }
  void OnDispatch(const Event<KernelDispatch>& event) override {
    dispatches.push_back({event.record.dispatch, event.begin_ns});
  }
  void OnKernelTime(const Event<KernelTime>& event) override {
    times.push_back({event.begin_ns, event.end_ns});
  }
  void OnCopyTime(const Event<CopyTime>& event) override {
    copy_times.push_back({event.begin_ns, event.end_ns});
  }
  void OnRange(const Event<Range>& event) override { ranges.push_back(event.record.head.wide); }

  std::vector<Call> calls;
  std::vector<std::pair<uint64_t, uint64_t>> dispatches;
  std::vector<std::pair<uint64_t, uint64_t>> times;
  std::vector<std::pair<uint64_t, uint64_t>> copy_times;
  std::vector<uint32_t> ranges;
};

TEST_F(ReaderTest, ACallComesWithItsArgumentsTextsAndStack) {
  Writer* writer = Open({.chunk_bytes = 4096});
  writer->Maintain();
  ThreadLog* log = writer->Attach();
  const std::string path(100, 'p');
  for (int i = 0; i < 200; ++i) {  // over chunk boundaries
    const uint64_t outer = log->NextCorrelation();
    WriteArguments(log, outer, 0, {1, 2, 3, 4, 5, 6});
    WriteArguments(log, outer, 6, {static_cast<uint64_t>(i)});
    WriteText(log, outer, 2, path);
    WriteText(log, outer, 5, "");
    const uint64_t inner = log->NextCorrelation();
    WriteArguments(log, inner, 0, {9});
    auto* frames = log->Reserve<StackFrames>();
    frames->correlation = outer;
    std::fill(std::begin(frames->addresses), std::end(frames->addresses), 0xabc);
    log->Commit(frames, 3, 0);
    WriteCall(log, inner, 20, 30, 8);
    WriteCall(log, outer, 10, 40, 7, 5);
    writer->Maintain();
  }
  Collector seen;
  ASSERT_TRUE(Read(writer)->Visit(seen).ok());
  ASSERT_EQ(seen.calls.size(), 400u);
  for (int i = 0; i < 200; ++i) {
    const Call& inner = seen.calls[2 * i];
    const Call& outer = seen.calls[2 * i + 1];
    ASSERT_EQ(inner.event.function, 8);
    ASSERT_EQ(inner.words, std::vector<uint64_t>{9});
    ASSERT_TRUE(inner.texts.empty() && inner.frames.empty());
    ASSERT_EQ(outer.event.function, 7);
    ASSERT_EQ(outer.event.result, 5u);
    ASSERT_EQ(outer.words, (std::vector<uint64_t>{1, 2, 3, 4, 5, 6, static_cast<uint64_t>(i)}));
    ASSERT_EQ(outer.texts, (std::vector<std::string>{"2:" + path + "/100", "5:/0"}));
    ASSERT_EQ(outer.frames, (std::vector<uint64_t>{0xabc, 0xabc, 0xabc}));
    ASSERT_EQ(outer.event.thread.index, log->index());
    ASSERT_EQ(outer.event.thread.tid, static_cast<uint32_t>(gettid()));
  }
}

TEST_F(ReaderTest, EachThreadsCallsComeInItsOrder) {
  Writer* writer = Open({.chunk_bytes = 4096});
  std::atomic<bool> stop{false};
  std::thread drain([&] {
    while (!stop) writer->Maintain();
  });
  constexpr int kThreads = 4;
  constexpr uint64_t kLives = 50;
  constexpr uint64_t kCalls = 300;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (uint64_t life = 0; life < kLives; ++life) {
        ThreadLog* log = writer->Attach();
        for (uint64_t i = 0; i < kCalls; ++i) {
          const uint64_t correlation = log->NextCorrelation();
          while (log->Reserve<ApiArguments>() == nullptr) usleep(100);
          WriteArguments(log, correlation, 0, {i});
          while (log->Reserve<ApiCall>() == nullptr) usleep(100);
          WriteCall(log, correlation, i, i);
        }
        writer->Detach(log);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  drain.join();

  const auto log = Read(writer);
  EXPECT_TRUE(log->problems().empty()) << log->problems()[0];
  Collector seen;
  ASSERT_TRUE(log->Visit(seen).ok());
  ASSERT_EQ(seen.calls.size(), kThreads * kLives * kCalls);
  std::map<uint32_t, uint64_t> next;
  for (const Call& call : seen.calls) {
    ASSERT_EQ(call.event.correlation >> 40, call.event.thread.index);
    ASSERT_EQ(call.event.correlation & 0xffffffffff, ++next[call.event.thread.index]);
    ASSERT_EQ(call.words.size(), 1u);
    ASSERT_EQ(call.words[0], next[call.event.thread.index] - 1);
  }
  EXPECT_EQ(next.size(), kThreads * kLives);
}

TEST_F(ReaderTest, TimesAreNanosecondsOfTheHostsClock) {
  Writer* writer = Open();
  ThreadLog* log = writer->Attach();
  HostAnchor before{};
  ReadHostClocks(&before);
  WriteCall(log, 1, before.now_tsc, ReadTsc());
  usleep(20000);
  HostAnchor after{};
  ReadHostClocks(&after);
  WriteCall(log, 2, after.now_tsc, ReadTsc());
  for (int i = 0; i < 3; ++i) {
    usleep(5000);
    writer->Maintain();
  }
  Collector seen;
  const auto read = Read(writer);
  EXPECT_TRUE(read->problems().empty());
  ASSERT_TRUE(read->Visit(seen).ok());
  const auto error = [](uint64_t ns, uint64_t should) {
    return std::abs(static_cast<double>(ns) - static_cast<double>(should));
  };
  EXPECT_LT(error(seen.calls[0].event.begin_ns, before.monotonic_ns), 20000);
  EXPECT_LT(error(seen.calls[1].event.begin_ns, after.monotonic_ns), 20000);
  EXPECT_LT(error(static_cast<uint64_t>(read->realtime_offset_ns()),
                  before.realtime_ns - before.monotonic_ns),
            1e6);
  EXPECT_EQ(read->first_ns(), seen.calls[0].event.begin_ns);
  EXPECT_EQ(read->last_ns(), seen.calls[1].event.end_ns);
}

TEST_F(ReaderTest, GpuTicksBecomeTheSameNanoseconds) {
  Writer* writer = Open();
  ThreadLog* log = writer->Attach();
  HostAnchor start{};
  ReadHostClocks(&start);
  const auto anchor = [&](uint64_t gpu, uint64_t system) {
    auto* record = log->Reserve<GpuAnchor>();
    record->gpu_ticks = gpu;
    record->system_ns = system;
    HostAnchor now{};
    ReadHostClocks(&now);
    record->now_tsc = now.now_tsc;
    log->Commit(record, 1);
    return now.monotonic_ns;
  };
  const uint64_t first = anchor(5000000, 777000000);
  usleep(30000);
  writer->Maintain();
  const uint64_t second = anchor(8000000, 807000000);
  writer->Maintain();
  const auto time = [&](uint64_t begin, uint64_t end) {
    auto* record = log->Reserve<KernelTime>();
    record->dispatch = 1;
    record->begin_ticks = begin;
    record->end_ticks = end;
    log->Commit(record, 1, 0);
  };
  time(5000000, 6500000);
  time(0, 0);
  auto* copy = log->Reserve<CopyTime>();
  copy->copy = 1;
  copy->begin_ticks = 777000000;
  copy->end_ticks = 792000000;
  log->Commit(copy, kSystemClock);

  const auto read = Read(writer);
  EXPECT_TRUE(read->problems().empty()) << read->problems()[0];
  Collector seen;
  ASSERT_TRUE(read->Visit(seen).ok());
  ASSERT_EQ(seen.times.size(), 2u);
  const auto near = [](uint64_t a, uint64_t b) { return (a > b ? a - b : b - a) < 20000; };
  EXPECT_TRUE(near(seen.times[0].first, first));
  EXPECT_TRUE(near(seen.times[0].second, (first + second) / 2));
  EXPECT_EQ(seen.times[1], (std::pair<uint64_t, uint64_t>(0, 0)));
  ASSERT_EQ(seen.copy_times.size(), 1u);
  EXPECT_TRUE(near(seen.copy_times[0].first, first));
  EXPECT_TRUE(near(seen.copy_times[0].second, (first + second) / 2));
}

TEST_F(ReaderTest, ATimedAgentWithoutAnchorsIsAProblem) {
  Writer* writer = Open();
  ThreadLog* log = writer->Attach();
  auto* record = log->Reserve<KernelTime>();
  record->dispatch = 1;
  record->begin_ticks = 5;
  record->end_ticks = 6;
  log->Commit(record, 3);
  const auto read = Read(writer);
  ASSERT_EQ(read->problems().size(), 1u);
  EXPECT_NE(read->problems()[0].find("agent 3"), std::string::npos);
}

TEST_F(ReaderTest, KnowsWhatTheProcessWas) {
  Writer* writer = Open();
  writer->WriteText("info",
                    "pid=12\nexe=/bin/x\ncommand=x a=b\nagent=0,0,cpu,CPU,Some, CPU,\n"
                    "agent=1,2,gpu,gfx942,AMD Instinct MI300X,GPU-1234\n");
  writer->WriteText("functions",
                    "1\thip\thipMalloc\ti32\tptr:ptr,size:u64\n2\thsa\thsa_init\ti32\t\n");
  ThreadLog* log = writer->Attach();
  auto* symbol = log->Reserve<KernelSymbol>();
  symbol->kernel_object = 0x1000;
  symbol->name = writer->Intern("_Z3addPf");
  symbol->code_object = 1;
  symbol->kernarg_bytes = 8;
  log->Commit(symbol, 1, 4);
  auto* queue = log->Reserve<Queue>();
  queue->hsa_id = 3;
  queue->packets = 1024;
  queue->now_tsc = ReadTsc();
  log->Commit(queue, 1, 2);
  log->OpenCall(1, ReadTsc(), log->NextCorrelation());
  log->OpenCall(2, ReadTsc(), log->NextCorrelation());
  WriteCall(log, log->NextCorrelation() - 1, 5, 6);  // returned, but not closed yet

  const auto read = Read(writer);
  EXPECT_EQ(read->pid(), static_cast<uint32_t>(getpid()));
  EXPECT_EQ(read->Info("command"), "x a=b");
  EXPECT_EQ(read->Info("none"), "");
  ASSERT_EQ(read->agents().size(), 2u);
  EXPECT_FALSE(read->agents()[0].gpu);
  EXPECT_EQ(read->agents()[0].product, "Some, CPU");
  EXPECT_TRUE(read->agents()[1].gpu);
  EXPECT_EQ(read->agents()[1].name, "gfx942");
  EXPECT_EQ(read->agents()[1].uuid, "GPU-1234");
  ASSERT_NE(read->FindFunction(1), nullptr);
  EXPECT_EQ(read->FindFunction(1)->name, "hipMalloc");
  EXPECT_EQ(read->FindFunction(1)->result_type, "i32");
  ASSERT_EQ(read->FindFunction(1)->arguments.size(), 2u);
  EXPECT_EQ(read->FindFunction(1)->arguments[1].name, "size");
  EXPECT_EQ(read->FindFunction(1)->arguments[1].word, 1u);
  EXPECT_EQ(read->FindFunction(3), nullptr);
  EXPECT_EQ(read->String(read->kernels().at(4).name), "_Z3addPf");
  EXPECT_EQ(read->String(1), std::nullopt);
  EXPECT_EQ(read->queues().at(2).packets, 1024u);
  ASSERT_EQ(read->open_calls().size(), 1u);
  EXPECT_EQ(read->open_calls()[0].function, 1);
  EXPECT_EQ(read->open_calls()[0].tid, static_cast<uint32_t>(gettid()));
  EXPECT_TRUE(read->running());
  EXPECT_FALSE(read->finished());
  writer->Finish();
  EXPECT_FALSE(Read(writer)->running());
  EXPECT_TRUE(Read(writer)->finished());
}

TEST_F(ReaderTest, ARunHasAProcessForEachFolder) {
  Writer* first = Open();
  WriteCall(first->Attach(), 1, ReadTsc(), ReadTsc());
  Writer* second = Open();
  WriteCall(second->Attach(), 1, ReadTsc(), ReadTsc());
  fs::create_directory(fs::path(run_) / "process-1-1");  // killed before its first segment
  auto run = RunLog::Open(run_);
  ASSERT_TRUE(run.ok());
  ASSERT_EQ(run.value().processes().size(), 2u);
  EXPECT_EQ(run.value().processes()[0]->folder(), first->process_directory());
  ASSERT_EQ(run.value().problems().size(), 1u);

  auto single = RunLog::Open(second->process_directory());
  ASSERT_TRUE(single.ok());
  EXPECT_EQ(single.value().processes().size(), 1u);
  EXPECT_FALSE(RunLog::Open(dir_.path() / "none").ok());
  EXPECT_FALSE(RunLog::Open(dir_.path()).ok());
}

TEST_F(ReaderTest, ReadsALogThatIsBeingWrittenAndRecycled) {
  Writer* writer = Open({.max_bytes = 512 * 1024, .recycle = true});
  std::atomic<bool> stop{false};
  std::thread work([&] {
    ThreadLog* log = writer->Attach();
    for (uint64_t i = 0; !stop; ++i) {
      if (auto* call = log->Reserve<ApiCall>()) {
        call->correlation = log->NextCorrelation();
        call->begin_tsc = call->correlation * 3;
        call->end_tsc = call->correlation * 5;
        log->Commit(call, 1);
      }
      if (i % 500 == 0) writer->Maintain();
    }
  });
  for (int i = 0; i < 100; ++i) {
    const auto read = Read(writer);
    EXPECT_TRUE(read->problems().empty()) << read->problems()[0];
    uint64_t last = 0;
    read->ForEachRecord([&](const Thread&, const Head& head, const char* record) {
      if (head.kind != Kind::kApiCall) return true;
      ApiCall call;
      memcpy(&call, record, sizeof call);
      EXPECT_EQ(call.begin_tsc, call.correlation * 3);
      EXPECT_EQ(call.end_tsc, call.correlation * 5);
      EXPECT_GT(call.correlation, last);
      last = call.correlation;
      return !testing::Test::HasFailure();
    });
    if (HasFailure()) break;
  }
  stop = true;
  work.join();
}

TEST_F(ReaderTest, UnknownKindsAreSteppedOver) {
  Writer* writer = Open();
  ThreadLog* log = writer->Attach();
  WriteCall(log, 1, 2, 3);
  // A record of a later version: three units of a kind that is not known here.
  char* strange = nullptr;
  for (int i = 0; i < 3; ++i) {
    char* place = reinterpret_cast<char*>(log->Reserve<ApiCall>());
    if (i == 0) strange = place;
    WriteCall(log, 9, 9, 9);
  }
  const Head head{static_cast<Kind>(200), 3, 0, 0};
  memcpy(strange, &head, sizeof head);
  WriteCall(log, 2, 2, 3);
  const auto read = Read(writer);
  EXPECT_TRUE(read->problems().empty());
  EXPECT_EQ(read->counts()[0], 1u);
  Collector seen;
  ASSERT_TRUE(read->Visit(seen).ok());
  EXPECT_EQ(seen.calls.size(), 2u);
}

TEST_F(ReaderTest, DamagedFilesAreToldAndNeverCrash) {
  Writer* writer = Open({.chunk_bytes = 4096});
  ThreadLog* log = writer->Attach();
  for (uint64_t i = 0; i < 400; ++i) {
    WriteArguments(log, i, 0, {1, 2});
    WriteText(log, i, 1, "some text");
    WriteCall(log, i, i, i);
    log->OpenCall(1, 1, i);
    writer->Intern("string " + std::to_string(i));
    writer->Maintain();
  }
  writer->Finish();
  const fs::path whole = writer->process_directory();
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(whole)) {
    files[entry.path().filename()] = base::ReadFile(entry.path()).value();
  }
  std::mt19937 random(3);
  int told = 0;
  for (int round = 0; round < 300; ++round) {
    const fs::path copy = dir_.path() / ("process-1-" + std::to_string(round));
    fs::create_directory(copy);
    for (auto [name, bytes] : files) {
      if (bytes.empty()) bytes = "1\thip\tf\ti32\t\n";
      for (int i = 0; i < 20; ++i) {
        // Mostly where something is.
        const size_t at = random() % std::min<size_t>(bytes.size(), i % 2 == 0 ? 40000 : 600);
        bytes[at] = static_cast<char>(random());
      }
      if (round % 3 == 0) bytes.resize(random() % bytes.size());
      ASSERT_TRUE(base::WriteFile(copy / name, bytes).ok());
    }
    auto read = ProcessLog::Open(copy);
    if (!read.ok()) {
      ++told;
      continue;
    }
    told += !read.value()->problems().empty();
    Collector seen;
    (void)read.value()->Visit(seen);
    read.value()->ForEachRecord([&](const Thread&, const Head&, const char*) { return true; });
    for (uint32_t id = 0; id < 1000; ++id) (void)read.value()->String(id);
    fs::remove_all(copy);
  }
  EXPECT_GT(told, 250);
}

// More chunks than 32 bits can count, of which none was ever made.
TEST_F(ReaderTest, AFileThatIsOnlyCalledLongIsReadAtOnce) {
  Writer* writer = Open({.chunk_bytes = 4096});
  ThreadLog* log = writer->Attach();
  for (uint64_t i = 0; i < 100; ++i) WriteCall(log, i, i, i);
  writer->Finish();
  const auto memory = base::TempDir::Create("/dev/shm", "rochound-reader-");
  if (!memory.ok()) GTEST_SKIP() << "/dev/shm is needed, which can have such a file";
  const fs::path copy = memory.value().path() / "process-1-1";
  fs::copy(writer->process_directory(), copy);
  std::error_code error;
  fs::resize_file(copy / "segment-000000", uint64_t{1} << 46, error);
  ASSERT_FALSE(error) << error.message();
  const auto read = ProcessLog::Open(copy);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value()->counts()[static_cast<size_t>(Kind::kApiCall)], 100u);
  ASSERT_FALSE(read.value()->problems().empty());
  EXPECT_NE(read.value()->problems().front().find("longer than a segment can be"),
            std::string::npos);
}

TEST_F(ReaderTest, ATruncatedFileGivesWhatIsThere) {
  Writer* writer = Open({.chunk_bytes = 4096});
  ThreadLog* log = writer->Attach();
  for (uint64_t i = 0; i < 100; ++i) WriteCall(log, i, i, i);
  const fs::path path = fs::path(writer->process_directory()) / "segment-000000";
  // Two chunks: the writer's own anchors, then the thread's.
  fs::resize_file(path, kSegmentHeaderBytes + 4096 + 64 + 32 + 32 * 50 + 10);
  const auto read = Read(writer);
  EXPECT_EQ(read->counts()[static_cast<size_t>(Kind::kApiCall)], 50u);
  ASSERT_EQ(read->problems().size(), 1u);
  EXPECT_NE(read->problems()[0].find("ends within a chunk"), std::string::npos);
}

}  // namespace
}  // namespace rochound::trace
