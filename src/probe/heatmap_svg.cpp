// SPDX-License-Identifier: MIT
#include "probe/heatmap_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include "base/markup.h"

namespace rochound::probe {
namespace {

using Page = HeatmapAnalyzer::Page;

constexpr size_t kShownPages = 64;
constexpr size_t kShownPlaces = 12;
constexpr double kCell = 14;
constexpr double kLabel = 130;  // an address
constexpr double kPlace = 22;
constexpr double kTop = 70;
constexpr double kGap = 6;  // where pages are left out

struct Color {
  double red, green, blue;
};
// From few to many; by the logarithm, since one line is often a thousand times hotter than another.
constexpr std::array<Color, 4> kColors = {
    {{254, 240, 205}, {252, 170, 90}, {217, 60, 40}, {90, 0, 20}}};

std::string ColorOf(uint64_t count, uint64_t most) {
  if (count == 0) return "#f3f3f3";
  const double part =
      most <= 1 ? 1 : std::log(static_cast<double>(count)) / std::log(static_cast<double>(most));
  const double at = std::clamp(part, 0.0, 1.0) * (kColors.size() - 1);
  const size_t first = std::min(static_cast<size_t>(at), kColors.size() - 2);
  const double rest = at - static_cast<double>(first);
  const auto mix = [&](double Color::* channel) {
    return static_cast<int>(
        std::lround(kColors[first].*channel * (1 - rest) + kColors[first + 1].*channel * rest));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(&Color::red), mix(&Color::green),
                     mix(&Color::blue));
}

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     base::MarkupText(text));
}

std::string Cell(double x, double y, double width, const std::string& color,
                 const std::string& title) {
  return fmt::format(
      "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "fill=\"{}\"><title>{}</title></rect>\n",
      x, y, width - 1, kCell - 1, color, base::MarkupText(title));
}

std::string PlaceName(const Location& at) {
  if (at.file.empty()) return "(no line)";
  return fmt::format("{}:{}", std::filesystem::path(at.file).filename().string(), at.line);
}

}  // namespace

std::string HeatmapSvg(const std::vector<const Page*>& pages, const std::vector<Location>& places) {
  std::vector<const Page*> shown(
      pages.begin(), pages.begin() + static_cast<ptrdiff_t>(std::min(pages.size(), kShownPages)));
  std::sort(shown.begin(), shown.end(), [](const Page* a, const Page* b) {
    return std::pair(a->process, a->address) < std::pair(b->process, b->address);
  });
  uint64_t most_line = 0, most_page = 0;
  std::map<size_t, uint64_t> lanes;  // of each place
  for (const Page* const page : shown) {
    most_line = std::max(most_line, *std::max_element(page->lines.begin(), page->lines.end()));
    for (const auto& [place, count] : page->places) {
      lanes[place] += count;
      most_page = std::max(most_page, count);
    }
  }
  std::vector<size_t> columns;
  for (const auto& [place, count] : lanes) columns.push_back(place);
  std::stable_sort(columns.begin(), columns.end(),
                   [&](size_t a, size_t b) { return lanes[a] > lanes[b]; });
  const size_t places_left_out = columns.size() - std::min(columns.size(), kShownPlaces);
  columns.resize(std::min(columns.size(), kShownPlaces));

  const double lines_end = kLabel + static_cast<double>(HeatmapAnalyzer::kLines) * kCell;
  const double right = lines_end + 20;
  std::string body;
  double y = kTop;
  const Page* before = nullptr;
  for (const Page* const page : shown) {
    if (before != nullptr && (before->process != page->process ||
                              before->address + HeatmapAnalyzer::kPageBytes != page->address))
      y += kGap;
    before = page;
    body += Text(kLabel - 8, y + kCell - 3, "end", fmt::format("{:#x}", page->address));
    for (size_t line = 0; line < page->lines.size(); ++line)
      body +=
          Cell(kLabel + static_cast<double>(line) * kCell, y, kCell,
               ColorOf(page->lines[line], most_line),
               fmt::format("{:#x}: {} lanes", page->address + line * HeatmapAnalyzer::kLineBytes,
                           page->lines[line]));
    for (size_t i = 0; i < columns.size(); ++i) {
      const auto found = page->places.find(columns[i]);
      const uint64_t count = found == page->places.end() ? 0 : found->second;
      body += Cell(right + static_cast<double>(i) * kPlace, y, kPlace, ColorOf(count, most_page),
                   fmt::format("{}: {} lanes in page {:#x}", PlaceName(places[columns[i]]), count,
                               page->address));
    }
    y += kCell;
  }
  // Which column is which line of the source.
  y += 24;
  for (size_t i = 0; i < columns.size(); ++i) {
    const double x = right + static_cast<double>(i) * kPlace + kPlace / 2;
    body += Text(x, kTop - 6, "middle", std::string(1, static_cast<char>('A' + i)));
    body += Text(kLabel, y, "start",
                 fmt::format("{}  {}: {} lanes", static_cast<char>('A' + i),
                             PlaceName(places[columns[i]]), lanes[columns[i]]));
    y += 18;
  }
  if (places_left_out != 0)
    body +=
        Text(kLabel, y, "start", fmt::format("and {} more lines of the source", places_left_out));
  // What the colors mean: from one lane to the most that a cache line has.
  constexpr int kSteps = 8;
  body += Text(kLabel + 116, kTop - 20, "end", "lanes per cache line: 1");
  for (int i = 0; i < kSteps; ++i) {
    const double part = static_cast<double>(i) / (kSteps - 1);
    const auto count =
        std::lround(std::pow(static_cast<double>(std::max<uint64_t>(most_line, 1)), part));
    body += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"10\" fill=\"{}\"/>\n",
        kLabel + 122 + i * kCell, kTop - 29, kCell,
        ColorOf(static_cast<uint64_t>(count), most_line));
  }
  body += Text(kLabel + 128 + kSteps * kCell, kTop - 20, "start", std::to_string(most_line));
  body += Text(right, kTop - 20, "start", "from which line of the source");
  const double width =
      std::max(right + static_cast<double>(columns.size()) * kPlace + 20, lines_end + 210);
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
             "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
             width, y + 20) +
         Text(kLabel, 20, "start",
              fmt::format("Accesses of lanes to {}pages of 4 KiB",
                          shown.size() == pages.size()
                              ? ""
                              : fmt::format("the hottest {} of {} ", shown.size(), pages.size()))) +
         body + "</svg>\n";
}

}  // namespace rochound::probe
