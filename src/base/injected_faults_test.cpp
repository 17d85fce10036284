// SPDX-License-Identifier: MIT
#include "base/injected_faults.h"

#include <gtest/gtest.h>

namespace rochound::base {
namespace {

TEST(InjectedFaults, NothingHappensUnlessAskedFor) {
  const auto none = ParseInjectedFaults("");
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none.value(), InjectedFaults{});
  for (const InjectedFault& fault : KnownInjectedFaults())
    for (uint64_t packet = 0; packet < 100; ++packet)
      EXPECT_FALSE(none.value().Happens(fault.chance, 1, packet)) << fault.name;
}

TEST(InjectedFaults, EachIsSetByItsNameAndByANumber) {
  for (const InjectedFault& fault : KnownInjectedFaults()) {
    const std::string name(fault.name);
    InjectedFaults expected;
    expected.*fault.chance = fault.usual;
    EXPECT_EQ(ParseInjectedFaults(name).value(), expected) << name;
    expected.*fault.chance = 7;
    expected.seed = 99;
    EXPECT_EQ(ParseInjectedFaults("seed=99," + name + "=7").value(), expected) << name;
  }
}

TEST(InjectedFaults, StrictHoldsNothingThatACorrectProgramCannotSurvive) {
  const InjectedFaults strict = ParseInjectedFaults("strict").value();
  EXPECT_EQ(strict.drop_completions, 0u);
  EXPECT_EQ(strict.inactive_queues, 0u);
  for (const InjectedFault& fault : KnownInjectedFaults())
    EXPECT_EQ(strict.*fault.chance, fault.strict ? fault.usual : 0) << fault.name;
  EXPECT_EQ(ParseInjectedFaults("strict,early-packets=2").value().early_packets, 2u);
}

TEST(InjectedFaults, SaysWhatThereIs) {
  EXPECT_EQ(ParseInjectedFaults("strict,late").error().message,
            "there is no fault 'late'; there are strict, no-rescue, early-packets, "
            "early-read-index, late-completions, drop-completions, inactive-queues, seed=N");
  for (const char* bad : {"early-packets=", "early-packets=0", "early-packets=x", "seed=-1",
                          "early-packets=4294967296", "drop-completions=1 "})
    EXPECT_NE(ParseInjectedFaults(bad).error().message.find("is no number"), std::string::npos)
        << bad;
  for (const char* bad : {"seed", "strict=2", ",", "=3"})
    EXPECT_FALSE(ParseInjectedFaults(bad).ok()) << bad;
}

TEST(InjectedFaults, HappensAsOftenAsAskedAndTheSameWayAgain) {
  InjectedFaults faults = ParseInjectedFaults("drop-completions=16").value();
  constexpr auto kDrop = &InjectedFaults::drop_completions;
  int happened = 0;
  int other_queue = 0;
  int other_seed = 0;
  InjectedFaults again = faults;
  again.seed = 2;
  for (uint64_t packet = 0; packet < 16000; ++packet) {
    const bool here = faults.Happens(kDrop, 1, packet);
    happened += here;
    other_queue += here && faults.Happens(kDrop, 2, packet);
    other_seed += here && again.Happens(kDrop, 1, packet);
    EXPECT_EQ(here, faults.Happens(kDrop, 1, packet));
    EXPECT_LT(faults.Delay(kDrop, 1, packet, 1000), 1000u);
  }
  EXPECT_NEAR(happened, 1000, 150);
  EXPECT_LT(other_queue, 150) << "queues fail independently of each other";
  EXPECT_LT(other_seed, 150);
}

}  // namespace
}  // namespace rochound::base
