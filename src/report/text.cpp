// SPDX-License-Identifier: MIT
#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/csv.h"
#include "base/printable.h"
#include "codeobj/kernel_name.h"

namespace rochound::report {
namespace {

using analysis::Answer;
using analysis::Column;
using analysis::Table;
using analysis::Unit;
using analysis::Value;
using base::Printable;
using nlohmann::ordered_json;

constexpr size_t kLeastName = 24;
constexpr const char* kBold = "\033[1m";
constexpr const char* kYellow = "\033[33m";
constexpr const char* kPlain = "\033[0m";

double Number(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return 0;
}

std::string Scaled(double number, double step, std::initializer_list<const char*> units,
                   int digits) {
  auto unit = units.begin();
  while (std::fabs(number) >= step && std::next(unit) != units.end()) {
    number /= step;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", number, unit == units.begin() ? 0 : digits, *unit);
}

std::string Grouped(int64_t number) {
  std::string text = std::to_string(number);
  const ptrdiff_t first = number < 0 ? 1 : 0;
  for (ptrdiff_t at = static_cast<ptrdiff_t>(text.size()) - 3; at > first; at -= 3)
    text.insert(static_cast<size_t>(at), ",");
  return text;
}

// Ids are names, not amounts.
bool IsNumberOfSomething(const std::string& name) {
  return name == "pid" || name == "tid" || name == "id" || name.ends_with("_id") ||
         name.ends_with("_pid") || name == "gpu" || name == "queue" || name == "process" ||
         name.ends_with("rank");
}

// A character is what does not continue one in UTF-8.
size_t Width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

ordered_json JsonValue(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value))
    return std::isfinite(*real) ? ordered_json(*real) : ordered_json(nullptr);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

std::string CsvValue(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  if (const auto* text = std::get_if<std::string>(&value)) return base::CsvText(*text);
  return {};
}

std::string ExactValue(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return Printable(*text);
  if (std::holds_alternative<std::monostate>(value)) return "-";
  return CsvValue(value);
}

// "total_ns" is headed "total": the unit is beside each number.
std::string Heading(const Column& column) {
  static constexpr const char* kEndings[] = {"_bytes_per_s", "_bytes", "_ns"};
  std::string name = column.name;
  if (column.unit == Unit::kPercent && name.size() > 8) name.replace(name.size() - 8, 8, " %");
  if (column.unit != Unit::kNone && column.unit != Unit::kPercent) {
    for (const std::string ending : kEndings) {
      if (name.size() > ending.size() &&
          name.compare(name.size() - ending.size(), ending.size(), ending) == 0) {
        name.resize(name.size() - ending.size());
        break;
      }
    }
  }
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

}  // namespace

std::string ShortName(const std::string& text, size_t width) {
  if (Width(text) <= width || width < 8) return text;
  if (Width(text) != text.size()) return text.substr(0, width);  // not worth cutting letters apart
  if (text.find("::") != std::string::npos) return codeobj::ShortKernelName(text, width);
  const size_t tail = width / 3, head = width - tail - 3;
  return text.substr(0, head) + "..." + text.substr(text.size() - tail);
}

std::string HumanValue(const Column& column, const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return Printable(*text);
  if (std::holds_alternative<std::monostate>(value)) return "-";
  const double number = Number(value);
  switch (column.unit) {
    case Unit::kNanoseconds:
      return Scaled(number, 1000, {"ns", "us", "ms", "s"}, 2);
    case Unit::kBytes:
      return Scaled(number, 1024, {"B", "KiB", "MiB", "GiB", "TiB"}, 1);
    case Unit::kBytesPerSecond:
      return Scaled(number, 1000, {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"}, 1);
    case Unit::kPercent:
      return fmt::format("{:.1f}", number);
    case Unit::kNone:
      break;
  }
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    if (std::string text = analysis::NodeText(column, *integer); !text.empty()) return text;
    return IsNumberOfSomething(column.name) ? std::to_string(*integer) : Grouped(*integer);
  }
  return fmt::format("{:.4g}", number);
}

std::string DoubtsText(const std::vector<std::string>& doubts, const TextStyle& style) {
  std::string text;
  for (const std::string& doubt : doubts) {
    text += fmt::format("{}! {}{}\n", style.colour ? kYellow : "", Printable(doubt),
                        style.colour ? kPlain : "");
  }
  return text;
}

std::string TableText(const Table& table, const TextStyle& style) {
  std::string text = style.colour ? kBold + table.title + kPlain : table.title;
  text += "\n";
  if (table.rows.empty()) return text + "  (none)\n";
  std::vector<std::vector<std::string>> cells(1);
  for (const Column& column : table.columns)
    cells[0].push_back(style.verbatim ? Printable(column.name) : Heading(column));
  for (const auto& row : table.rows) {
    std::vector<std::string>& line = cells.emplace_back();
    for (size_t i = 0; i < table.columns.size(); ++i)
      line.push_back(style.verbatim ? ExactValue(row[i]) : HumanValue(table.columns[i], row[i]));
  }
  std::vector<size_t> widths(table.columns.size(), 0);
  for (const auto& line : cells)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], Width(line[i]));
  // The widest column of text gives way until the line fits.
  size_t whole = 2 * widths.size();
  for (const size_t width : widths) whole += width;
  while (style.width != 0 && whole > style.width) {
    size_t widest = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      if (!table.columns[i].number && widths[i] > kLeastName &&
          (widest == widths.size() || widths[i] > widths[widest]))
        widest = i;
    }
    if (widest == widths.size()) break;
    const size_t less = std::min(whole - style.width, widths[widest] - kLeastName);
    widths[widest] -= less;
    whole -= less;
  }
  for (const auto& line : cells) {
    std::string out;
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string cell = ShortName(line[i], widths[i]);
      const std::string space(widths[i] - std::min(widths[i], Width(cell)), ' ');
      out += table.columns[i].number ? "  " + space + cell : "  " + cell + space;
    }
    out.resize(out.find_last_not_of(' ') + 1);
    text += out + "\n";
  }
  if (table.more > 0) text += fmt::format("  and {} more (--limit 0 shows all)\n", table.more);
  return text;
}

std::string AnswerText(const Answer& answer, const TextStyle& style) {
  std::string text = DoubtsText(answer.doubts, style);
  for (const Table& table : answer.tables) {
    if (!text.empty()) text += "\n";
    text += TableText(table, style);
  }
  for (const std::string& note : answer.notes) text += "\n" + Printable(note, "\n") + "\n";
  return text;
}

ordered_json AnswerAsJson(const Answer& answer) {
  ordered_json json;
  json["question"] = answer.question;
  json["doubts"] = answer.doubts;
  json["notes"] = answer.notes;
  json["tables"] = ordered_json::object();
  for (const Table& table : answer.tables) {
    ordered_json& out = json["tables"][table.id];
    out["title"] = table.title;
    out["more"] = table.more;
    out["rows"] = ordered_json::array();
    for (const auto& row : table.rows) {
      ordered_json object = ordered_json::object();
      for (size_t i = 0; i < table.columns.size(); ++i)
        object[table.columns[i].name] = JsonValue(row[i]);
      out["rows"].push_back(std::move(object));
    }
  }
  return json;
}

std::string AnswerJson(const Answer& answer) {
  return AnswerAsJson(answer).dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string AnswerCsv(const Answer& answer) {
  std::string text;
  for (const Table& table : answer.tables) {
    if (!text.empty()) text += "\n";
    for (size_t i = 0; i < table.columns.size(); ++i)
      text += (i == 0 ? "" : ",") + base::CsvField(table.columns[i].name);
    text += "\n";
    for (const auto& row : table.rows) {
      for (size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : ",") + CsvValue(row[i]);
      text += "\n";
    }
  }
  return text;
}

}  // namespace rochound::report
