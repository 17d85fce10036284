// SPDX-License-Identifier: MIT
#include "probe/machine_view.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace rochound::probe {
namespace {

class Recorder : public Receiver {
 public:
  void OnAccess(const AccessMessage& message) override {
    std::string text = fmt::format("{} {} {} {:x}:", message.site->action, message.space,
                                   message.site->bytes, message.mask);
    for (const uint64_t address : *message.addresses) text += fmt::format(" {:x}", address);
    seen.push_back(text);
  }
  std::vector<std::string> seen;
};

class MachineViewTest : public testing::Test {
 protected:
  Site SiteWith(std::vector<MachinePart> parts) {
    Site site;
    site.action = "load";
    site.bytes = 8;
    site.machine_known = true;
    site.machine = std::move(parts);
    return site;
  }

  void Send(const Site& site, uint64_t begun = 0) {
    view_.OnAccess(
        {&dispatch_, &dispatch_.kernel, {}, 0, 0, &site, "global", 0x6, &addresses_, begun});
  }

  Dispatch dispatch_;
  std::vector<uint64_t> addresses_ = {0x100, 0x108};
  Recorder recorder_;
  MachineView view_{&recorder_};
};

TEST_F(MachineViewTest, JoinedAccessesAreOne) {
  const Site first = SiteWith({{.instruction = "global_load_dwordx4", .bytes = 16}});
  const Site second = SiteWith({});
  Send(first);
  Send(second);
  EXPECT_EQ(recorder_.seen, (std::vector<std::string>{"load global 16 6: 100 108"}));
  EXPECT_EQ(view_.counts().joined, 1u);
}

TEST_F(MachineViewTest, WideOnesBecomeSeveral) {
  const Site site = SiteWith({{.bytes = 4}, {.offset = 4, .bytes = 4}});
  Send(site);
  EXPECT_EQ(recorder_.seen,
            (std::vector<std::string>{"load global 4 6: 100 108", "load global 4 6: 104 10c"}));
}

TEST_F(MachineViewTest, TheScalarUnitHasOneAddress) {
  addresses_ = {0x100, 0x100};
  const Site site = SiteWith({{.bytes = 8, .scalar = true}});
  Send(site);
  EXPECT_EQ(recorder_.seen, (std::vector<std::string>{"load scalar 8 0: 100"}));
}

TEST_F(MachineViewTest, OneLaneWorksForAll) {
  const Site site = SiteWith({{.bytes = 8, .one_lane = true}});
  Send(site);
  EXPECT_EQ(recorder_.seen, (std::vector<std::string>{"load global 8 2: 100"}));
}

TEST_F(MachineViewTest, WhatWasMovedOutOfALoopIsDoneOnce) {
  const Site site = SiteWith({{.bytes = 8, .once = true}});
  Send(site, 1);
  Send(site, 1);
  Send(site, 2);
  EXPECT_EQ(recorder_.seen.size(), 2u);
}

TEST_F(MachineViewTest, WhatIsNotMatchedStaysAndIsCounted) {
  Site site = SiteWith({});
  site.machine_known = false;
  Send(site);
  EXPECT_EQ(recorder_.seen, (std::vector<std::string>{"load global 8 6: 100 108"}));
  EXPECT_EQ(view_.counts().unmatched, 1u);
}

}  // namespace
}  // namespace rochound::probe
