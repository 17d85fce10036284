// SPDX-License-Identifier: MIT
#include "probe/heatmap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "probe/heatmap_svg.h"

namespace rochound::probe {
namespace {

constexpr size_t kShownPages = 40;

// Its hottest line is @.
std::string Drawn(const HeatmapAnalyzer::Page& page) {
  constexpr std::string_view kShades = ".:-=+*#%@";
  const uint64_t most = *std::max_element(page.lines.begin(), page.lines.end());
  std::string text;
  for (const uint64_t lanes : page.lines)
    text += lanes == 0 ? ' ' : kShades[(lanes * (kShades.size() - 1) + most - 1) / most];
  return text;
}

std::pair<size_t, uint64_t> Busiest(const HeatmapAnalyzer::Page& page) {
  return *std::max_element(page.places.begin(), page.places.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
}

}  // namespace

size_t HeatmapAnalyzer::PlaceNumber(const Site* site) {
  const auto [known, fresh] = known_.try_emplace(site);
  if (!fresh) return known->second;
  const Location& at = PlaceOf(*site);
  // Columns are too fine for a map.
  const auto same = std::find_if(places_.begin(), places_.end(), [&](const Location& other) {
    return other.file == at.file && other.line == at.line;
  });
  known->second = static_cast<size_t>(same - places_.begin());
  if (same == places_.end()) places_.push_back(at);
  return known->second;
}

void HeatmapAnalyzer::OnAccess(const AccessMessage& message) {
  const bool global =
      std::strcmp(message.space, "global") == 0 || std::strcmp(message.space, "scalar") == 0;
  if (!global || message.site->bytes == 0) return;
  const size_t place = PlaceNumber(message.site);
  const std::string& action = message.site->action;
  Page* page = nullptr;
  for (const uint64_t address : *message.addresses) {
    const uint64_t end = address + message.site->bytes;
    uint64_t counted = ~0ull;  // the page in which this lane was counted last
    for (uint64_t line = address / kLineBytes; line * kLineBytes < end; ++line) {
      const uint64_t base = line * kLineBytes / kPageBytes * kPageBytes;
      if (page == nullptr || page->address != base) {
        page = &pages_[{message.dispatch->process, base}];
        page->process = message.dispatch->process;
        page->address = base;
      }
      ++page->lines[line % kLines];
      if (counted == base) continue;
      counted = base;
      ++page->places[place];
      ++(action == "load" ? page->loads : action == "store" ? page->stores : page->atomics);
    }
  }
}

std::string HeatmapAnalyzer::Table(const std::vector<const Page*>& pages) const {
  uint64_t all = 0;
  for (const Page* const page : pages) all += page->Lanes();
  const auto [place, lanes] = Busiest(*pages[0]);
  std::string text = fmt::format(
      "Of {} accesses in {} pages of 4 KiB, the hottest page gets {:.0f}%, {:.0f}% of them from "
      "{}:{}.\n\n{:>18} {:>10} {:>10} {:>10}  {:<{}}  {}\n",
      all, pages.size(), 100.0 * static_cast<double>(pages[0]->Lanes()) / static_cast<double>(all),
      100.0 * static_cast<double>(lanes) / static_cast<double>(pages[0]->Lanes()),
      places_[place].file.empty() ? "(no line)" : places_[place].file, places_[place].line, "PAGE",
      "LOADS", "STORES", "ATOMICS", "LINES OF 128 BYTES", kLines + 2, "MOST FROM");
  for (size_t i = 0; i < std::min(pages.size(), kShownPages); ++i) {
    const Page& page = *pages[i];
    const Location& at = places_[Busiest(page).first];
    text += fmt::format("{:>#18x} {:>10} {:>10} {:>10}  [{}]  {}:{}\n", page.address, page.loads,
                        page.stores, page.atomics, Drawn(page),
                        at.file.empty() ? "(no line)" : at.file, at.line);
  }
  if (pages.size() > kShownPages)
    text += fmt::format("and {} more pages; --json has all\n", pages.size() - kShownPages);
  return text;
}

std::string HeatmapAnalyzer::JsonLines(const std::vector<const Page*>& pages) const {
  std::string text;
  for (const Page* const page : pages) {
    nlohmann::ordered_json places = nlohmann::ordered_json::array();
    for (const auto& [number, lanes] : page->places)
      places.push_back(
          {{"file", places_[number].file}, {"line", places_[number].line}, {"lanes", lanes}});
    text += JsonText({{"process", page->process},
                      {"page", fmt::format("{:x}", page->address)},
                      {"page_bytes", kPageBytes},
                      {"line_bytes", kLineBytes},
                      {"loads", page->loads},
                      {"stores", page->stores},
                      {"atomics", page->atomics},
                      {"lines", page->lines},
                      {"places", places}});
  }
  return text;
}

nlohmann::ordered_json HeatmapAnalyzer::Json(size_t most_pages) const {
  std::vector<const Page*> pages = Sorted();
  const size_t all = pages.size();
  pages.resize(std::min(all, most_pages));
  std::sort(pages.begin(), pages.end(), [](const Page* a, const Page* b) {
    return std::pair(a->process, a->address) < std::pair(b->process, b->address);
  });
  nlohmann::ordered_json json = {{"page_bytes", kPageBytes},
                                 {"line_bytes", kLineBytes},
                                 {"all_pages", all},
                                 {"places", nlohmann::ordered_json::array()},
                                 {"pages", nlohmann::ordered_json::array()}};
  for (const Location& place : places_) json["places"].push_back({place.file, place.line});
  for (const Page* const page : pages) {
    nlohmann::ordered_json places = nlohmann::ordered_json::array();
    for (const auto& [number, lanes] : page->places) places.push_back({number, lanes});
    json["pages"].push_back({{"process", page->process},
                             {"address", fmt::format("{:x}", page->address)},
                             {"loads", page->loads},
                             {"stores", page->stores},
                             {"atomics", page->atomics},
                             {"lines", page->lines},
                             {"places", std::move(places)}});
  }
  return json;
}

std::vector<const HeatmapAnalyzer::Page*> HeatmapAnalyzer::Sorted() const {
  std::vector<const Page*> pages;
  for (const auto& [key, page] : pages_) pages.push_back(&page);
  std::stable_sort(pages.begin(), pages.end(),
                   [](const Page* a, const Page* b) { return a->Lanes() > b->Lanes(); });
  return pages;
}

std::string HeatmapAnalyzer::Picture() const { return HeatmapSvg(Sorted(), places_); }

std::string HeatmapAnalyzer::Answer(const StreamSummary&) {
  const std::vector<const Page*> pages = Sorted();
  if (format_ == AnswerFormat::kJsonLines) return JsonLines(pages);
  return pages.empty() ? "No access to global memory.\n" : Table(pages);
}

}  // namespace rochound::probe
