// SPDX-License-Identifier: MIT
#include "fleet/lake/lake.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/files.h"
#include "fleet/lake/compact.h"
#include "fleet/lake/sketch_rows.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json Message(uint64_t nth, uint64_t launches) {
  json row = {{"rank", 0},       {"pid", 1},
              {"start", 2},      {"gpu", 1},
              {"kernel", "k"},   {"code_object", ""},
              {"rocm", "7.2.4"}, {"launches", launches},
              {"untimed", 0},    {"work_items", 64},
              {"lds", 0},        {"sum", 100 * launches},
              {"min", 100},      {"max", 100},
              {"scale", 5},      {"zeros", 0},
              {"first", 212},    {"buckets", json::array({launches})}};
  return {{"tenant", "default"},
          {"host", "h"},
          {"epoch", "e"},
          {"number", nth},
          {"shard", 0},
          {"nth", nth},
          {"job", "j"},
          {"from_ns", 60000000000 * nth},
          {"interval_ns", 60000000000},
          {"rows", json::array({row})},
          {"losses", json::array({{{"rank", 0}, {"pid", 1}, {"what", "chunks"}, {"count", 2}}})}};
}

TEST(LakeTest, PathsOfStretches) {
  const Stretch stretch{"default", "2026-11-17", 3, 123456789, 10, 20};
  EXPECT_EQ(StretchPath(stretch),
            "sketches/tenant=default/day=2026-11-17/3-123456789-10-20.parquet");
  Stretch parsed;
  ASSERT_TRUE(ParseStretchPath("s3://b/p/" + StretchPath(stretch), &parsed));
  EXPECT_EQ(StretchPath(parsed), StretchPath(stretch));
  for (const char* wrong :
       {"", "x.parquet", "sketches/tenant=a/day=b/1-2-3.parquet",
        "sketches/tenant=a/day=b/1-2-3-4.json", "sketches/tenant=a/day=b/1-2-3-4.parquet.partial"})
    EXPECT_FALSE(ParseStretchPath(wrong, &parsed)) << wrong;
}

TEST(LakeTest, AFileThatWasMergedIntoAnotherDoesNotCount) {
  const auto file = [](uint64_t first, uint64_t last) {
    const Stretch stretch{"t", "d", 0, 1, first, last};
    return LakeFile{StretchPath(stretch), stretch};
  };
  const auto live = Live({file(5, 9), file(1, 4), file(1, 9), file(10, 12)});
  ASSERT_EQ(live.size(), 2u);
  EXPECT_EQ(live[0].stretch.last, 9u);
  EXPECT_EQ(live[1].stretch.first, 10u);
  EXPECT_EQ(live[1].from, 10u);
  // Files of another shard or tenant, or of a stream that was made anew, count for themselves.
  const auto other = [](const char* tenant, uint32_t shard, uint64_t created) {
    const Stretch stretch{tenant, "d", shard, created, 2, 3};
    return LakeFile{StretchPath(stretch), stretch};
  };
  const auto all = Live({file(1, 9), other("t", 1, 1), other("t", 0, 2), other("u", 0, 1)});
  ASSERT_EQ(all.size(), 4u);
  for (const LakeFile& one : all) EXPECT_EQ(one.from, one.stretch.first) << one.path;
  EXPECT_EQ(Live({file(1, 9), other("t", 1, 1)}).size(), 2u);
  // One that overlaps the one before counts from there on.
  const auto beside = Live({file(1, 6), file(4, 9)});
  ASSERT_EQ(beside.size(), 2u);
  EXPECT_EQ(beside[1].from, 7u);
}

TEST(LakeTest, MessagesThatAreNoneAreRefused) {
  EXPECT_TRUE(LakeRows(Message(1, 10), 1).ok());
  EXPECT_FALSE(LakeRows(json::parse("[1]"), 1).ok());
  for (const char* name : {"tenant", "host", "epoch", "number", "shard", "nth", "job", "from_ns",
                           "interval_ns", "rows", "losses"}) {
    json message = Message(1, 10);
    message[name] = json{{"another", "type"}};
    EXPECT_FALSE(LakeRows(message, 1).ok()) << name;
    message.erase(name);
    EXPECT_FALSE(LakeRows(message, 1).ok()) << name;
  }
  const json good = Message(1, 10);
  for (const auto& [name, value] : good["rows"][0].items()) {
    json message = good;
    message["rows"][0][name] = nullptr;
    EXPECT_FALSE(LakeRows(message, 1).ok()) << name;
    message["rows"][0].erase(name);
    EXPECT_FALSE(LakeRows(message, 1).ok()) << name;
  }
  // Numbers that do not go together, or that no column holds.
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, json>>{{"launches", 11},
                                                           {"launches", 9},
                                                           {"untimed", 1},
                                                           {"lds", -1},
                                                           {"kernel", std::string(1 << 16, 'k')},
                                                           {"launches", -1},
                                                           {"scale", 6},
                                                           {"gpu", 1ll << 40},
                                                           {"rank", 1ll << 40},
                                                           {"first", 2048},
                                                           {"min", 101},
                                                           {"buckets", json::array({-1})},
                                                           {"buckets", json::array({"1"})},
                                                           {"buckets", 1},
                                                           {"sum", 1.5}}) {
    json message = good;
    message["rows"][0][name] = value;
    EXPECT_FALSE(LakeRows(message, 1).ok()) << name << value;
  }
  // What is no part of a row does not get into one.
  json message = good;
  message["rows"][0]["tenant"] = "other";
  message["rows"][0]["loss"] = "none";
  const auto rows = LakeRows(message, 1);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.value()[0]["tenant"], "default");
  EXPECT_FALSE(rows.value()[0].contains("loss"));
  EXPECT_EQ(rows.value()[0]["sequence"], 1);
  ASSERT_EQ(rows.value().size(), 2u);
  EXPECT_EQ(rows.value()[1]["loss"], "chunks");
  EXPECT_EQ(rows.value()[1]["lost"], 2);
  // Launches without a time are launches.
  message["rows"][0]["untimed"] = 3;
  message["rows"][0]["launches"] = 13;
  EXPECT_TRUE(LakeRows(message, 1).ok());
}

TEST(LakeTest, StoresRowsAndKnowsWhatItHas) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-lake-");
  auto lake = Lake::Open(dir.value().path() / "lake");
  ASSERT_TRUE(lake.ok()) << lake.error().message;
  EXPECT_TRUE(lake.value().Files("default").value().empty());
  EXPECT_FALSE(lake.value().MakeView("default").value());
  for (uint64_t nth = 1; nth <= 3; ++nth) {
    const auto written = lake.value().Write({"default", "2026-11-17", 0, 77, nth, nth},
                                            LakeRows(Message(nth, nth * 10), nth).value());
    ASSERT_TRUE(written.ok()) << written.error().message;
  }
  // What a killed aggregator leaves is not read.
  ASSERT_TRUE(
      base::WriteFile(dir.value().path() / "lake/sketches/tenant=default/day=2026-11-17/.1.partial",
                      "half")
          .ok());
  EXPECT_EQ(lake.value().Files("default").value().size(), 3u);
  EXPECT_TRUE(lake.value().Files("other").value().empty());
  const auto numbers = lake.value().LastNumbers("default", 0);
  ASSERT_TRUE(numbers.ok()) << numbers.error().message;
  EXPECT_EQ(numbers.value().at({"h", "e"}), 3u);
  EXPECT_TRUE(lake.value().LastNumbers("default", 1).value().empty());
  ASSERT_TRUE(lake.value().MakeView("default").value());
  auto& database = lake.value().database();
  EXPECT_EQ(database.Number("SELECT sum(launches)::BIGINT FROM sketches").value(), 60);
  EXPECT_EQ(database.Number("SELECT sum(list_sum(buckets))::BIGINT FROM sketches").value(), 60);
  EXPECT_EQ(database.Number("SELECT sum(lost)::BIGINT FROM sketches WHERE loss = 'chunks'").value(),
            6);
}

// Anybody who may write to the stream may send the largest numbers that are taken, again and again:
// the lake stores them and still answers.
TEST(LakeTest, AnswersWhateverNumbersItHas) {
  json message = Message(1, 0);
  const auto refused = [&](const char* name, uint64_t value) {
    json larger = message;
    larger[name] = value;
    return !LakeRows(larger, 1).ok();
  };
  EXPECT_TRUE(refused("nth", UINT64_MAX));
  EXPECT_TRUE(refused("shard", uint64_t{1} << 32));
  EXPECT_TRUE(refused("from_ns", UINT64_MAX));
  EXPECT_TRUE(refused("interval_ns", uint64_t{1} << 63));
  const uint64_t most = uint64_t{1} << 48;
  message["nth"] = message["number"] = most;
  message["from_ns"] = message["interval_ns"] = uint64_t{1} << 62;
  json& row = message["rows"][0];
  for (const char* name : {"start", "work_items", "lds", "sum", "min", "max"})
    row[name] = UINT64_MAX;
  row["kernel"] = std::string("a\0b\x1b\xc3\xa4'\"", 8);
  row["buckets"] = json::array({most});
  row["launches"] = most;
  row["untimed"] = 0;
  message["losses"][0]["count"] = UINT64_MAX;
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-lake-");
  auto lake = Lake::Open(dir.value().path() / "lake");
  ASSERT_TRUE(lake.ok()) << lake.error().message;
  std::vector<json> rows;
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    const auto more = LakeRows(message, sequence);
    ASSERT_TRUE(more.ok()) << more.error().message;
    rows.insert(rows.end(), more.value().begin(), more.value().end());
  }
  const auto written = lake.value().Write({"default", "2026-11-17", 0, 77, 1, 3}, rows);
  ASSERT_TRUE(written.ok()) << written.error().message;
  const auto numbers = lake.value().LastNumbers("default", 0);
  ASSERT_TRUE(numbers.ok()) << numbers.error().message;
  EXPECT_EQ(numbers.value().at({"h", "e"}), most);
  const auto merged = MergeSketches(lake.value().database(), {"kernel"}, "loss IS NULL");
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  ASSERT_EQ(merged.value().size(), 1u);
  EXPECT_EQ(merged.value().begin()->second.launches, 3 * most);
  EXPECT_EQ(merged.value().begin()->second.work_items, uint64_t{INT64_MAX}) << "its limit";
  EXPECT_EQ(lake.value().database().Number("SELECT count(from_time) FROM sketches").value(), 6);
}

TEST(LakeTest, StretchesThatOverlapCountOnce) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-lake-");
  auto lake = Lake::Open(dir.value().path() / "lake");
  ASSERT_TRUE(lake.ok()) << lake.error().message;
  const auto write = [&](uint64_t first, uint64_t last) {
    std::vector<json> rows;
    for (uint64_t nth = first; nth <= last; ++nth) {
      const auto more = LakeRows(Message(nth, nth), nth).value();
      rows.insert(rows.end(), more.begin(), more.end());
    }
    EXPECT_TRUE(lake.value().Write({"default", "2026-11-17", 0, 77, first, last}, rows).ok());
  };
  write(1, 5);
  write(3, 8);
  ASSERT_TRUE(lake.value().MakeView("default").value());
  EXPECT_EQ(lake.value().database().Number("SELECT sum(launches)::BIGINT FROM sketches").value(),
            1 + 2 + 3 + 4 + 5 + 6 + 7 + 8);
}

// DuckDB adds up buckets; one after the other gives the same.
TEST(LakeTest, MergedSketchesAreThoseOfAllRows) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-lake-");
  auto lake = Lake::Open(dir.value().path() / "lake");
  ASSERT_TRUE(lake.ok()) << lake.error().message;
  std::mt19937_64 random(5);
  std::map<std::string, Histogram> want;
  std::vector<json> rows;
  for (uint64_t nth = 1; nth <= 60; ++nth) {
    json message = Message(nth, 0);
    const std::string kernel = "k" + std::to_string(nth % 4);
    Histogram one;
    // Some have few values, far apart; some none, or nothing but zeros.
    for (uint64_t i = random() % 50; i > 0; --i)
      one.Add(kernel == "k0" ? 0 : random() >> (kernel == "k1" ? random() % 60 : 40));
    want[kernel].Merge(one);
    json& row = message["rows"][0];
    row["kernel"] = kernel;
    row["launches"] = one.count() + 2;
    row["untimed"] = 2;
    row["sum"] = one.sum();
    row["min"] = one.min();
    row["max"] = one.max();
    row["scale"] = one.scale();
    row["zeros"] = one.zeros();
    row["first"] = one.offset();
    row["buckets"] = one.buckets();
    const auto more = LakeRows(message, nth);
    ASSERT_TRUE(more.ok()) << more.error().message;
    rows.insert(rows.end(), more.value().begin(), more.value().end());
  }
  ASSERT_TRUE(lake.value().Write({"default", "2026-11-17", 0, 77, 1, 60}, rows).ok());
  ASSERT_TRUE(lake.value().MakeView("default").value());
  const auto merged = MergeSketches(lake.value().database(), {"kernel"}, "loss IS NULL");
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  ASSERT_EQ(merged.value().size(), 4u);
  for (const auto& [key, sketch] : merged.value()) {
    const Histogram& wanted = want[key[0]];
    EXPECT_EQ(sketch.launches, wanted.count() + 30) << key[0];
    EXPECT_EQ(sketch.untimed, 30u);
    EXPECT_EQ(sketch.ns.count(), wanted.count());
    EXPECT_EQ(sketch.ns.zeros(), wanted.zeros());
    EXPECT_EQ(sketch.ns.scale(), wanted.scale());
    EXPECT_EQ(sketch.ns.offset(), wanted.offset());
    EXPECT_EQ(sketch.ns.buckets(), wanted.buckets());
    EXPECT_EQ(sketch.first_ns, 60000000000 * (key[0] == "k0" ? 4 : key[0].back() - '0'));
  }
}

// As far apart as no sketch is at their scale: both count, at a coarser one.
TEST(LakeTest, SketchesThatAreFarApartAreMerged) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-lake-");
  auto lake = Lake::Open(dir.value().path() / "lake");
  ASSERT_TRUE(lake.ok()) << lake.error().message;
  std::vector<json> rows;
  for (const uint64_t nth : {1, 2}) {
    json message = Message(nth, 10);
    message["rows"][0]["first"] = nth == 1 ? 212 : 212 + Histogram::kMostBuckets;
    message["rows"][0]["min"] = nth == 1 ? 100 : 102'000;
    message["rows"][0]["max"] = nth == 1 ? 100 : 102'000;
    const auto more = LakeRows(message, nth);
    ASSERT_TRUE(more.ok()) << more.error().message;
    rows.push_back(more.value()[0]);
  }
  ASSERT_TRUE(lake.value().Write({"default", "2026-11-17", 0, 77, 1, 2}, rows).ok());
  ASSERT_TRUE(lake.value().MakeView("default").value());
  const auto merged = MergeSketches(lake.value().database(), {"kernel"}, "loss IS NULL");
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  ASSERT_EQ(merged.value().size(), 1u);
  EXPECT_EQ(merged.value().begin()->second.ns.count(), 20u);
}

TEST(LakeTest, CodeObjectsAreKeptByHash) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-lake-");
  auto opened = Lake::Open(dir.value().path() / "lake");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  Lake& lake = opened.value();
  EXPECT_TRUE(lake.CodeHashes("default").value().empty());
  std::string bytes;
  for (int i = 0; i < 100000; ++i) bytes += static_cast<char>(i * 31 >> 2);
  ASSERT_TRUE(lake.WriteCode("default", {"ab12", bytes, "file:///it's", "h", 5}).ok());
  ASSERT_TRUE(lake.WriteCode("default", {"ab34", "x", "", "h", 6}).ok());
  EXPECT_EQ(lake.CodeHashes("default").value().size(), 2u);
  EXPECT_TRUE(lake.CodeHashes("other").value().empty());
  // What somebody else put there is none.
  ASSERT_TRUE(
      base::WriteFile(dir.value().path() / "lake/code/tenant=default/notes.parquet", "x").ok());
  EXPECT_EQ(lake.CodeHashes("default").value().size(), 2u);
  const auto code = lake.ReadCode("default", "ab1");
  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_EQ(code.value().hash, "ab12");
  EXPECT_EQ(code.value().bytes, bytes);
  EXPECT_EQ(code.value().origin, "file:///it's");
  EXPECT_EQ(code.value().stored_ns, 5u);
  EXPECT_FALSE(lake.ReadCode("default", "ab").ok());
  EXPECT_FALSE(lake.ReadCode("default", "c").ok());
}

TEST(LakeTest, CompactingChangesNothingButFiles) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-lake-");
  auto opened = Lake::Open(dir.value().path() / "lake");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  Lake& lake = opened.value();
  // Two shards, two days, a day that comes again after the next one (clocks differ), two streams.
  const auto write = [&](const std::string& day, uint32_t shard, uint64_t created, uint64_t nth) {
    json message = Message(nth, nth + created);
    message["shard"] = shard;
    EXPECT_TRUE(
        lake.Write({"default", day, shard, created, nth, nth}, LakeRows(message, nth).value())
            .ok());
  };
  for (uint64_t nth = 1; nth <= 10; ++nth) write("2026-11-16", 0, 77, nth);
  for (uint64_t nth = 11; nth <= 20; ++nth) write("2026-11-17", 0, 77, nth);
  for (uint64_t nth = 21; nth <= 25; ++nth) write("2026-11-16", 0, 77, nth);
  for (uint64_t nth = 1; nth <= 5; ++nth) write("2026-11-16", 1, 77, nth);
  for (uint64_t nth = 1; nth <= 5; ++nth) write("2026-11-16", 0, 99, nth);
  const auto all = [&] {
    EXPECT_TRUE(lake.MakeView("default").value());
    return lake.database()
        .Text(
            "SELECT string_agg(concat_ws(',', sequence, shard, nth, launches, loss, lost, "
            "buckets::VARCHAR), ';' ORDER BY shard, nth, launches, loss) FROM sketches")
        .value();
  };
  const std::string before = all();
  CompactOptions options;
  options.today = "2026-11-17";
  options.rows = 16;  // a message has two
  auto done = Compact(lake, options);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done.value().files, 35u);
  EXPECT_EQ(done.value().removed, 0u);
  EXPECT_GT(done.value().written, 4u);
  EXPECT_EQ(all(), before);
  const auto live = lake.Files("default").value();
  EXPECT_LT(live.size(), 20u);
  for (const LakeFile& file : live) {
    if (file.stretch.shard != 0 || file.stretch.created != 77) continue;
    const bool next_day = file.stretch.first >= 11 && file.stretch.last <= 20;
    EXPECT_EQ(file.stretch.day, next_day ? "2026-11-17" : "2026-11-16") << file.path;
    EXPECT_TRUE(next_day || file.stretch.last <= 10 || file.stretch.first >= 21) << file.path;
  }
  const auto counts = lake.CountRows(live);
  for (const uint64_t rows : counts.value()) EXPECT_LE(rows, options.rows);
  // The second run removes what the first one merged, and finds little to do.
  done = Compact(lake, options);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_GT(done.value().removed, 20u);
  EXPECT_EQ(all(), before);
  done = Compact(lake, options);
  EXPECT_EQ(done.value().written, 0u);
  EXPECT_EQ(lake.AllFiles("default").value().size(), lake.Files("default").value().size());
  EXPECT_EQ(all(), before);
}

TEST(LakeTest, FewFilesOfADayThatIsNotOverStay) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-lake-");
  auto opened = Lake::Open(dir.value().path() / "lake");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  Lake& lake = opened.value();
  for (uint64_t nth = 1; nth <= 3; ++nth)
    ASSERT_TRUE(lake.Write({"default", "2026-11-17", 0, 77, nth, nth},
                           LakeRows(Message(nth, nth), nth).value())
                    .ok());
  CompactOptions options;
  options.today = "2026-11-17";
  EXPECT_EQ(Compact(lake, options).value().written, 0u);
  options.today = "2026-11-18";
  EXPECT_EQ(Compact(lake, options).value().written, 1u);
  EXPECT_EQ(lake.Files("default").value().size(), 1u);
  // Twice as many rows as a small file has are not merged again.
  ASSERT_TRUE(
      lake.Write({"default", "2026-11-17", 0, 77, 4, 4}, LakeRows(Message(4, 4), 4).value()).ok());
  options.rows = 8;
  EXPECT_EQ(Compact(lake, options).value().written, 0u) << "the first has six rows of eight";
}

TEST(LakeTest, LeftoversGoWhenTheyAreOld) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-lake-");
  auto lake = Lake::Open(dir.value().path() / "lake");
  ASSERT_TRUE(lake.ok()) << lake.error().message;
  const fs::path day = dir.value().path() / "lake/sketches/tenant=default/day=2026-11-17";
  fs::create_directories(day);
  ASSERT_TRUE(base::WriteFile(day / ".1.partial", "half").ok());
  ASSERT_TRUE(base::WriteFile(day / ".2.partial", "half").ok());
  fs::last_write_time(day / ".2.partial", fs::file_time_type::clock::now() - std::chrono::hours(2));
  lake.value().RemoveLeftovers("default", std::chrono::hours(1));
  EXPECT_TRUE(fs::exists(day / ".1.partial")) << "somebody may be writing it";
  EXPECT_FALSE(fs::exists(day / ".2.partial"));
}

}  // namespace
}  // namespace rochound::fleet
