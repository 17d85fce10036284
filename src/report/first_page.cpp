// SPDX-License-Identifier: MIT
#include "report/first_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "analysis/trace_facts.h"
#include "codeobj/kernel_name.h"
#include "report/findings_text.h"
#include "report/software_gpu.h"

namespace rochound::report {
namespace {

using analysis::Answer;
using analysis::Column;
using analysis::Facts;
using analysis::Table;
using analysis::Value;
using nlohmann::ordered_json;

constexpr size_t kBar = 24;
constexpr size_t kPlainWidth = 100;  // where there is no terminal
constexpr const char* kBold = "\033[1m";
constexpr const char* kDim = "\033[2m";
constexpr const char* kBlue = "\033[34m";
constexpr const char* kPlain = "\033[0m";

const Table* Find(const FirstPage& page, const std::string& question, const std::string& id) {
  for (const Answer& answer : page.answers) {
    if (answer.question != question) continue;
    for (const Table& table : answer.tables)
      if (table.id == id) return &table;
  }
  return nullptr;
}

// The place of the first of these columns that there is; columns.size(): of none.
size_t Place(const Table& table, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    for (size_t i = 0; i < table.columns.size(); ++i)
      if (table.columns[i].name == name) return i;
  }
  return table.columns.size();
}

double Number(const std::vector<Value>& row, size_t place) {
  if (place >= row.size()) return 0;
  if (const auto* integer = std::get_if<int64_t>(&row[place])) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&row[place])) return *real;
  return 0;
}

std::string Cell(const Table& table, const std::vector<Value>& row, size_t place) {
  return place < row.size() ? HumanValue(table.columns[place], row[place]) : "";
}

std::string Counted(int64_t number, const char* one, const char* many) {
  return fmt::format("{} {}", HumanValue(Column{"", true, analysis::Unit::kNone}, number),
                     number == 1 ? one : many);
}

std::string Time(int64_t ns) {
  return HumanValue(Column{"", true, analysis::Unit::kNanoseconds}, ns);
}

class Writer {
 public:
  explicit Writer(const TextStyle& style)
      : style_(style), width_(std::max<size_t>(style.width == 0 ? kPlainWidth : style.width, 50)) {}

  void Heading(const std::string& text) { text_ += "\n" + Styled(kBold, text) + "\n"; }

  // number, share with a bar, count, and the name in what is left of the line.
  void Row(const std::string& number, double percent, const std::string& more,
           const std::string& name) {
    const double part = std::clamp(percent / 100, 0.0, 1.0);
    const auto filled = static_cast<size_t>(std::lround(part * static_cast<double>(kBar)));
    const bool bars = width_ >= 80;
    std::string line = fmt::format("  {:>10} {:>5.1f}%", number, percent);
    size_t used = line.size() + (bars ? kBar + 2 : 0) + (more.empty() ? 0 : 14) + 2;
    if (bars) {
      line += "  " + Styled(kBlue, std::string(filled, '#')) +
              Styled(kDim, std::string(kBar - filled, '.'));
    }
    if (!more.empty()) line += fmt::format("  {:>12}", more);
    text_ += line + "  " + ShortName(name, width_ > used + 12 ? width_ - used : 12) + "\n";
  }

  void Line(const std::string& text) { text_ += text + "\n"; }
  std::string Styled(const char* how, const std::string& text) const {
    return style_.colour && !text.empty() ? how + text + kPlain : text;
  }
  std::string& text() { return text_; }

 private:
  const TextStyle style_;
  const size_t width_;
  std::string text_;
};

void List(Writer& out, const Table* table, const std::string& heading,
          std::initializer_list<const char*> name, std::initializer_list<const char*> count,
          size_t rows) {
  if (table == nullptr || table->rows.empty()) return;
  out.Heading(heading);
  const size_t named = Place(*table, name), total = Place(*table, {"own_ns", "total_ns"}),
               share = Place(*table, {"share_percent"}), counted = Place(*table, count);
  const size_t shown = std::min(rows, table->rows.size());
  for (size_t i = 0; i < shown; ++i) {
    const auto& row = table->rows[i];
    const std::string times = Cell(*table, row, counted);
    out.Row(Cell(*table, row, total), Number(row, share), times.empty() ? "" : times + " x",
            codeobj::BriefKernelName(Cell(*table, row, named)));
  }
  const uint64_t more = table->rows.size() - shown + table->more;
  if (more > 0) out.Line(out.Styled(kDim, fmt::format("  and {} more", more)));
}

size_t GpusOf(const Table& causes) {
  std::set<double> gpus;
  for (const auto& row : causes.rows) gpus.insert(Number(row, Place(causes, {"gpu"})));
  return gpus.size();
}

// Of `idle`: the states of all GPUs as if they were one, so that no time exceeds the whole.
Table MeanOfGpus(const Table& causes) {
  const auto gpus = static_cast<int64_t>(GpusOf(causes));
  const size_t state = Place(causes, {"state"}), total = Place(causes, {"total_ns"}),
               share = Place(causes, {"share_percent"});
  std::map<std::string, std::pair<double, double>> sums;
  for (const auto& row : causes.rows) {
    auto& [ns, percent] = sums[Cell(causes, row, state)];
    ns += Number(row, total);
    percent += Number(row, share);
  }
  Table mean{causes.id,
             causes.title,
             {causes.columns[state], causes.columns[total], causes.columns[share]},
             {},
             0};
  for (const auto& [name, sum] : sums)
    mean.rows.push_back(
        {name, static_cast<int64_t>(sum.first) / gpus, sum.second / static_cast<double>(gpus)});
  std::stable_sort(mean.rows.begin(), mean.rows.end(),
                   [](const auto& a, const auto& b) { return Number(a, 1) > Number(b, 1); });
  return mean;
}

// The rows of the question `findings`.
ordered_json FindingsJson(const analysis::Findings& findings) {
  return AnswerAsJson(analysis::FindingsAnswer(findings))["tables"]["findings"]["rows"];
}

}  // namespace

base::Result<FirstPage> AskFirstPage(store::TraceDatabase& trace, const analysis::AskOptions& ask) {
  FirstPage page;
  page.title = trace.sources().empty() ? "trace" : trace.sources()[0].filename().string();
  if (trace.sources().size() > 1)
    page.title += fmt::format(" and {} more", trace.sources().size() - 1);
  page.on_software_gpu = analysis::OnSoftwareGpu(trace);
  ROCHOUND_TRY(page.facts, analysis::ReadFacts(trace));
  for (const char* name : {"busy", "top", "idle", "apis"}) {
    const analysis::Question* question = analysis::FindQuestion(name);
    if (question == nullptr) continue;
    ROCHOUND_TRY(Answer answer, analysis::Ask(trace, *question, ask));
    page.doubts = answer.doubts;
    page.answers.push_back(std::move(answer));
  }
  // Findings need more rows than the page shows; what the page asked is asked again.
  ROCHOUND_TRY(page.findings, analysis::FindFindings(trace, ask));
  return page;
}

std::string FirstPageText(const FirstPage& page, size_t rows, const TextStyle& style) {
  Writer out(style);
  const Facts& facts = page.facts;
  out.Line(DoubtsText(page.doubts, style) +
           (page.doubts.empty() ? "complete: nothing is known to be missing from this trace" : ""));
  if (!page.doubts.empty()) out.text().pop_back();
  out.Line(fmt::format(
      "{}  {}, {}, {}, {}, {}", out.Styled(kBold, ShortName(page.title, 60)), Time(facts.length),
      Counted(facts.gpus, "GPU", "GPUs"), Counted(facts.processes, "process", "processes"),
      Counted(facts.calls, "call", "calls"), Counted(facts.operations, "operation", "operations")));
  if (page.on_software_gpu) out.Line(kSoftwareGpuTimes);
  out.Line("\n" + FindingsText(page.findings, style));
  out.text().pop_back();
  if (const Table* gpus = Find(page, "busy", "gpus"); gpus != nullptr && !gpus->rows.empty()) {
    out.Heading("GPU busy");
    const size_t gpu = Place(*gpus, {"gpu"}), busy = Place(*gpus, {"busy_ns"}),
                 percent = Place(*gpus, {"busy_percent"}), count = Place(*gpus, {"operations"});
    for (size_t i = 0; i < std::min(gpus->rows.size(), std::max<size_t>(rows, 8)); ++i) {
      const auto& row = gpus->rows[i];
      out.Row(Cell(*gpus, row, busy), Number(row, percent), Cell(*gpus, row, count) + " x",
              "GPU " + Cell(*gpus, row, gpu));
    }
  }
  if (const Table* causes = Find(page, "idle", "causes"); causes != nullptr) {
    const size_t gpus = GpusOf(*causes);
    const Table mean = MeanOfGpus(*causes);
    List(out, &mean,
         gpus > 1 ? fmt::format("Time of a GPU, by state (mean of {})", gpus)
                  : "Time of the GPU, by state",
         {"state"}, {}, rows);
  }
  List(out, Find(page, "top", "kernels"), "GPU time by kernel", {"kernel"}, {"calls"}, rows);
  List(out, Find(page, "apis", "calls"), "Host time by call", {"call"}, {"calls"}, rows);
  return out.text();
}

std::string FirstPageJson(const FirstPage& page) {
  ordered_json json{{"trace", page.title},
                    {"doubts", page.doubts},
                    {"wall_ns", page.facts.length},
                    {"gpus", page.facts.gpus},
                    {"processes", page.facts.processes},
                    {"calls", page.facts.calls},
                    {"operations", page.facts.operations},
                    {"usage", page.findings.usage},
                    {"verdict", page.findings.verdict},
                    {"findings", FindingsJson(page.findings)}};
  // Each answer as `explain --json` prints it, without the doubts a second time.
  for (const Answer& answer : page.answers) {
    ordered_json one = AnswerAsJson(answer);
    one.erase("doubts");
    json["answers"][answer.question] = std::move(one);
  }
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace rochound::report
