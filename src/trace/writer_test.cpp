// SPDX-License-Identifier: MIT
//
// Writes logs and looks at the files with a few lines of its own, so that a mistake which writer
// and reader share does not go unseen.
#include "trace/writer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "trace/mapped_file.h"
#include "trace/tsc.h"

namespace rochound::trace {
namespace {

namespace fs = std::filesystem;

struct Seen {
  uint32_t thread;
  uint32_t tid;
  Head head;
  std::string bytes;

  template <typename T>
  T As() const {
    T record{};
    EXPECT_EQ(bytes.size(), sizeof(T));
    memcpy(static_cast<void*>(&record), bytes.data(), std::min(bytes.size(), sizeof(T)));
    return record;
  }
};

struct SeenChunk {
  ChunkHeader header;
  std::vector<Seen> records;
};

// Everything in a process's folder, chunks in the order they were taken.
struct SeenLog {
  std::vector<SeenChunk> chunks;
  std::vector<SegmentHeader> segments;

  std::vector<Seen> Of(Kind kind) const {
    std::vector<Seen> found;
    for (const SeenChunk& chunk : chunks) {
      for (const Seen& record : chunk.records) {
        if (record.head.kind == kind) found.push_back(record);
      }
    }
    return found;
  }
  uint64_t Dropped(DropReason reason) const {
    return segments.at(0).dropped[static_cast<size_t>(reason)];
  }
};

SeenLog Look(const fs::path& folder) {
  SeenLog log;
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("segment-")) {
      files[entry.path().filename()] = base::ReadFile(entry.path()).value();
    }
  }
  for (const auto& [name, bytes] : files) {
    SegmentHeader segment;
    memcpy(&segment, bytes.data(), sizeof segment);
    EXPECT_EQ(segment.magic, kSegmentMagic);
    log.segments.push_back(segment);
    for (size_t start = kSegmentHeaderBytes; start < bytes.size(); start += segment.chunk_bytes) {
      SeenChunk chunk;
      memcpy(&chunk.header, bytes.data() + start, sizeof chunk.header);
      if (chunk.header.state == ChunkState::kUnused) continue;
      EXPECT_EQ(chunk.header.magic, kChunkMagic);
      uint32_t thread = 0;
      uint32_t tid = 0;
      for (size_t at = start + sizeof(ChunkHeader); at < start + segment.chunk_bytes;) {
        Head head;
        memcpy(&head, bytes.data() + at, sizeof head);
        if (head.kind == Kind::kEnd) break;
        EXPECT_TRUE(head.units == 1 || head.units == 2);
        if (head.kind == Kind::kThreadHere) {
          thread = head.wide;
          memcpy(&tid, bytes.data() + at + offsetof(ThreadHere, tid), sizeof tid);
        }
        EXPECT_NE(thread, 0u) << "a chunk starts with a ThreadHere";
        chunk.records.push_back({thread, tid, head, bytes.substr(at, head.units * 32u)});
        at += head.units * 32u;
      }
      log.chunks.push_back(std::move(chunk));
    }
  }
  std::sort(log.chunks.begin(), log.chunks.end(),
            [](const SeenChunk& a, const SeenChunk& b) { return a.header.order < b.header.order; });
  return log;
}

bool WriteCall(ThreadLog* log, uint64_t begin) {
  auto* call = log->Reserve<ApiCall>();
  if (call == nullptr) return false;
  call->begin_tsc = begin;
  call->end_tsc = begin + 1;
  call->correlation = log->NextCorrelation();
  log->Commit(call, 7, 9);
  return true;
}

bool WriteDispatch(ThreadLog* log, uint64_t number) {
  auto* dispatch = log->Reserve<KernelDispatch>();
  if (dispatch == nullptr) return false;
  memset(static_cast<void*>(dispatch), 0, sizeof *dispatch);
  dispatch->dispatch = number;
  log->Commit(dispatch);
  return true;
}

// As many 32-byte records as a chunk takes after its header and its ThreadHere.
constexpr uint32_t Calls(uint32_t chunk_bytes) { return (chunk_bytes - 64) / 32 - 1; }

class WriterTest : public testing::Test {
 protected:
  WriterTest() : dir_(base::TempDir::Create(testing::TempDir(), "rochound-trace-").value()) {}

  Writer* Open(Writer::Options options = {}) {
    const std::string run = (dir_.path() / "run").string();
    options.directory = run;
    std::string error;
    Writer* writer = Writer::Open(options, &error);
    EXPECT_NE(writer, nullptr) << error;
    return writer;
  }

  fs::path Run() const { return dir_.path() / "run"; }

  base::TempDir dir_;
};

using WriterDeathTest = WriterTest;

TEST_F(WriterTest, WhatIsCommittedIsInTheFile) {
  Writer* writer = Open();
  ThreadLog* log = writer->Attach();
  ASSERT_NE(log, nullptr);
  for (uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(WriteCall(log, 1000 + i));
  ASSERT_NE(log->Reserve<ApiCall>(), nullptr);  // not committed: not there

  const SeenLog seen = Look(writer->process_directory());
  const auto calls = seen.Of(Kind::kApiCall);
  ASSERT_EQ(calls.size(), 100u);
  for (uint64_t i = 0; i < 100; ++i) {
    const auto call = calls[i].As<ApiCall>();
    EXPECT_EQ(call.begin_tsc, 1000 + i);
    EXPECT_EQ(call.correlation, (uint64_t{log->index()} << 40) + 1 + i);
    EXPECT_EQ(call.head.small, 7);
    EXPECT_EQ(call.head.wide, 9u);
    EXPECT_EQ(calls[i].thread, log->index());
    EXPECT_EQ(calls[i].tid, static_cast<uint32_t>(gettid()));
  }
  EXPECT_EQ(seen.segments.at(0).pid, static_cast<uint32_t>(getpid()));
  EXPECT_GE(seen.Of(Kind::kHostAnchor).size(), 1u);
  EXPECT_EQ(writer->dropped(), 0u);
}

TEST_F(WriterTest, FolderIsNamedByProcessAndIsNeverShared) {
  const std::string first = Open()->process_directory();
  const std::string second = Open()->process_directory();  // as after an exec
  EXPECT_EQ(fs::path(first).filename().string().find("process-" + std::to_string(getpid())), 0u);
  EXPECT_EQ(second, first + "-1");
}

TEST_F(WriterTest, ARecordThatDoesNotFitGoesToTheNextChunk) {
  Writer* writer = Open({.chunk_bytes = 4096});
  writer->Maintain();
  ThreadLog* log = writer->Attach();
  // One 32-byte record less than full: a 64-byte record does not fit any more.
  for (uint64_t i = 0; i + 1 < Calls(4096); ++i) ASSERT_TRUE(WriteCall(log, i));
  for (uint64_t i = 0; i < 200; ++i) ASSERT_TRUE(WriteDispatch(log, i));

  const SeenLog seen = Look(writer->process_directory());
  EXPECT_EQ(seen.Of(Kind::kApiCall).size(), Calls(4096) - 1);
  const auto dispatches = seen.Of(Kind::kKernelDispatch);
  ASSERT_EQ(dispatches.size(), 200u);
  for (uint64_t i = 0; i < 200; ++i) {
    EXPECT_EQ(dispatches[i].As<KernelDispatch>().dispatch, i);
  }
  uint32_t sequence = 0;
  for (const Seen& here : seen.Of(Kind::kThreadHere)) {
    if (here.thread == log->index()) {
      EXPECT_EQ(here.As<ThreadHere>().sequence, sequence++);
    }
  }
  EXPECT_EQ(sequence, 5u);
}

TEST_F(WriterTest, TheRestOfAnEndedThreadsChunkGoesToTheNextThread) {
  Writer* writer = Open();
  std::set<uint32_t> threads;
  for (int i = 0; i < 50; ++i) {
    std::thread([&] {
      ThreadLog* log = writer->Attach();
      threads.insert(log->index());
      log->OpenCall(3, 5, log->NextCorrelation());
      WriteCall(log, 1);
      writer->Detach(log);
    }).join();
  }
  const SeenLog seen = Look(writer->process_directory());
  EXPECT_EQ(threads.size(), 50u);
  std::set<uint32_t> found;
  const SeenChunk* shared = nullptr;
  for (const SeenChunk& chunk : seen.chunks) {
    for (const Seen& record : chunk.records) {
      if (record.head.kind != Kind::kApiCall) continue;
      EXPECT_EQ(record.As<ApiCall>().correlation >> 40, record.thread);
      found.insert(record.thread);
      if (shared == nullptr) shared = &chunk;
      EXPECT_EQ(shared, &chunk) << "all in one chunk";
    }
  }
  EXPECT_EQ(found, threads);
  ASSERT_NE(shared, nullptr);
  for (const OpenCallSlot& slot : shared->header.open_calls) EXPECT_EQ(slot.call, 0u);
}

TEST_F(WriterTest, OpenCallsAreInTheChunkAndMoveWithTheThread) {
  Writer* writer = Open({.chunk_bytes = 4096});
  ThreadLog* log = writer->Attach();
  const uint64_t outer = log->NextCorrelation();
  const uint64_t inner = log->NextCorrelation();
  log->OpenCall(11, 100, outer);
  for (uint64_t i = 0; i < Calls(4096) + 5; ++i) ASSERT_TRUE(WriteCall(log, i));
  log->OpenCall(12, 200, inner);

  const auto current = [&] {
    const SeenLog seen = Look(writer->process_directory());
    for (const SeenChunk& chunk : seen.chunks) {
      if (chunk.header.thread == log->index() && chunk.header.state == ChunkState::kWriting) {
        return chunk.header;
      }
    }
    ADD_FAILURE() << "no chunk is being written";
    return ChunkHeader{};
  };
  ChunkHeader header = current();
  EXPECT_EQ(header.open_calls[0].begin_tsc, 100u);
  EXPECT_EQ(header.open_calls[0].call, 11ull << 48 | (outer & 0xffffffffff));
  EXPECT_EQ(header.open_calls[1].begin_tsc, 200u);
  EXPECT_EQ(header.open_calls[1].call, 12ull << 48 | (inner & 0xffffffffff));
  EXPECT_EQ(header.open_calls[2].call, 0u);

  for (int i = 0; i < 4; ++i) log->OpenCall(13, 300, 1);  // deeper than is noted
  for (int i = 0; i < 4; ++i) log->CloseCall();
  log->CloseCall();
  header = current();
  EXPECT_NE(header.open_calls[0].call, 0u);
  EXPECT_EQ(header.open_calls[1].call, 0u);
  EXPECT_EQ(header.open_calls[2].call, 0u);
  log->CloseCall();
  log->CloseCall();  // one too many: harmless
  EXPECT_EQ(current().open_calls[0].call, 0u);
}

TEST_F(WriterTest, AFirstCallThatNeverReturnsIsNoted) {
  Writer* writer = Open();
  ThreadLog* log = writer->Attach();
  log->OpenCall(11, 100, log->NextCorrelation());
  const SeenLog seen = Look(writer->process_directory());
  EXPECT_EQ(seen.chunks.back().header.open_calls[0].begin_tsc, 100u);
}

TEST_F(WriterTest, WithoutAPreparedChunkRecordsAreDroppedAndCounted) {
  Writer* writer = Open({.chunk_bytes = 4096});  // nobody calls Maintain
  ThreadLog* log = writer->Attach();
  uint64_t written = 0;
  uint64_t lost = 0;
  for (int i = 0; i < 5000; ++i) (WriteCall(log, 1) ? written : lost) += 1;
  EXPECT_GT(written, 1000u);
  EXPECT_GT(lost, 100u);
  EXPECT_EQ(writer->dropped(), lost);
  EXPECT_TRUE(writer->hurry());

  writer->Maintain();
  EXPECT_FALSE(writer->hurry());
  EXPECT_TRUE(WriteCall(log, 2)) << "goes on when there is room again";
  writer->Maintain();
  const SeenLog seen = Look(writer->process_directory());
  EXPECT_EQ(seen.Of(Kind::kApiCall).size(), written + 1);
  EXPECT_EQ(seen.Dropped(DropReason::kNoChunk), lost);
  const auto dropped = seen.Of(Kind::kDropped);
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].As<Dropped>().records, lost);
  EXPECT_EQ(dropped[0].head.small, static_cast<uint16_t>(DropReason::kNoChunk));
}

TEST_F(WriterTest, AtTheLimitNewRecordsAreDropped) {
  Writer* writer = Open({.max_bytes = 1 << 20});
  ThreadLog* log = writer->Attach();
  for (int turn = 0; turn < 100; ++turn) {
    for (int i = 0; i < 1000; ++i) WriteCall(log, 1);
    writer->Maintain();
  }
  EXPECT_GT(writer->dropped(), 50000u);
  EXPECT_FALSE(writer->hurry()) << "there is nothing to hurry for";
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(writer->process_directory())) {
    if (entry.path().filename() != "strings") bytes += entry.file_size();
  }
  EXPECT_LE(bytes, 1u << 20);
  const SeenLog seen = Look(writer->process_directory());
  const uint64_t calls = seen.Of(Kind::kApiCall).size();
  EXPECT_EQ(calls + writer->dropped(), 100000u);
  EXPECT_GT(calls, 25000u) << "most of the limit is used";
}

TEST_F(WriterTest, RecyclingKeepsTheLatestRecordsAndWhatTheyReferTo) {
  Writer* writer = Open({.max_bytes = 1 << 20, .recycle = true});
  ThreadLog* log = writer->Attach();
  auto* symbol = log->Reserve<KernelSymbol>();
  symbol->kernel_object = 0x1234;
  symbol->name = 5;
  symbol->code_object = 6;
  symbol->kernarg_bytes = 7;
  log->Commit(symbol, 1, 2);
  auto* state = log->Reserve<StateChange>();
  state->now_tsc = 17;
  state->reason = state->reserved = 0;
  log->Commit(state, static_cast<uint16_t>(RecorderState::kRecording));
  constexpr uint64_t kTurns = 300;
  constexpr uint64_t kPerTurn = 1000;
  for (uint64_t turn = 0; turn < kTurns; ++turn) {
    for (uint64_t i = 0; i < kPerTurn; ++i) ASSERT_TRUE(WriteCall(log, turn * kPerTurn + i));
    writer->Maintain();
  }
  EXPECT_EQ(writer->dropped(), 0u);
  const SeenLog seen = Look(writer->process_directory());
  const auto calls = seen.Of(Kind::kApiCall);
  EXPECT_GT(calls.size(), 10000u);
  EXPECT_EQ(calls.back().As<ApiCall>().begin_tsc, kTurns * kPerTurn - 1);
  for (size_t i = 1; i < calls.size(); ++i) {
    ASSERT_EQ(calls[i].As<ApiCall>().begin_tsc, calls[i - 1].As<ApiCall>().begin_tsc + 1);
  }
  EXPECT_EQ(seen.Dropped(DropReason::kRecycled), kTurns * kPerTurn - calls.size());
  const auto symbols = seen.Of(Kind::kKernelSymbol);
  ASSERT_EQ(symbols.size(), 1u);
  EXPECT_EQ(symbols[0].As<KernelSymbol>().kernel_object, 0x1234u);
  EXPECT_EQ(symbols[0].As<KernelSymbol>().kernarg_bytes, 7u);
  EXPECT_EQ(symbols[0].head.wide, 2u);
  const auto states = seen.Of(Kind::kStateChange);
  ASSERT_EQ(states.size(), 1u);
  EXPECT_EQ(states[0].As<StateChange>().now_tsc, 17u);
  const std::string file =
      base::ReadFile(fs::path(writer->process_directory()) / "segment-000000").value();
  SegmentHeader header{};
  memcpy(static_cast<void*>(&header), file.data(), sizeof header);
  EXPECT_EQ(header.recycled_tsc, calls.front().As<ApiCall>().begin_tsc) << "the last one's end";
  EXPECT_GE(header.alive_tsc, header.created_tsc);
}

TEST_F(WriterTest, OldRecordsGoAfterTheTimeGivenAndTheirSpaceIsGivenBack) {
  Writer* writer = Open({.keep_ns = 1500000000});
  ThreadLog* log = writer->Attach();
  constexpr uint64_t kCalls = 300000;
  for (uint64_t i = 0; i < kCalls; ++i) {
    ASSERT_TRUE(WriteCall(log, i));
    if (i % 4096 == 0) writer->Maintain();
  }
  const auto blocks = [&] {
    uint64_t sum = 0;
    for (const auto& entry : fs::directory_iterator(writer->process_directory())) {
      struct stat status{};
      stat(entry.path().c_str(), &status);
      sum += static_cast<uint64_t>(status.st_blocks) * 512;
    }
    return sum;
  };
  const uint64_t before = blocks();
  EXPECT_EQ(Look(writer->process_directory()).Of(Kind::kApiCall).size(), kCalls);
  uint64_t calls = kCalls;
  for (int i = 0; i < 200 && (calls > 8192 || blocks() >= before); ++i) {
    usleep(100000);
    writer->Maintain();
    calls = Look(writer->process_directory()).Of(Kind::kApiCall).size();
  }
  EXPECT_LE(calls, 8192u) << "only the chunk that is being written";
  EXPECT_LT(blocks(), before);
  const SeenLog seen = Look(writer->process_directory());
  EXPECT_EQ(seen.Of(Kind::kApiCall).back().As<ApiCall>().begin_tsc, kCalls - 1);
  EXPECT_EQ(calls + seen.Dropped(DropReason::kRecycled), kCalls);
  EXPECT_TRUE(WriteCall(log, 1));
}

TEST_F(WriterTest, KeepsUpWithABurst) {
  Writer* writer = Open();
  std::atomic<bool> stop{false};
  std::thread drain([&] {
    while (!stop) {
      writer->Maintain();
      for (int i = 0; i < 10 && !writer->hurry(); ++i) usleep(1000);
    }
  });
  constexpr int kThreads = 2;
  constexpr uint64_t kPerThread = 300000;  // 10 MB each, at 50 MB/s
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      ThreadLog* log = writer->Attach();
      for (uint64_t i = 0; i < kPerThread; ++i) {
        WriteCall(log, i);
        if (i % 1600 == 0) usleep(1000);
      }
      writer->Detach(log);
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  drain.join();
  EXPECT_EQ(writer->dropped(), 0u);
  EXPECT_EQ(Look(writer->process_directory()).Of(Kind::kApiCall).size(), kThreads * kPerThread);
}

TEST_F(WriterTest, FinishGivesUnusedChunksBack) {
  Writer* writer = Open();
  writer->Maintain();
  ThreadLog* log = writer->Attach();
  WriteCall(log, 1);
  writer->Finish();
  EXPECT_TRUE(WriteCall(log, 2)) << "in the room it has";
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(writer->process_directory())) {
    struct stat status{};
    stat(entry.path().c_str(), &status);
    bytes += static_cast<uint64_t>(status.st_blocks) * 512;
  }
  EXPECT_LT(bytes, 600u * 1024);
  const SeenLog seen = Look(writer->process_directory());
  EXPECT_EQ(seen.Of(Kind::kApiCall).size(), 2u);
  EXPECT_NE(seen.segments.at(0).finished_tsc, 0u);
  while (WriteCall(log, 3)) {
  }
  EXPECT_EQ(writer->dropped(), 1u);
  writer->Maintain();
  writer->Finish();
}

TEST_F(WriterTest, InternGivesEqualStringsOneIdFromAllThreads) {
  Writer* writer = Open();
  constexpr int kThreads = 8;
  constexpr int kStrings = 20000;
  std::vector<std::vector<uint32_t>> ids(kThreads);
  std::vector<std::thread> threads;
  const auto text = [](int i) { return std::string(i % 100, 'x') + std::to_string(i); };
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ids[t].resize(kStrings);
      for (int i = 0; i < kStrings; ++i) {
        const int which = t % 2 == 0 ? i : kStrings - 1 - i;
        ids[t][which] = writer->Intern(text(which));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(ids[t], ids[0]);

  const std::string file =
      base::ReadFile(fs::path(writer->process_directory()) / "strings").value();
  std::map<uint32_t, std::string> found;
  for (size_t at = sizeof(StringsHeader); at < file.size();) {
    StringHead head;
    memcpy(&head, file.data() + at, sizeof head);
    if (head.kind == StringKind::kEnd) break;
    if (head.kind == StringKind::kString) {
      found[static_cast<uint32_t>(at / 8)] = file.substr(at + sizeof head, head.bytes);
    }
    at += (sizeof head + head.bytes + 7) / 8 * 8;
  }
  ASSERT_EQ(found.size(), static_cast<size_t>(kStrings));
  for (int i = 0; i < kStrings; ++i) ASSERT_EQ(found[ids[0][i]], text(i));

  EXPECT_NE(writer->Intern(""), 0u);
  const uint32_t longest = writer->Intern(std::string(1 << 20, 'y'));
  EXPECT_NE(longest, 0u);
  EXPECT_EQ(writer->Intern(std::string(2 << 20, 'y')), longest) << "cut at the same place";
}

TEST_F(WriterTest, TextFilesAreReplacedWhole) {
  Writer* writer = Open();
  EXPECT_TRUE(writer->WriteText("info", "pid=1\n"));
  EXPECT_TRUE(writer->WriteText("info", "pid=2\n"));
  EXPECT_EQ(base::ReadFile(fs::path(writer->process_directory()) / "info").value(), "pid=2\n");
  EXPECT_FALSE(writer->WriteText("no/such", "x"));
}

TEST_F(WriterTest, AForkedChildWritesNothingIntoItsParentsLog) {
  Writer* writer = Open({.chunk_bytes = 4096});
  writer->Maintain();
  ThreadLog* log = writer->Attach();
  ASSERT_TRUE(WriteCall(log, 1));
  log->OpenCall(5, 6, 7);
  const std::string run = Run().string();
  const pid_t child = fork();
  if (child == 0) {
    log->CloseCall();
    log->OpenCall(8, 8, 8);
    for (int i = 0; i < 1000; ++i) {
      if (WriteCall(log, 666)) _exit(1);
    }
    if (writer->Attach() != nullptr) _exit(2);
    if (writer->Intern("child") != 0) _exit(3);
    if (writer->WriteText("info", "child")) _exit(4);
    writer->CountDropped(DropReason::kNoSignal);
    writer->Maintain();
    writer->Finish();
    writer->Detach(log);
    Writer* own = Writer::Open({.directory = run}, nullptr);
    if (own == nullptr) _exit(5);
    ThreadLog* own_log = own->Attach();
    _exit(own_log != nullptr && WriteCall(own_log, 42) ? 0 : 6);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ASSERT_TRUE(WriteCall(log, 2));

  const SeenLog mine = Look(writer->process_directory());
  ASSERT_EQ(mine.Of(Kind::kApiCall).size(), 2u);
  EXPECT_EQ(mine.Of(Kind::kApiCall)[1].As<ApiCall>().begin_tsc, 2u);
  EXPECT_EQ(writer->dropped(), 0u);
  EXPECT_FALSE(fs::exists(fs::path(writer->process_directory()) / "info"));
  int folders = 0;
  for (const auto& entry : fs::directory_iterator(Run())) {
    ++folders;
    if (entry.path() == writer->process_directory()) continue;
    const SeenLog its = Look(entry.path());
    ASSERT_EQ(its.Of(Kind::kApiCall).size(), 1u);
    EXPECT_EQ(its.Of(Kind::kApiCall)[0].As<ApiCall>().begin_tsc, 42u);
    EXPECT_EQ(its.segments[0].pid, static_cast<uint32_t>(child));
  }
  EXPECT_EQ(folders, 2);
}

// In a child, so that a signal shows as its end: a file size limit is met like a full disk, plus
// SIGXFSZ, which ends a process that does not know it.
TEST_F(WriterTest, MemoryMadePrivateKeepsItsContentsAndLeavesTheFile) {
  fs::create_directory(Run());
  const fs::path path = Run() / "file";
  char* memory = ExtendAndMap(path.c_str(), 0, 8192);
  ASSERT_NE(memory, nullptr);
  memcpy(memory + 4096, "before", 6);
  ASSERT_TRUE(MakePrivate(memory, 8192));
  EXPECT_EQ(std::string_view(memory + 4096, 6), "before");
  memcpy(memory + 4096, "after.", 6);
  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(content.substr(4096, 6), "before");
  munmap(memory, 8192);
}

TEST_F(WriterTest, AFullDiskDropsRecordsAndRaisesNoSignal) {
  const std::string run = Run().string();
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{600 * 1024, 600 * 1024};
    setrlimit(RLIMIT_FSIZE, &limit);
    Writer* writer = Writer::Open({.directory = run}, nullptr);
    if (writer == nullptr) _exit(1);
    ThreadLog* log = writer->Attach();
    uint64_t written = 0;
    for (int i = 0; i < 400000; ++i) {
      written += WriteCall(log, 1);
      if (i % 1000 == 0) writer->Maintain();
    }
    if (written == 0 || writer->dropped() == 0) _exit(2);
    if (writer->dropped() + written != 400000) _exit(3);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(WriterTest, ATinyFileSystemDropsRecordsAndRaisesNoSignal) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting a tmpfs needs root";
  fs::create_directory(Run());
  if (mount("tmpfs", Run().c_str(), "tmpfs", 0, "size=3m") != 0) {
    GTEST_SKIP() << "no tmpfs can be mounted here: " << strerror(errno);
  }
  const std::string run = Run().string();
  const pid_t child = fork();
  if (child == 0) {
    Writer* writer = Writer::Open({.directory = run}, nullptr);
    if (writer == nullptr) _exit(1);
    ThreadLog* log = writer->Attach();
    uint64_t written = 0;
    for (int i = 0; i < 400000; ++i) {
      written += WriteCall(log, 1);
      if (i % 1000 == 0) {
        writer->Maintain();
        writer->Intern(std::string(50, 'x') + std::to_string(i));
      }
    }
    if (written < 32768 || writer->dropped() + written < 400000) _exit(2);
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  umount2(Run().c_str(), MNT_DETACH);
}

TEST_F(WriterTest, FailureToOpenLeavesNothingBehind) {
  std::string error;
  base::WriteFile(dir_.path() / "file", "x").ok();
  const std::string below_file = (dir_.path() / "file/run").string();
  EXPECT_EQ(Writer::Open({.directory = below_file}, &error), nullptr);
  EXPECT_NE(error.find("file/run"), std::string::npos) << error;
  EXPECT_EQ(Writer::Open({.directory = ""}, &error), nullptr);

  const std::string run = Run().string();
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{64 * 1024, 64 * 1024};  // too small for the strings file
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(Writer::Open({.directory = run}, nullptr) == nullptr ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_FALSE(fs::exists(Run()));
}

}  // namespace
}  // namespace rochound::trace
