// SPDX-License-Identifier: MIT
#include "fleet/daemon/window.h"

#include <gtest/gtest.h>

#include <set>

#include "fleet/daemon/test_records.h"
#include "trace/reader.h"

namespace rochound::fleet {
namespace {

struct Collector : trace::Visitor {
  void OnDispatch(const trace::Event<trace::KernelDispatch>& event) override {
    dispatches.insert(trace::PacketOf(event.record.dispatch));
  }
  void OnKernelTime(const trace::Event<trace::KernelTime>& event) override {
    times.insert(trace::PacketOf(event.record.dispatch));
  }
  std::set<uint64_t> dispatches, times;
};

TEST(WindowTest, HoldsEveryRecordOfItsSpanAndOpensAsALog) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-window-");
  TestLog log(dir.value().path() / "run", {.chunk_bytes = 4096});
  log.Queue(1);
  log.Kernel(1, "kernel");
  log.Anchors(0);
  // One launch per millisecond, ten seconds long.
  for (uint64_t at = 0; at < 10000; ++at) {
    if (at % 1000 == 999) log.Anchors(at + 1);
    log.Dispatch(at, 1, at);
    log.Time(at, 100, at);
  }
  log.writer->Maintain();
  const auto second = [&](uint64_t number) { return log.base_realtime + number * 1000000000; };
  const auto to = dir.value().path() / "window" / log.folder().filename();
  const auto size = CopyWindow(log.folder(), second(4), second(6), to);
  ASSERT_TRUE(size.ok()) << size.error().message;
  EXPECT_EQ(size.value().complete_from_ns, 0u);
  const auto opened = trace::ProcessLog::Open(to);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_TRUE(opened.value()->problems().empty()) << opened.value()->problems().front();
  Collector seen;
  ASSERT_TRUE(opened.value()->Visit(seen).ok());
  for (uint64_t at = 4000; at <= 6000; ++at) {
    EXPECT_TRUE(seen.dispatches.contains(at)) << at;
    EXPECT_TRUE(seen.times.contains(at)) << at;
  }
  // And not much else.
  EXPECT_LT(seen.dispatches.size(), 3000u);
  ASSERT_EQ(opened.value()->kernels().size(), 1u);
  EXPECT_EQ(opened.value()->String(opened.value()->kernels().begin()->second.name), "kernel");
}

TEST(WindowTest, OfNoLogIsAnError) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-window-");
  EXPECT_FALSE(CopyWindow(dir.value().path() / "none", 0, 1, dir.value().path() / "to").ok());
}

}  // namespace
}  // namespace rochound::fleet
