// SPDX-License-Identifier: MIT
//
// The analyzer `heatmap`: how often each page of global memory, and each cache line in it, is
// accessed, and from which places in the source.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "probe/analyzer.h"

namespace rochound::probe {

class HeatmapAnalyzer final : public Analyzer {
 public:
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr uint64_t kLineBytes = 128;
  static constexpr uint64_t kLines = kPageBytes / kLineBytes;

  // Lanes that accessed it; one whose bytes lie in several lines counts in each of them.
  struct Page {
    uint64_t process = 0;
    uint64_t address = 0;
    uint64_t loads = 0, stores = 0, atomics = 0;
    std::array<uint64_t, kLines> lines{};
    std::map<size_t, uint64_t> places;  // number in places(): lanes

    uint64_t Lanes() const { return loads + stores + atomics; }
  };

  explicit HeatmapAnalyzer(const AnalyzerOutput& output) : format_(output.format) {}
  void OnAccess(const AccessMessage& message) override;
  std::string Answer(const StreamSummary& summary) override;
  std::string Picture() const override;
  // The hottest pages, in order of their addresses, for a page that draws them.
  nlohmann::ordered_json Json(size_t most_pages) const;

 private:
  std::vector<const Page*> Sorted() const;  // the hottest first
  size_t PlaceNumber(const Site* site);
  std::string Table(const std::vector<const Page*>& pages) const;
  std::string JsonLines(const std::vector<const Page*>& pages) const;

  AnswerFormat format_;
  std::map<std::pair<uint64_t, uint64_t>, Page> pages_;  // by process and address
  std::vector<Location> places_;
  std::unordered_map<const Site*, size_t> known_;
};

}  // namespace rochound::probe
