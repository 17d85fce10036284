// SPDX-License-Identifier: MIT
//
// What tests/store/roundtrip.py cannot reach: that names are forgotten in time and said again.
#include "store/export/perfetto_writer.h"

#include <gtest/gtest.h>

#include <map>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "store/export/timeline.h"

namespace rochound::store {
namespace {

TEST(PerfettoWriter, SaysNamesAgainAfterForgettingThem) {
  base::TempDir folder = base::TempDir::Create("/tmp", "rochound-perfetto-").value();
  const auto path = folder.path() / "out.pftrace";
  {
    PerfettoWriter writer(OutputFile::Create(path).value());
    writer.set_name_budget(500);
    const uint64_t track = writer.AddTrack(0, "track", 0);
    for (int i = 0; i < 100; ++i) {
      const std::string name = "name " + std::to_string(i % 10);
      const PerfettoWriter::Detail details[] = {{"number", {}, i}};
      writer.Begin(track, 10 * i, "category", name, {}, details);
      writer.End(track, 10 * i + 5);
    }
    ASSERT_TRUE(writer.Finish().ok());
  }
  const std::string data = base::ReadFile(path).value();
  std::map<uint64_t, std::string> names;
  std::vector<std::string> seen;
  int states = 0;
  protozero::pbf_reader trace(data);
  while (trace.next(1)) {
    protozero::pbf_reader packet = trace.get_message();
    uint64_t name_id = 0;
    while (packet.next()) {
      if (packet.tag() == 13) {
        if ((packet.get_uint32() & 1) != 0) {
          names.clear();
          ++states;
        }
      } else if (packet.tag() == 12) {
        protozero::pbf_reader interned = packet.get_message();
        while (interned.next()) {
          protozero::pbf_reader entry = interned.get_message();
          const bool is_name = interned.tag() == 2;
          uint64_t id = 0;
          while (entry.next()) {
            if (entry.tag() == 1) {
              id = entry.get_uint64();
            } else if (is_name) {
              EXPECT_TRUE(names.emplace(id, entry.get_string()).second);
            } else {
              entry.skip();
            }
          }
        }
      } else if (packet.tag() == 11) {
        protozero::pbf_reader event = packet.get_message();
        while (event.next()) event.tag() == 10 ? void(name_id = event.get_uint64()) : event.skip();
      } else {
        packet.skip();
      }
    }
    if (name_id != 0) seen.push_back(names.at(name_id));
  }
  ASSERT_EQ(seen.size(), 100u);
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], "name " + std::to_string(i % 10));
  EXPECT_GT(states, 3);
}

TEST(Lanes, KeepApartWhatOverlaps) {
  Lanes nested(true);
  EXPECT_EQ(nested.Place(0, 100), 0u);
  EXPECT_EQ(nested.Place(10, 20), 0u);   // inside
  EXPECT_EQ(nested.Place(15, 30), 1u);   // begins inside the second and ends after it
  EXPECT_EQ(nested.Place(20, 100), 0u);  // the second is over
  EXPECT_EQ(nested.Place(50, 120), 1u);
  EXPECT_EQ(nested.Place(60, 110), 1u);
  EXPECT_EQ(nested.Place(60, 115), 2u);
  Lanes separate(false);
  EXPECT_EQ(separate.Place(0, 100), 0u);
  EXPECT_EQ(separate.Place(10, 20), 1u);
  EXPECT_EQ(separate.Place(20, 30), 1u);
  EXPECT_EQ(separate.Place(100, 110), 0u);
  for (size_t i = 0; i < 2 * Lanes::kMost; ++i) EXPECT_LT(separate.Place(200, 300), Lanes::kMost);
}

}  // namespace
}  // namespace rochound::store
