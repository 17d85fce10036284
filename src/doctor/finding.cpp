// SPDX-License-Identifier: MIT
#include "doctor/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/printable.h"

namespace rochound::doctor {
namespace {

using Json = nlohmann::ordered_json;

Json FactJson(const Fact& fact) {
  Json said = Json::object();
  for (const Said& one : fact.said) said[one.source] = one.value;
  Json json = {{"name", fact.name}, {"said", said}, {"verdict", Name(fact.verdict)}};
  if (!fact.why.empty()) json["why"] = fact.why;
  return json;
}

class Page {
 public:
  Page(bool colour, size_t width) : colour_(colour), width_(std::clamp<size_t>(width, 40, 110)) {}

  std::string Paint(const char* code, const std::string& text) const {
    return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }

  // first is before the first line and is shown_length wide on the screen; the others are
  // indented. The text may name what is in somebody else's trace.
  void Wrapped(const std::string& first, size_t shown_length, const std::string& text) {
    std::string line = first;
    size_t length = shown_length;
    bool empty = true;
    std::istringstream words(base::Printable(text, "\n\t"));
    for (std::string word; words >> word;) {
      if (!empty && length + 1 + word.size() > width_) {
        out_ += line + "\n";
        line = std::string(shown_length, ' ');
        length = shown_length;
        empty = true;
      }
      if (!empty) {
        line += ' ';
        ++length;
      }
      line += word;
      length += word.size();
      empty = false;
    }
    out_ += line + "\n";
  }

  void Line(const std::string& text = "") { out_ += text + "\n"; }
  std::string& out() { return out_; }

 private:
  const bool colour_;
  const size_t width_;
  std::string out_;
};

const char* Colour(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "32";
    case Severity::kNote:
      return "36";
    case Severity::kWarning:
      return "33";
    case Severity::kError:
      return "31;1";
  }
  return "0";
}

const char* Colour(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAgree:
      return "32";
    case Verdict::kOneSource:
    case Verdict::kUnknown:
      return "2";
    case Verdict::kExplained:
      return "36";
    case Verdict::kWrong:
      return "31;1";
  }
  return "0";
}

void FactTable(const std::vector<Fact>& facts, Page* page) {
  std::vector<std::string> sources;
  for (const char* source : {"KFD", "DRM", "HSA", "HIP", "amd-smi", "known"}) {
    const bool used = std::any_of(facts.begin(), facts.end(), [&](const Fact& fact) {
      return std::any_of(fact.said.begin(), fact.said.end(),
                         [&](const Said& said) { return said.source == source; });
    });
    if (used) sources.emplace_back(source);
  }
  std::vector<size_t> widths(sources.size() + 1, 4);
  const auto value = [&](const Fact& fact, const std::string& source) -> std::string {
    for (const Said& said : fact.said)
      if (said.source == source) return said.value;
    return "-";
  };
  for (const Fact& fact : facts) {
    widths[0] = std::max(widths[0], fact.name.size());
    for (size_t i = 0; i < sources.size(); ++i)
      widths[i + 1] = std::max({widths[i + 1], sources[i].size(), value(fact, sources[i]).size()});
  }
  std::string head = fmt::format("  {:<{}}", "", widths[0]);
  for (size_t i = 0; i < sources.size(); ++i)
    head += fmt::format("  {:<{}}", sources[i], widths[i + 1]);
  page->Line(page->Paint("1", head));
  for (const Fact& fact : facts) {
    std::string line = fmt::format("  {:<{}}", fact.name, widths[0]);
    for (size_t i = 0; i < sources.size(); ++i)
      line += fmt::format("  {:<{}}", value(fact, sources[i]), widths[i + 1]);
    page->Line(line + "  " + page->Paint(Colour(fact.verdict), Name(fact.verdict)));
  }
}

}  // namespace

const char* Name(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "ok";
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "?";
}

const char* Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAgree:
      return "agree";
    case Verdict::kOneSource:
      return "one source";
    case Verdict::kExplained:
      return "explained";
    case Verdict::kWrong:
      return "wrong";
    case Verdict::kUnknown:
      return "unknown";
  }
  return "?";
}

Severity Report::Worst() const {
  Severity worst = Severity::kOk;
  for (const Finding& finding : findings) worst = std::max(worst, finding.severity);
  return worst;
}

Json ToJson(const Report& report) {
  Json json = {{"severity", Name(report.Worst())}};
  json["gpus"] = Json::array();
  for (const GpuReport& gpu : report.gpus) {
    Json facts = Json::array();
    for (const Fact& fact : gpu.facts) facts.push_back(FactJson(fact));
    json["gpus"].push_back({{"name", gpu.name},
                            {"target", gpu.target},
                            {"pci", gpu.pci},
                            {"node", gpu.node},
                            {"explanations", gpu.explanations},
                            {"facts", facts}});
  }
  json["machine"] = Json::array();
  for (const Fact& fact : report.machine) json["machine"].push_back(FactJson(fact));
  json["findings"] = Json::array();
  for (const Finding& finding : report.findings) {
    json["findings"].push_back({{"severity", Name(finding.severity)},
                                {"id", finding.id},
                                {"what", finding.what},
                                {"remedy", finding.remedy},
                                {"evidence", finding.evidence}});
  }
  return json;
}

std::string ToText(const Report& report, bool colour, size_t width, bool all_facts) {
  Page page(colour, width);
  if (report.gpus.empty() && report.of_machine) page.Line("No AMD GPU is visible here.");
  for (size_t i = 0; i < report.gpus.size(); ++i) {
    const GpuReport& gpu = report.gpus[i];
    page.Line(page.Paint("1", fmt::format("GPU {}: {}, {}, {}", i, gpu.name, gpu.target, gpu.pci)));
    for (const std::string& text : gpu.explanations) page.Wrapped("  ", 2, text);
    const auto shown = [&](const Fact& fact) {
      return fact.verdict == Verdict::kWrong ||
             (fact.verdict == Verdict::kExplained && !fact.detail);
    };
    std::vector<Fact> facts;
    for (const Fact& fact : gpu.facts)
      if (all_facts || shown(fact) || fact.name == "compute units" || fact.name == "ISA" ||
          fact.name == "memory")
        facts.push_back(fact);
    if (!facts.empty()) {
      if (!gpu.explanations.empty()) page.Line();
      FactTable(facts, &page);
    }
    for (const Fact& fact : gpu.facts) {
      const bool said = std::find(gpu.explanations.begin(), gpu.explanations.end(), fact.why) !=
                        gpu.explanations.end();
      if (fact.verdict == Verdict::kExplained && (all_facts || !fact.detail) && !said)
        page.Wrapped("  " + fact.name + ": ", fact.name.size() + 4, fact.why);
    }
    page.Line();
  }
  for (const Fact& fact : report.machine) {
    std::string values;
    for (const Said& said : fact.said)
      values += fmt::format("{}{} {}", values.empty() ? "" : ", ", said.source, said.value);
    if (fact.said.size() == 1) values = fact.said[0].value;
    if (fact.verdict != Verdict::kAgree || all_facts || fact.said.size() == 1)
      page.Wrapped(fact.name + ": ", fact.name.size() + 2,
                   values + (fact.why.empty() ? "" : ". " + fact.why));
  }
  if (!report.machine.empty()) page.Line();

  std::vector<Finding> findings = report.findings;
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  size_t hidden = 0;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::kOk && !all_facts) {
      ++hidden;
      continue;
    }
    const std::string tag = Name(finding.severity);
    page.Wrapped(page.Paint(Colour(finding.severity), tag) + "  ", tag.size() + 2, finding.what);
    const std::string indent(tag.size() + 2, ' ');
    if (finding.severity >= Severity::kWarning || all_facts)
      for (const std::string& line : finding.evidence)
        page.Wrapped(indent + "- ", indent.size() + 2, line);
    if (!finding.remedy.empty())
      page.Wrapped(indent + page.Paint("1", "Do:") + " ", indent.size() + 4, finding.remedy);
  }
  const auto count = [&](Severity severity) {
    return std::count_if(findings.begin(), findings.end(),
                         [&](const Finding& one) { return one.severity == severity; });
  };
  const auto some = [&](Severity severity) {
    const auto number = count(severity);
    return fmt::format("{} {}{}", number, Name(severity), number == 1 ? "" : "s");
  };
  page.Line(fmt::format("{}{}, {}, {}{}", findings.size() == hidden ? "" : "\n",
                        some(Severity::kError), some(Severity::kWarning), some(Severity::kNote),
                        all_facts ? "" : "; --all shows everything"));
  return std::move(page.out());
}

}  // namespace rochound::doctor
