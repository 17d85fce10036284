// SPDX-License-Identifier: MIT
#include "capture/replay/differences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/files.h"
#include "codeobj/code_object.h"

namespace rochound::capture::replay {
namespace {

TypedSpan Floats(uint64_t base, uint64_t end) {
  TypedSpan span;
  span.base = base;
  span.end = end;
  span.type = Element::kFloat;
  span.name = "data";
  return span;
}

std::vector<std::byte> Page(float value, size_t count = 1024) {
  const std::vector<float> values(count, value);
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

TEST(Differences, TypedByArgument) {
  Differences::Rules rules;
  rules.spans = {Floats(0x10010, 0x12000)};
  const auto expected = Page(1, 2048);
  auto got = expected;
  const float two = 2;
  memcpy(got.data() + 0x1010, &two, sizeof(two));
  Differences differences(rules);
  differences.Compare(7, 0x10000, 0x10000, expected, got, nullptr);
  EXPECT_EQ(differences.elements(), 1U);
  ASSERT_EQ(differences.first().size(), 1U);
  const Difference& difference = differences.first()[0];
  EXPECT_EQ(difference.address, 0x11010U);
  EXPECT_EQ(difference.region, 7U);
  EXPECT_EQ(difference.argument, "data");
  EXPECT_EQ(difference.index, 0x400U);
  EXPECT_EQ(difference.expected, "1");
  EXPECT_EQ(difference.got, "2");
  ASSERT_EQ(differences.pages().runs().size(), 1U);
  EXPECT_EQ(differences.pages().runs()[0].base, 0x11000U);
}

TEST(Differences, WhatNoArgumentPointsToIsBytesUnlessSaid) {
  Differences::Rules rules;
  const auto expected = Page(1);
  const auto got = Page(1.0005F);
  Differences bytes(rules);
  bytes.Compare(0, 0x1000, 0x1000, expected, got, nullptr);
  EXPECT_EQ(bytes.first()[0].type, Element::kUnknown);
  rules.untyped = Element::kFloat;
  rules.tolerance.exact = false;
  rules.tolerance.relative = 1e-3;
  Differences floats(rules);
  floats.Compare(0, 0x1000, 0x1000, expected, got, nullptr);
  EXPECT_TRUE(floats.equal());
  EXPECT_NEAR(floats.worst_relative(), 5e-4, 1e-6);
  // Not the same bytes, so they have to be restored all the same.
  EXPECT_EQ(floats.pages().runs().size(), 1U);
}

TEST(Differences, ShowsTheFirstAndCountsAll) {
  Differences::Rules rules;
  rules.spans = {Floats(0x1000, 0x2000)};
  rules.show = 3;
  Differences differences(rules);
  differences.Compare(0, 0x1000, 0x1000, Page(1), Page(2), nullptr);
  EXPECT_EQ(differences.elements(), 1024U);
  EXPECT_EQ(differences.first().size(), 3U);
}

TEST(Differences, FingerprintTellsResultsApart) {
  const Differences::Rules rules;
  const auto fingerprint = [&](float value) {
    Differences differences(rules);
    differences.Compare(0, 0x1000, 0x1000, Page(1), Page(value), nullptr);
    return differences.fingerprint();
  };
  EXPECT_EQ(fingerprint(2), fingerprint(2));
  EXPECT_NE(fingerprint(2), fingerprint(3));
  EXPECT_NE(fingerprint(1), fingerprint(2));
}

TEST(Differences, RunsJoinWithinARegionOnly) {
  std::vector<Region> regions(2);
  regions[0].base = 0x10000;
  regions[0].size = 0x10000;
  regions[1].base = 0x20000;
  regions[1].size = 0x100000;
  PageRuns runs;
  runs.Add(0x21000, 0x1000);
  runs.Add(0x1f000, 0x1000);
  runs.Add(0x22000, 0x1000);
  runs.Add(0x24000, 0x1000);  // close
  runs.Add(0x80000, 0x1000);  // far
  runs.Add(0x80000, 0x1000);  // twice
  runs.Join(regions);
  ASSERT_EQ(runs.runs().size(), 3U);
  EXPECT_EQ(runs.runs()[0].base, 0x1f000U);
  EXPECT_EQ(runs.runs()[0].size, 0x1000U);
  EXPECT_EQ(runs.runs()[1].base, 0x21000U);
  EXPECT_EQ(runs.runs()[1].size, 0x4000U);
  EXPECT_EQ(runs.bytes(), 0x6000U);
}

TEST(Differences, KindsOfNanDoNotPrintAlike) {
  Differences::Rules rules;
  rules.spans = {Floats(0x1000, 0x2000)};
  const auto expected = Page(NAN);
  auto got = expected;
  const uint32_t other = 0x7fc00123;
  memcpy(got.data(), &other, sizeof(other));
  Differences differences(rules);
  differences.Compare(0, 0x1000, 0x1000, expected, got, nullptr);
  ASSERT_EQ(differences.first().size(), 1U);
  EXPECT_NE(differences.first()[0].expected, differences.first()[0].got);
}

// Two arrays with bytes that belong to neither between them.
TEST(Differences, EachElementIsOfTheArgumentThatItIsIn) {
  Differences::Rules rules;
  rules.spans = {Floats(0x1000, 0x1010), Floats(0x1020, 0x1030)};
  rules.spans[1].name = "more";
  rules.spans[1].type = Element::kInt32;
  const std::vector<std::byte> expected(0x30, std::byte{1});
  const std::vector<std::byte> got(0x30, std::byte{2});
  rules.show = 100;
  Differences differences(rules);
  differences.Compare(0, 0x1000, 0x1000, expected, got, nullptr);
  ASSERT_EQ(differences.elements(), 4U + 16 + 4);
  const auto& all = differences.first();
  EXPECT_EQ(all[3].argument, "data");
  EXPECT_EQ(all[3].index, 3U);
  EXPECT_EQ(all[4].argument, "");
  EXPECT_EQ(all[4].type, Element::kUnknown);
  EXPECT_EQ(all[4].index, 0x10U);
  EXPECT_EQ(all[20].argument, "more");
  EXPECT_EQ(all[20].type, Element::kInt32);
  EXPECT_EQ(all[20].index, 0U);
}

// An array that is not aligned: elements that begin before the piece that is compared, or end after
// its page, are compared byte by byte.
TEST(Differences, ElementsThatAreCutOffAreBytes) {
  Differences::Rules rules;
  rules.spans = {Floats(0x0ffe, 0x3000)};
  rules.show = 10000;
  const std::vector<std::byte> expected(0x2000, std::byte{1});
  const std::vector<std::byte> got(0x2000, std::byte{2});
  Differences differences(rules);
  differences.Compare(0, 0x1000, 0x1000, expected, got, nullptr);
  std::vector<uint64_t> bytes;
  for (const Difference& one : differences.first()) {
    if (one.type == Element::kUnknown)
      bytes.push_back(one.address);
    else
      EXPECT_EQ((one.address - 0x0ffe) % 4, 0U) << one.address;
  }
  EXPECT_EQ(bytes, (std::vector<uint64_t>{0x1000, 0x1001, 0x1ffe, 0x1fff, 0x2000, 0x2001, 0x2ffe,
                                          0x2fff}));
}

TEST(Differences, TheWorstElementIsKeptWithItsPlace) {
  Differences::Rules rules;
  rules.spans = {Floats(0x1000, 0x2000)};
  const std::vector<float> wanted = {4, 1000, 1, 0, 5};
  const std::vector<float> found = {4.5F, 1010, 2, 3, INFINITY};
  Differences differences(rules);
  differences.Compare(0, 0x1000, 0x1000, std::as_bytes(std::span(wanted)),
                      std::as_bytes(std::span(found)), nullptr);
  EXPECT_DOUBLE_EQ(differences.worst().error, 1);  // of 1: there is none of 0
  EXPECT_EQ(differences.worst().place.index, 2U);
  EXPECT_EQ(differences.worst().place.expected, "1");
  EXPECT_EQ(differences.worst().place.got, "2");
  EXPECT_DOUBLE_EQ(differences.worst_absolute().error, 10);
  EXPECT_EQ(differences.worst_absolute().place.index, 1U);
}

TEST(Differences, FingerprintTellsPlacesApart) {
  const Differences::Rules rules;
  const auto fingerprint = [&](uint64_t address) {
    Differences differences(rules);
    differences.Compare(0, 0x1000, address, Page(1), Page(2), nullptr);
    return differences.fingerprint();
  };
  EXPECT_NE(fingerprint(0x1000), fingerprint(0x2000));
}

TEST(Differences, ARunInsideOfAnotherIsPartOfIt) {
  std::vector<Region> regions(1);
  regions[0].base = 0x10000;
  regions[0].size = 0x100000;
  PageRuns runs;
  runs.Add(0x20000, 0x8000);
  runs.Add(0x21000, 0x1000);
  runs.Join(regions);
  ASSERT_EQ(runs.runs().size(), 1U);
  EXPECT_EQ(runs.runs()[0].size, 0x8000U);
}

// The image is somewhere else here: what points into it is another number and means the same.
TEST(Differences, AddressesOfTheImageMayBeOthers) {
  const auto bytes =
      base::ReadFile(std::filesystem::path(ROCHOUND_SOURCE) / "tests/fuzz/corpus/codeobj/gfx1030");
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  const auto object = codeobj::CodeObject::Parse(bytes.value());
  ASSERT_TRUE(object.ok()) << object.error().message;
  CodeObject captured;
  captured.loaded = {0x7f0000100000, 0x4000};
  captured.load_delta = 0x7f0000100000;
  const ImageMap image = ImageMap::Same(object.value(), captured, 0x7e0000500000);
  const auto compare = [&](uint64_t wanted, uint64_t found, uint64_t address, size_t offset) {
    std::vector<std::byte> expected(64), got(64);
    memcpy(expected.data() + offset, &wanted, sizeof(wanted));
    memcpy(got.data() + offset, &found, sizeof(found));
    const Differences::Rules rules;
    Differences differences(rules);
    differences.Compare(0, 0x1000, address, expected, got, &image);
    EXPECT_EQ(differences.pages().runs().size(), 1U) << "it is to be restored all the same";
    return differences.equal();
  };
  EXPECT_TRUE(compare(0x7f0000100010, 0x7e0000500010, 0x1000, 8));
  EXPECT_TRUE(compare(0x7f0000100010, 0x7e0000500010, 0x1004, 4)) << "words by their address";
  EXPECT_FALSE(compare(0x7f0000100010, 0x7e0000500018, 0x1000, 8)) << "another place of it";
  EXPECT_FALSE(compare(0x7f0000200010, 0x7e0000600010, 0x1000, 8)) << "nothing of it";
}

TEST(Differences, WhatKeptThePatternWasNotWritten) {
  constexpr uint64_t kBase = 0x7f0000000000;
  std::vector<Region> regions(1);
  regions[0].base = kBase;
  regions[0].size = 4096;
  Poison poison({{kBase, 4096}}, regions);
  const std::vector<std::byte> after(4096, std::byte{3});
  std::vector<std::byte> poisoned = after;
  poison.Apply(kBase, after, poisoned);
  // The captured code writes the first half.
  std::vector<std::byte> written = poisoned;
  std::copy(after.begin(), after.begin() + 2048, written.begin());
  poison.Learn(kBase, after, written);
  std::vector<std::byte> expected = after;
  poison.Expect(kBase, expected);
  // The candidate writes another word of each half only, and leaves out one of the first.
  std::vector<std::byte> got = expected;
  std::copy(poisoned.begin() + 100, poisoned.begin() + 104, got.begin() + 100);
  std::fill(got.begin() + 3000, got.begin() + 3004, std::byte{9});
  Differences::Rules rules;
  rules.untyped = Element::kInt32;
  Differences differences(rules);
  differences.set_poison(&poison);
  differences.Compare(0, kBase, kBase, expected, got, nullptr);
  ASSERT_EQ(differences.elements(), 2U);
  EXPECT_EQ(differences.first()[0].got, "not written");
  EXPECT_NE(differences.first()[0].expected, "not written");
  EXPECT_EQ(differences.first()[1].expected, "not written");
  EXPECT_NE(differences.first()[1].got, "not written");
}

// What several runs of a build gave: one page of floats, all of them with the same value.
Spread Runs(const Differences::Rules& rules, bool captured, const std::vector<float>& values) {
  Spread spread(rules, captured);
  for (const float value : values) {
    spread.Add(0, 0x1000, 0x1000, Page(10), Page(value));
    spread.EndRun();
  }
  return spread;
}

TEST(Spread, RunsThatDoNotMeetTheOriginalsAreWrong) {
  Differences::Rules rules;
  rules.spans = {Floats(0x1000, 0x2000)};
  // From 10 (as captured) to 10.5: nobody who is right misses that by more than it is wide.
  const Spread original = Runs(rules, true, {10.5F, 10.25F});
  EXPECT_TRUE(Runs(rules, false, {10.1F}).Outside(original).equal());
  EXPECT_TRUE(Runs(rules, false, {9.6F}).Outside(original).equal());
  EXPECT_TRUE(Runs(rules, false, {10.9F}).Outside(original).equal());
  EXPECT_FALSE(Runs(rules, false, {9.4F}).Outside(original).equal());
  EXPECT_FALSE(Runs(rules, false, {11.1F}).Outside(original).equal());
  EXPECT_TRUE(Runs(rules, false, {20, 10.2F}).Outside(original).equal());
  EXPECT_TRUE(Runs(rules, false, {10, 10}).Outside(original).equal());
  EXPECT_TRUE(Runs(rules, false, {10, 20}).Outside(original).equal());
  const Differences outside = Runs(rules, false, {-1, -1}).Outside(original);
  EXPECT_EQ(outside.elements(), 1024U);
  EXPECT_EQ(outside.first()[0].expected, "10 to 10.5");
  EXPECT_EQ(outside.first()[0].got, "-1");
  EXPECT_FALSE(Runs(rules, false, {NAN}).Outside(original).equal());
  // Other types have no room.
  Differences::Rules integers = rules;
  integers.spans[0].type = Element::kInt32;
  EXPECT_FALSE(Runs(integers, false, {9.9F}).Outside(Runs(integers, true, {10.5F})).equal());
}

TEST(Spread, RoomIsThatOfTheSameArgument) {
  Differences::Rules rules;
  rules.spans = {Floats(0x1000, 0x1800), Floats(0x1800, 0x2000)};
  rules.spans[1].name = "other";
  const auto halves = [](float first, float second) {
    auto page = Page(first, 512);
    const auto rest = Page(second, 512);
    page.insert(page.end(), rest.begin(), rest.end());
    return page;
  };
  const auto run = [&](bool captured, float first, float second) {
    Spread spread(rules, captured);
    spread.Add(0, 0x1000, 0x1000, halves(10, 10), halves(first, second));
    spread.EndRun();
    return spread;
  };
  // The first argument's values vary by 10, those of the other not at all.
  const Spread original = run(true, 20, 10);
  EXPECT_TRUE(run(false, 25, 10).Outside(original).equal());
  const Differences outside = run(false, 25, 10.5F).Outside(original);
  EXPECT_EQ(outside.elements(), 512U);
  EXPECT_EQ(outside.first()[0].argument, "other");
}

// Its nearest value decides, from whichever side it comes.
TEST(Spread, TheNearestRunDecides) {
  Differences::Rules rules;
  rules.spans = {Floats(0x1000, 0x2000)};
  const Spread original = Runs(rules, true, {10.5F});
  EXPECT_TRUE(Runs(rules, false, {10.9F, 20}).Outside(original).equal());
  EXPECT_TRUE(Runs(rules, false, {9.6F, -20}).Outside(original).equal());
  EXPECT_FALSE(Runs(rules, false, {12, 20}).Outside(original).equal());
}

}  // namespace
}  // namespace rochound::capture::replay
