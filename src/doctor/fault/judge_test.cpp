// SPDX-License-Identifier: MIT
//
// What is concluded from a record: each test is a record in which one thing decides.
#include "doctor/fault/judge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace rochound::doctor {
namespace {

constexpr uint64_t kPage = 0x7000'0010'0000;
constexpr uint64_t kPageBytes = 4096;

bool Mentions(const std::vector<std::string>& lines, std::string_view text) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(text) != line.npos; });
}

class JudgeTest : public testing::Test {
 protected:
  JudgeTest() {
    record_.agent = 0;
    record_.address = kPage;
    record_.agents = {{"gfx1030", "amdgcn-amd-amdhsa--gfx1030", true, "", ""},
                      {"gfx1030", "amdgcn-amd-amdhsa--gfx1030", true, "", ""}};
    record_.queues.reserve(8);  // references stay good
  }

  FaultQueue& Queue(int agent = 0) {
    FaultQueue& queue = record_.queues.emplace_back();
    queue.index = static_cast<uint32_t>(record_.queues.size());
    queue.agent = agent;
    queue.under_way.reserve(4);
    return queue;
  }

  // A kernel whose code is known and touches nothing.
  static FaultDispatch& Kernel(FaultQueue& queue, const std::string& name,
                               const std::vector<const char*>& code = {"s_endpgm"}) {
    FaultDispatch& dispatch = queue.under_way.emplace_back();
    dispatch.kernel = dispatch.readable = name;
    dispatch.kernarg = 0x7300'0000'0000;
    for (const char* text : code) {
      codeobj::Instruction& instruction = dispatch.code.emplace_back();
      instruction.address = 8 * (dispatch.code.size() - 1);
      instruction.text = text;
    }
    dispatch.reach.complete = true;
    return dispatch;
  }

  static uint64_t Argument(FaultDispatch& dispatch, uint64_t value) {
    const auto index = static_cast<int>(dispatch.arguments.size());
    const uint64_t offset = 8 * dispatch.arguments.size();
    dispatch.arguments.push_back({index, offset, "argument " + std::to_string(index), value, true});
    dispatch.reach.origins.push_back({.offset = offset});
    return uint64_t{1} << (dispatch.reach.origins.size() - 1);
  }

  // It writes, from the pointer, to anything between these; or, without them, to any address.
  static Access& Writes(FaultDispatch& dispatch, uint64_t pointer, uint64_t first = 0,
                        uint64_t last = 0) {
    return dispatch.reach.accesses.emplace_back(Access{.kind = Access::Kind::kWrite,
                                                       .bytes = 4,
                                                       .bounded = last != 0,
                                                       .first = first,
                                                       .last = last,
                                                       .origins = Argument(dispatch, pointer)});
  }
  static Access& WritesThePage(FaultDispatch& dispatch) {
    return Writes(dispatch, kPage, kPage, kPage + 255);
  }

  void Live(uint64_t base, uint64_t size, const char* kind = "device") {
    record_.live.push_back({.base = base, .size = size, .kind = kind});
  }

  FaultRecord record_;
};

// --- a page that is not there

TEST_F(JudgeTest, AKernelThatHadNotStartedDidNotDoIt) {
  FaultQueue& queue = Queue();
  WritesThePage(Kernel(queue, "First"));
  WritesThePage(Kernel(queue, "Second"));
  queue.under_way[1].started = false;
  const FaultExplanation explained = ExplainMemoryFault(record_);
  EXPECT_EQ(explained.kernel, "First");
  EXPECT_TRUE(explained.kernel_sure);
  ASSERT_EQ(explained.cleared.size(), 1u);
  EXPECT_EQ(explained.cleared[0], "Second had not started: it is after First on the same queue");
}

TEST_F(JudgeTest, AKernelOfAnotherGpuDidNotDoIt) {
  WritesThePage(Kernel(Queue(1), "Elsewhere"));
  WritesThePage(Kernel(Queue(0), "Here"));
  const FaultExplanation explained = ExplainMemoryFault(record_);
  EXPECT_EQ(explained.kernel, "Here");
  EXPECT_EQ(explained.suspects.size(), 1u);
}

TEST_F(JudgeTest, AKernelThatCannotReachThePageDidNotDoIt) {
  Kernel(Queue(), "Harmless");
  WritesThePage(Kernel(Queue(), "Guilty"));
  const FaultExplanation explained = ExplainMemoryFault(record_);
  EXPECT_EQ(explained.kernel, "Guilty");
  EXPECT_TRUE(explained.kernel_sure);
  EXPECT_TRUE(Mentions(explained.cleared, "Harmless cannot reach the page"));
}

TEST_F(JudgeTest, WhereNobodyCanHaveDoneItNothingIsSure) {
  Kernel(Queue(), "Harmless");
  const FaultExplanation explained = ExplainMemoryFault(record_);
  EXPECT_EQ(explained.suspects.size(), 1u);
  EXPECT_FALSE(explained.kernel_sure);
  EXPECT_FALSE(explained.sure);
}

TEST_F(JudgeTest, TheLikeliestIsFirst) {
  Writes(Kernel(Queue(), "Anywhere"), 0x6000'0000'0000);
  // A range so wide says little about a page in it.
  Writes(Kernel(Queue(), "Wide"), 0x6000'0000'0000, kPage - (1ull << 33), kPage + (1ull << 33));
  WritesThePage(Kernel(Queue(), "There"));
  const FaultExplanation explained = ExplainMemoryFault(record_);
  EXPECT_EQ(explained.kernel, "There");
  ASSERT_EQ(explained.suspects.size(), 3u);
  EXPECT_GT(explained.suspects[0].odds, 0.8);
  EXPECT_EQ(explained.suspects[1].odds, explained.suspects[2].odds);
  EXPECT_FALSE(explained.kernel_sure);
}

TEST_F(JudgeTest, OfReadOnlyMemoryItIsAWrite) {
  record_.reasons = {"read only"};
  Live(kPage - 0x1000, 0x10000);
  WritesThePage(Kernel(Queue(), "Reads")).kind = Access::Kind::kRead;
  WritesThePage(Kernel(Queue(), "Writes"));
  const FaultExplanation explained = ExplainMemoryFault(record_);
  EXPECT_EQ(explained.suspects.size(), 1u);
  EXPECT_EQ(explained.kernel, "Writes");
  EXPECT_NE(explained.headline.find("mapped read-only"), std::string::npos) << explained.headline;
}

TEST_F(JudgeTest, ItsOwnArgumentsMayBeOnThePage) {
  FaultDispatch& dispatch = Kernel(Queue(), "Guilty");
  WritesThePage(dispatch);
  dispatch.kernarg = kPage + kPageBytes;
  EXPECT_NE(ExplainMemoryFault(record_).cause, "bad_kernarg");
  dispatch.kernarg = kPage + kPageBytes - 8;
  EXPECT_EQ(ExplainMemoryFault(record_).cause, "bad_kernarg");
}

TEST_F(JudgeTest, ANullPointerIsNamed) {
  record_.address = 0;
  Writes(Kernel(Queue(), "Guilty"), 0, 0, 1020);
  const FaultExplanation explained = ExplainMemoryFault(record_);
  EXPECT_EQ(explained.cause, "null_pointer");
  EXPECT_TRUE(explained.sure);
  EXPECT_EQ(explained.headline, "argument 0 of Guilty is a null pointer");
}

TEST_F(JudgeTest, MemoryThatWasFreedIsNamed) {
  FaultMemory& freed = record_.freed.emplace_back();
  freed.base = kPage;
  freed.size = 0x2000;
  freed.kind = "device";
  freed.freed_by = 7;
  freed.freed_ns = 1'000'000'000;
  record_.when_ns = 1'001'500'000;
  Writes(Kernel(Queue(), "Guilty"), kPage);
  const FaultExplanation explained = ExplainMemoryFault(record_);
  EXPECT_EQ(explained.cause, "use_after_free");
  EXPECT_EQ(explained.argument, 0);
  EXPECT_TRUE(explained.sure);
  EXPECT_TRUE(Mentions(explained.evidence, "freed by thread 7, 1.500 ms before the fault"));
}

TEST_F(JudgeTest, MemoryThatIsThereMayNotBeTouched) {
  Live(kPage - 0x1000, 0x10000);
  WritesThePage(Kernel(Queue(), "Guilty"));
  EXPECT_EQ(ExplainMemoryFault(record_).cause, "no_access");
  for (const char* kind : {"locked", "managed"}) {
    record_.live[0].kind = kind;
    EXPECT_EQ(ExplainMemoryFault(record_).cause, "host_memory") << kind;
  }
}

// The kernel can compute any address: how far the page is from the memory decides.
TEST_F(JudgeTest, OutOfBoundsIsSureNextToTheMemoryOnly) {
  Writes(Kernel(Queue(), "Guilty"), 0);
  const auto explain = [&](uint64_t base, uint64_t size) {
    record_.live.clear();
    Live(base, size);
    record_.queues[0].under_way[0].arguments[0].value = base;
    return ExplainMemoryFault(record_);
  };
  const FaultExplanation past = explain(kPage - 0x4000, 0x4000);
  EXPECT_EQ(past.cause, "out_of_bounds");
  EXPECT_TRUE(past.sure);
  EXPECT_NE(past.headline.find("just past the end"), std::string::npos) << past.headline;
  const FaultExplanation before = explain(kPage + kPageBytes, 0x4000);
  EXPECT_TRUE(before.sure);
  EXPECT_NE(before.headline.find("just before the start"), std::string::npos) << before.headline;
  const FaultExplanation far = explain(kPage - 0x400000, 0x4000);
  EXPECT_EQ(far.cause, "out_of_bounds");
  EXPECT_FALSE(far.sure);
  EXPECT_NE(far.headline.find("4.0 MiB past the end"), std::string::npos) << far.headline;
}

TEST_F(JudgeTest, HostMemoryIsToldFromWhatIsOnlyReserved) {
  WritesThePage(Kernel(Queue(), "Guilty"));
  record_.maps = "700000000000-700000200000 rw-p 00000000 00:00 0 [heap]\n";
  const FaultExplanation heap = ExplainMemoryFault(record_);
  EXPECT_EQ(heap.cause, "host_memory");
  EXPECT_NE(heap.headline.find("([heap])"), std::string::npos) << heap.headline;
  record_.maps = "700000000000-700000200000 ---p 00000000 00:00 0 \n";
  EXPECT_EQ(ExplainMemoryFault(record_).cause, "bad_pointer");
}

TEST_F(JudgeTest, AnIndexThatLeadsThereIsTold) {
  constexpr std::string_view kLeads = "so many elements of 4 bytes lead there";
  FaultDispatch& dispatch = Kernel(Queue(), "Guilty");
  Writes(dispatch, kPage - 4 * 5000);
  Live(kPage - 4 * 5000, 0x1000);
  dispatch.numbers = {{.index = 1, .name = "argument 1 (n)", .value = 5000}};
  const FaultExplanation explained = ExplainMemoryFault(record_);
  EXPECT_TRUE(Mentions(explained.evidence, "argument 1 (n) is 5000"));
  EXPECT_TRUE(Mentions(explained.evidence, kLeads));
  EXPECT_TRUE(explained.sure);
  // A small number leads next to any pointer, and says nothing.
  dispatch.arguments[0].value = kPage - 4 * 100;
  dispatch.numbers[0].value = 100;
  EXPECT_FALSE(Mentions(ExplainMemoryFault(record_).evidence, kLeads));
}

TEST_F(JudgeTest, AnIndexInMemoryMayBeNegative) {
  constexpr uint64_t kIndices = 0x7100'0000'0000;
  FaultDispatch& dispatch = Kernel(Queue(), "Guilty");
  Access& access = Writes(dispatch, kPage + 4 * 5000);
  Live(kPage + 4 * 5000, 0x1000);
  dispatch.reach.origins.push_back({.kind = Origin::Kind::kMemory,
                                    .exact = true,
                                    .first = kIndices,
                                    .last = kIndices + 3,
                                    .bytes = 4});
  access.origins |= 2;
  const int32_t index = -5000;
  record_.saved.Add(kIndices, std::string(reinterpret_cast<const char*>(&index), sizeof index));
  EXPECT_TRUE(Mentions(ExplainMemoryFault(record_).evidence,
                       "the index -5000 at 0x710000000000 leads there with elements of 4 bytes"));
}

TEST_F(JudgeTest, OfTwoPointersTheCloserOneIsNamed) {
  for (const int closer : {0, 1}) {
    record_.queues.clear();
    FaultDispatch& dispatch = Kernel(Queue(), "Guilty");
    Access& access = WritesThePage(dispatch);
    access.origins |= Argument(dispatch, 0);
    dispatch.arguments[static_cast<size_t>(closer)].value = kPage + 0x10'0000;
    dispatch.arguments[static_cast<size_t>(1 - closer)].value = 0x6000'0000'0000;
    EXPECT_EQ(ExplainMemoryFault(record_).argument, closer);
  }
}

// --- a queue that failed

TEST_F(JudgeTest, KernelsOfTheQueueThatFailedAreSuspects) {
  record_.status = "HSA_STATUS_ERROR_EXCEPTION";
  Kernel(Queue(), "Beside");
  FaultQueue& queue = Queue();
  queue.failed = true;
  Kernel(queue, "Guilty", {"s_nop 0", "s_trap 2", "s_endpgm"});
  const FaultExplanation explained = ExplainQueueError(record_);
  EXPECT_EQ(explained.cause, "trap");
  EXPECT_EQ(explained.kernel, "Guilty");
  EXPECT_EQ(explained.suspects.size(), 1u);
  EXPECT_TRUE(explained.kernel_sure);
  EXPECT_TRUE(Mentions(explained.place.code, "-> 0x8: s_trap 2"));
  // Another one on that queue may have been it.
  Kernel(queue, "Other");
  const FaultExplanation doubtful = ExplainQueueError(record_);
  EXPECT_EQ(doubtful.suspects.size(), 2u);
  EXPECT_FALSE(doubtful.kernel_sure);
  EXPECT_FALSE(doubtful.sure);
}

TEST_F(JudgeTest, PaddingIsNoIllegalInstruction) {
  record_.status = "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION";
  FaultQueue& queue = Queue();
  queue.failed = true;
  FaultDispatch& dispatch = Kernel(queue, "Guilty", {"s_endpgm", ".long 0xbf9f0000"});
  EXPECT_EQ(ExplainQueueError(record_).cause, "illegal_instruction");
  EXPECT_FALSE(Mentions(ExplainQueueError(record_).evidence, "words that are no instructions"));
  dispatch.code[1].text = ".long 0x12345678";
  EXPECT_TRUE(Mentions(ExplainQueueError(record_).evidence, "words that are no instructions"));
}

TEST_F(JudgeTest, CodeForAnotherGpuIsTheReason) {
  record_.status = "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION";
  FaultQueue& queue = Queue();
  queue.failed = true;
  FaultDispatch& dispatch = Kernel(queue, "Guilty");
  dispatch.target = "gfx906";
  EXPECT_EQ(ExplainQueueError(record_).headline,
            "Guilty is code for gfx906, and this GPU is a gfx1030");
  dispatch.target = "gfx1030";
  EXPECT_EQ(ExplainQueueError(record_).cause, "illegal_instruction");
  dispatch.target = "gfx10-3-generic";
  EXPECT_EQ(ExplainQueueError(record_).cause, "illegal_instruction");
  // The driver knows what the runtime was told to believe.
  dispatch.target = "gfx1030";
  record_.agents[0].real_target = "gfx1100";
  EXPECT_EQ(ExplainQueueError(record_).headline,
            "Guilty is code for gfx1030, and this GPU is a gfx1100");
}

TEST_F(JudgeTest, AnApertureIsThatOfWhatTheCodeUses) {
  record_.status = "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION";
  FaultQueue& queue = Queue();
  queue.failed = true;
  FaultDispatch& dispatch = Kernel(queue, "Guilty", {"ds_read_b32 v0, v1", "s_endpgm"});
  const FaultExplanation lds = ExplainQueueError(record_);
  EXPECT_NE(lds.headline.find("went outside its LDS (memory"), std::string::npos) << lds.headline;
  EXPECT_TRUE(lds.sure);
  // It exchanges values between lanes, and has no memory.
  dispatch.code[0].text = "ds_bpermute_b32 v0, v1, v2";
  const FaultExplanation none = ExplainQueueError(record_);
  EXPECT_NE(none.headline.find("neither LDS nor scratch"), std::string::npos) << none.headline;
  // Code for another GPU addresses LDS in another way.
  record_.environment = {{"HSA_OVERRIDE_GFX_VERSION", "10.3.0"}};
  record_.agents[0].real_target = "gfx1100";
  EXPECT_FALSE(ExplainQueueError(record_).sure);
}

// --- queues that come no further

class HangTest : public JudgeTest {
 protected:
  FaultQueue& Stuck(double seconds) {
    FaultQueue& queue = Queue();
    queue.front_seconds = seconds;
    return queue;
  }
  // A packet that waits for a signal, and completes one.
  static void Barrier(FaultQueue& queue, uint64_t waits_for, uint64_t completes) {
    FaultPacket& packet = queue.packets.emplace_back();
    packet.packet = queue.packets.size() - 1;
    packet.type = "barrier_and";
    packet.completion_signal = completes;
    packet.waits = {{.signal = waits_for, .value = 1, .wanted = 0, .condition = "=="}};
  }
};

TEST_F(HangTest, WorkOfLessThanASecondIsNoHang) {
  Kernel(Stuck(0.9), "Quick", {"s_branch 65534"}).code[0].target = 0;
  EXPECT_EQ(ExplainHang(record_).cause, "none");
  record_.queues[0].front_seconds = 1.1;
  const FaultExplanation explained = ExplainHang(record_);
  EXPECT_EQ(explained.cause, "hang");
  ASSERT_EQ(explained.waiting.size(), 1u);
  EXPECT_EQ(explained.waiting[0].waits_for, "endless_loop");
}

TEST_F(HangTest, QueuesThatWaitForEachOtherAreADeadlock) {
  Barrier(Stuck(5), 0x100, 0x200);
  Barrier(Stuck(6), 0x200, 0x100);
  const FaultExplanation explained = ExplainHang(record_);
  EXPECT_EQ(explained.cause, "hang");
  EXPECT_EQ(explained.headline, "queues 1 and 2 wait for each other, and none of them will go on");
  for (const FaultWait& wait : explained.waiting) EXPECT_TRUE(wait.deadlock) << wait.queue;
}

TEST_F(HangTest, WhatWaitsForAQueueThatGoesOnIsLate) {
  Barrier(Stuck(5), 0x100, 0);
  Kernel(Queue(), "Busy").completion_signal = 0x100;
  const FaultExplanation explained = ExplainHang(record_);
  EXPECT_EQ(explained.cause, "slow");
  ASSERT_EQ(explained.waiting.size(), 1u);
  EXPECT_FALSE(explained.waiting[0].hangs);
  EXPECT_FALSE(explained.waiting[0].deadlock);
}

TEST_F(HangTest, WhatWaitsForACopyIsLate) {
  Barrier(Stuck(5), 0x100, 0);
  EXPECT_EQ(ExplainHang(record_).cause, "hang") << "nobody completes it";
  record_.copy_signals = {0x100};
  const FaultExplanation explained = ExplainHang(record_);
  EXPECT_EQ(explained.cause, "slow");
  EXPECT_EQ(explained.waiting.at(0).waits_for, "copy");
}

// One that has not started is what it waits for; one that runs may write whenever it likes.
TEST_F(HangTest, AKernelThatWouldWriteTheMemory) {
  constexpr uint64_t kFlag = 0x7200'0000'0000;
  Argument(Kernel(Stuck(5), "__amd_rocclr_streamOpsWait"), kFlag);
  FaultQueue& other = Queue();
  Kernel(other, "Before");
  FaultDispatch& writer = Kernel(other, "Writer");
  Writes(writer, kFlag, kFlag, kFlag + 3);
  EXPECT_TRUE(Mentions(ExplainHang(record_).evidence, "Writer runs on queue 2 and can write"));
  EXPECT_EQ(ExplainHang(record_).cause, "slow");
  writer.started = false;
  EXPECT_TRUE(Mentions(ExplainHang(record_).evidence, "Writer would write that memory"));
  EXPECT_EQ(ExplainHang(record_).cause, "slow");
}

TEST_F(HangTest, AValueThatChangesIsNoHang) {
  FaultExplanation before;
  before.cause = "hang";
  FaultWait& wait = before.waiting.emplace_back();
  wait.waits_for = "memory";
  wait.hangs = true;
  wait.value = 3;
  FaultExplanation now = before;
  LookAgain(before, &now);
  EXPECT_EQ(now.cause, "hang");
  now.waiting[0].value = 4;
  LookAgain(before, &now);
  EXPECT_EQ(now.cause, "slow");
  EXPECT_FALSE(now.waiting[0].hangs);
  EXPECT_NE(now.headline.find("was 3 a moment ago and is 4 now"), std::string::npos);
}

TEST_F(HangTest, WhatHasHungLongestIsFirst) {
  Barrier(Stuck(5), 0x100, 0);
  Barrier(Stuck(9), 0x200, 0);
  Barrier(Stuck(7), 0x300, 0);
  const FaultExplanation explained = ExplainHang(record_);
  ASSERT_EQ(explained.waiting.size(), 3u);
  EXPECT_EQ(explained.waiting[0].queue, 2u);
  EXPECT_EQ(explained.waiting[2].queue, 1u);
}

// --- what is read

TEST(FaultPacket, WaitsForAllOrForOne) {
  const SignalWait holds{.signal = 1, .value = 0, .wanted = 0, .condition = "=="};
  const SignalWait waits{.signal = 2, .value = 1, .wanted = 0, .condition = "=="};
  EXPECT_FALSE((FaultPacket{.type = "barrier_and", .waits = {holds, holds}}.Waits()));
  EXPECT_TRUE((FaultPacket{.type = "barrier_and", .waits = {holds, waits}}.Waits()));
  EXPECT_FALSE((FaultPacket{.type = "barrier_or", .waits = {holds, waits}}.Waits()));
  EXPECT_TRUE((FaultPacket{.type = "barrier_or", .waits = {waits, waits}}.Waits()));
  EXPECT_FALSE(FaultPacket{}.Waits());
}

TEST(SignalWait, LooksAtTheBitsOfItsMask) {
  SignalWait wait{.signal = 1, .value = 0x1f, .wanted = 0xf, .mask = 0xf, .condition = "=="};
  EXPECT_TRUE(wait.Holds());
  wait.condition = "<";
  EXPECT_FALSE(wait.Holds());
  wait.condition = ">=";
  EXPECT_TRUE(wait.Holds());
  wait.value.reset();
  EXPECT_FALSE(wait.Holds()) << "it could not be read";
}

TEST(SavedMemory, HasWholeValuesOnly) {
  SavedMemory saved;
  saved.Add(0x1000, "12345678");
  uint64_t value = 0;
  EXPECT_TRUE(saved.Read(0x1000, &value, 8));
  EXPECT_TRUE(saved.Read(0x1004, &value, 4));
  EXPECT_FALSE(saved.Read(0x1004, &value, 8));
  EXPECT_FALSE(saved.Read(0xfff, &value, 1));
  EXPECT_FALSE(saved.Read(0x1008, &value, 1));
}

TEST(ReadFaultRecord, NothingStartsAfterABarrierThatWaits) {
  const auto folder = base::TempDir::Create(testing::TempDir(), "judge-").value();
  const auto file = folder.path() / "fault.json";
  const auto dispatch = [](int packet) {
    return R"({"packet": )" + std::to_string(packet) + R"(, "fetched": )" +
           (packet == 0 ? "false" : "true") +
           R"(, "kernel": "K", "kernarg": "0x0", "code_object": "", "grid": [1, 1, 1],
            "workgroup": [1, 1, 1], "group_bytes": 0, "private_bytes": 0, "kernarg_bytes": ""})";
  };
  ASSERT_TRUE(base::WriteFile(file, R"({"kind": "memory", "agent": 0, "address": "0x1000",
    "agents": [], "queues": [{"agent": 0, "failed": false, "under_way": [)" +
                                        dispatch(0) + "," + dispatch(1) + "," + dispatch(3) +
                                        R"(], "in_ring": [{"packet": 2, "type": "barrier_and",
      "completion_signal": "0x0", "waits": [{"signal": "0x100", "value": 1, "wanted": 0,
      "mask": -1, "condition": "=="}]}]}],
    "memory": {"live": [{"base": "0x9000", "size": 16, "kind": "device"},
                        {"base": "0x5000", "size": 16, "kind": "device"}], "freed": []}})")
                  .ok());
  const auto record = ReadFaultRecord(file);
  ASSERT_TRUE(record.ok()) << record.error().message;
  const auto& in_flight = record.value().queues.at(0).under_way;
  ASSERT_EQ(in_flight.size(), 3u);
  EXPECT_TRUE(in_flight[0].started) << "the GPU tells late that it took the oldest";
  EXPECT_TRUE(in_flight[1].started);
  EXPECT_FALSE(in_flight[2].started);
  ASSERT_EQ(record.value().live.size(), 2u);
  EXPECT_EQ(record.value().live[0].base, 0x5000u) << "sorted by address";
}

}  // namespace
}  // namespace rochound::doctor
