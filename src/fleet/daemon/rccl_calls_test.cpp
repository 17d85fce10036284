// SPDX-License-Identifier: MIT
#include "fleet/daemon/rccl_calls.h"

#include <gtest/gtest.h>

#include <set>

#include "base/files.h"

namespace rochound::fleet {
namespace {

constexpr const char* kFunctions =
    "801\trccl\tncclAllReduce\tenum\tsendbuff:ptr,recvbuff:ptr,count:u64,datatype:enum,op:enum,"
    "comm:ptr,stream:ptr\n"
    "802\trccl\tncclCommInitRank\tenum\tnewcomm:*ptr,nranks:i32,commId:struct128,myrank:i32\n"
    "803\trccl\tncclGroupStart\tenum\t\n"
    "804\trccl\tncclGroupEnd\tenum\t\n"
    "805\trccl\tncclSend\tenum\tsendbuff:ptr,count:u64,datatype:enum,peer:i32,comm:ptr,stream:ptr\n"
    "806\trccl\tncclAllToAll\tenum\tsendbuff:ptr,recvbuff:ptr,count:u64,datatype:enum,comm:ptr,"
    "stream:ptr\n"
    "807\trccl\tncclCommSplit\tenum\tcomm:ptr,color:i32,key:i32,newcomm:*ptr,config:ptr\n"
    "1001\thip\thipMalloc\tenum\tptr:*ptr,size:u64\n";

class RcclCallsTest : public testing::Test {
 protected:
  RcclCallsTest() : dir_(base::TempDir::Create(testing::TempDir(), "rochound-rccl-").value()) {
    EXPECT_TRUE(base::WriteFile(dir_.path() / "functions", kFunctions).ok());
    calls_ = std::make_unique<RcclCalls>(dir_.path());
  }

  // A call of thread 1 begins: its number. Words are written as the agent does.
  uint64_t Begin(const std::vector<uint64_t>& words) {
    const uint64_t correlation = uint64_t{1} << 40 | ++last_;
    Write(correlation, words);
    return correlation;
  }
  void Write(uint64_t correlation, const std::vector<uint64_t>& words) {
    for (size_t first = 0; first < words.size(); first += 6) {
      trace::ApiArguments record{};
      const size_t count = std::min<size_t>(6, words.size() - first);
      std::copy_n(words.begin() + static_cast<ptrdiff_t>(first), count, record.words);
      record.correlation = correlation;
      record.head = trace::HeadOf<trace::ApiArguments>(static_cast<uint16_t>(count),
                                                       static_cast<uint32_t>(first));
      calls_->OnRecord(record.head, reinterpret_cast<const char*>(&record));
    }
  }
  void End(uint16_t function, uint64_t correlation, uint64_t begin) {
    trace::ApiCall record{};
    record.begin_tsc = begin;
    record.end_tsc = ++now_;
    record.correlation = correlation;
    record.head = trace::HeadOf<trace::ApiCall>(function, 0);
    calls_->OnRecord(record.head, reinterpret_cast<const char*>(&record));
  }
  void Call(uint16_t function, const std::vector<uint64_t>& words, uint64_t kernel = 0) {
    const uint64_t begin = ++now_, correlation = Begin(words);
    if (kernel != 0) Dispatch(kernel);
    End(function, correlation, begin);
  }
  void Dispatch(uint64_t number) {
    trace::KernelDispatch record{};
    record.correlation = uint64_t{1} << 40 | ++last_;
    record.dispatch = number;
    record.submit_tsc = ++now_;
    record.head = trace::HeadOf<trace::KernelDispatch>();
    calls_->OnRecord(record.head, reinterpret_cast<const char*>(&record));
  }
  std::vector<uint64_t> InitWords(uint64_t handle) {
    std::vector<uint64_t> words = {0x1000, handle, 2};
    for (uint64_t i = 0; i < 16; ++i) words.push_back(i * 77);
    words.push_back(1);
    return words;
  }
  void Init() { Call(802, InitWords(0xc0)); }
  const RcclLineState& Line(RcclLine line = {}) {
    return calls_->communicators().at(0xc0).lines.at(line);
  }

  base::TempDir dir_;
  std::unique_ptr<RcclCalls> calls_;
  uint64_t last_ = 0, now_ = 100;
};

TEST_F(RcclCallsTest, CountsOperationsOfACommunicator) {
  Init();
  const RcclCommunicator& communicator = calls_->communicators().at(0xc0);
  EXPECT_EQ(communicator.ranks, 2);
  EXPECT_EQ(communicator.rank, 1);
  EXPECT_EQ(communicator.id.size(), 16u);
  Dispatch(5);  // before the call: not its own
  Call(801, {1, 2, 4096, 7, 0, 0xc0, 0}, 6);
  Call(1001, {1, 2, 3});
  Call(801, {1, 2, 100, 7, 2, 0xc0, 0}, 7);
  ASSERT_EQ(Line().calls, 2u);
  EXPECT_EQ(Line().recent[0].kernels, std::vector<uint64_t>{6});
  EXPECT_EQ(Line().recent[1].kernels, std::vector<uint64_t>{7});
  EXPECT_EQ(Line().recent[1].count, 100u);
  EXPECT_EQ(Line().recent[1].operation, 2);
}

TEST_F(RcclCallsTest, AGroupIsLaunchedAtItsEnd) {
  Init();
  Call(803, {});
  Call(805, {1, 64, 7, 0, 0xc0, 0});
  Call(801, {1, 2, 4096, 7, 0, 0xc0, 0});
  EXPECT_TRUE(Line().recent[0].kernels.empty());
  Call(804, {}, 9);
  EXPECT_EQ(Line().recent[0].kernels, std::vector<uint64_t>{9});
  EXPECT_EQ(Line({RcclLine::Kind::kSend, 0}).recent[0].kernels, std::vector<uint64_t>{9});
}

TEST_F(RcclCallsTest, WhatRcclCallsByItselfDoesNotCount) {
  Init();
  const uint64_t begin = ++now_, outer = Begin({1, 2, 64, 7, 0xc0, 0});
  Call(803, {});
  Call(805, {1, 64, 7, 0, 0xc0, 0});
  Call(804, {}, 11);
  End(806, outer, begin);
  const auto& lines = calls_->communicators().at(0xc0).lines;
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(Line().recent[0].function, "ncclAllToAll");
  EXPECT_EQ(Line().recent[0].kernels, std::vector<uint64_t>{11});
}

TEST_F(RcclCallsTest, ACallThatDoesNotReturnIsKnown) {
  const uint64_t init = Begin(InitWords(0));
  RcclCalls::Waiting waiting = calls_->Open(802, init).value_or(RcclCalls::Waiting{});
  EXPECT_EQ(waiting.ranks, 2);
  EXPECT_EQ(waiting.rank, 1);
  const std::string id = waiting.id;
  Write(init, InitWords(0xc0));
  End(802, init, ++now_);
  EXPECT_EQ(calls_->communicators().at(0xc0).id, id);
  Call(801, {1, 2, 4096, 7, 0, 0xc0, 0}, 6);
  const uint64_t reduce = Begin({1, 2, 4096, 7, 0, 0xc0, 0});
  waiting = calls_->Open(801, reduce).value_or(RcclCalls::Waiting{});
  EXPECT_EQ(waiting.communicator, 0xc0u);
  EXPECT_EQ(waiting.operation.number, 2u);
  EXPECT_FALSE(calls_->Open(1001, reduce));
}

TEST_F(RcclCallsTest, PartsOfACommunicatorHaveNamesOfTheirOwn) {
  Init();
  Call(807, {0xc0, 1, 5, 0x2000, 0xd0, 0});
  const auto& part = calls_->communicators().at(0xd0);
  EXPECT_EQ(part.parent, calls_->communicators().at(0xc0).id);
  EXPECT_EQ(part.id, part.parent + "/1.1");
  EXPECT_EQ(part.key, 5);
}

TEST_F(RcclCallsTest, PartsOfPartsHaveNamesOfBoundedLength) {
  Init();
  std::set<std::string> names;
  for (int depth = 0; depth < 1000; ++depth) {
    Call(807, {0xc0, 1, 5, 0x2000, 0xc0, 0});  // a program may give its part the same handle
    names.insert(calls_->communicators().at(0xc0).id);
    ASSERT_LE(names.rbegin()->size(), 256u);
  }
  EXPECT_EQ(names.size(), 1000u);
}

TEST_F(RcclCallsTest, ThreadsAreBoundedAndThoseGivenUpAreCounted) {
  for (uint64_t thread = 1; thread <= 5000; ++thread) {
    trace::KernelDispatch record{};
    record.correlation = thread << 40 | 1;
    record.head = trace::HeadOf<trace::KernelDispatch>();
    calls_->OnRecord(record.head, reinterpret_cast<const char*>(&record));
  }
  EXPECT_EQ(calls_->TakeGivenUp(), 0u) << "they are in no call";
  for (uint64_t thread = 1; thread <= 5000; ++thread) Write(thread << 40 | 2, {1});
  EXPECT_GT(calls_->TakeGivenUp(), 3000u);
  EXPECT_LE(calls_->Save().at("threads").size(), 1024u);
  EXPECT_TRUE(calls_->gave_up());
}

TEST_F(RcclCallsTest, GoesOnAfterAKill) {
  Init();
  Call(803, {});
  Call(801, {1, 2, 4096, 7, 0, 0xc0, 0});
  const uint64_t begin = ++now_, end = Begin({});
  Dispatch(9);
  const auto saved = calls_->Save();
  calls_ = std::make_unique<RcclCalls>(dir_.path());
  ASSERT_TRUE(calls_->Restore(saved));
  End(804, end, begin);
  EXPECT_EQ(Line().recent[0].kernels, std::vector<uint64_t>{9});
  EXPECT_EQ(calls_->Save().at("communicators").size(), 1u);
  EXPECT_FALSE(RcclCalls(dir_.path()).Restore(nlohmann::json::parse(R"({"threads": 1})")));
}

}  // namespace
}  // namespace rochound::fleet
