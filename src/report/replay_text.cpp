// SPDX-License-Identifier: MIT
#include "report/replay_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/count.h"
#include "base/printable.h"

namespace rochound::report {
namespace {

using base::Count;
using nlohmann::ordered_json;

std::string Shape(const ordered_json& sizes) {
  return fmt::format("{}x{}x{}", sizes[0].get<uint64_t>(), sizes[1].get<uint64_t>(),
                     sizes[2].get<uint64_t>());
}

std::string Times(const char* what, const ordered_json& times) {
  const auto time = [&](const char* name) { return TimeText(times[name]); };
  if (times["count"] == 1) return fmt::format("  {} {}\n", what, time("median"));
  return fmt::format("  {} median {}, min {}, mean {}, p95 {}, spread {}\n", what, time("median"),
                     time("min"), time("mean"), time("p95"), time("spread"));
}

constexpr const char* kInterpreterTimes =
    "times are those of the software GPU's interpreter: no speed-up follows from them";

bool OnSoftwareGpu(const ordered_json& answer) {
  return answer.contains("gpu") && answer["gpu"].value("software", false);
}

// The verdict, with what was proved if it is equal.
std::string ResultText(const ordered_json& entry) {
  const std::string proof = TextIn(entry, "proof");
  return proof.empty() ? TextIn(entry, "verdict") : proof;
}

std::string DifferencesText(const ordered_json& differences) {
  const ordered_json& first = differences["first"];
  const auto count = differences["count"].get<uint64_t>();
  std::string text =
      fmt::format("  {}{}\n", Count(count, "difference", "differences"),
                  first.size() < count ? fmt::format(", the first {}:", first.size()) : ":");
  using Row = std::array<std::string, 6>;
  std::vector<Row> rows = {{"address", "region", "argument", "index", "expected", "got"}};
  for (const ordered_json& each : first) {
    const std::string argument = TextIn(each, "argument");
    rows.push_back({TextIn(each, "address"), std::to_string(each["region"].get<uint64_t>()),
                    fmt::format("{} ({})", argument.empty() ? "-" : argument, TextIn(each, "type")),
                    std::to_string(each["index"].get<uint64_t>()), TextIn(each, "expected"),
                    TextIn(each, "got")});
  }
  std::array<size_t, 6> widths{};
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const Row& row : rows) {
    std::string line = "   ";
    for (size_t i = 0; i < row.size(); ++i) line += fmt::format(" {:<{}}", row[i], widths[i] + 1);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  const double worst = differences.value("worst_relative", 0.0);
  if (worst > 0) text += fmt::format("  largest relative error {:.3g}\n", worst);
  return text;
}

// software: times are those of an interpreter, of which no speed-up follows.
std::string CandidatesText(const ordered_json& candidates, bool software) {
  size_t width = 5;
  for (const ordered_json& each : candidates) width = std::max(width, TextIn(each, "name").size());
  std::string text = fmt::format("  {:<{}}  {:>10}  {:>10}  {:<24}  result\n", "build", width,
                                 "median", "spread", software ? "by modelled cycles" : "speed-up");
  std::string more;
  for (const ordered_json& each : candidates) {
    const std::string name = TextIn(each, "name");
    const bool timed = each.contains("gpu_ns");
    std::string speedup;
    // How fast a wrong result comes is of no use.
    const char* const kind = software ? "modelled_speedup" : "speedup";
    if (each.contains(kind) && TextIn(each, "verdict") != "different") {
      const ordered_json& found = each[kind];
      speedup = fmt::format("{:.3f} ({:.3f} to {:.3f})", found["ratio"].get<double>(),
                            found["low"].get<double>(), found["high"].get<double>());
    }
    text += fmt::format("  {:<{}}  {:>10}  {:>10}  {:<24}  {}\n", name, width,
                        timed ? TimeText(each["gpu_ns"]["median"]) : "",
                        timed ? TimeText(each["gpu_ns"]["spread"]) : "", speedup, ResultText(each));
    if (!TextIn(each, "message").empty())
      more += fmt::format("  {}: {}\n", name, TextIn(each, "message"));
    if (each.contains("differences"))
      more += fmt::format("  {}:\n{}", name, DifferencesText(each["differences"]));
  }
  if (software)
    more += fmt::format("  {}; --count compares what the builds do\n", kInterpreterTimes);
  return text + more;
}

}  // namespace

std::string TextIn(const nlohmann::ordered_json& json, const char* name) {
  return json.contains(name) && json[name].is_string() ? json[name].get<std::string>() : "";
}

std::string TimeText(double nanoseconds) {
  if (nanoseconds < 1e3) return fmt::format("{:.0f} ns", nanoseconds);
  if (nanoseconds < 1e6) return fmt::format("{:.2f} us", nanoseconds / 1e3);
  if (nanoseconds < 1e9) return fmt::format("{:.3f} ms", nanoseconds / 1e6);
  return fmt::format("{:.3f} s", nanoseconds / 1e9);
}

std::string ReplayText(const ordered_json& answer) {
  const std::string verdict = TextIn(answer, "verdict");
  const std::string demangled = TextIn(answer, "demangled");
  std::string text;
  if (verdict == "possible") {
    const ordered_json& memory = answer["memory"];
    text = fmt::format("the addresses can be had: {} bytes in {}, for {}\n",
                       memory["bytes"].get<uint64_t>(),
                       Count(memory["mappings"].get<uint64_t>(), "mapping", "mappings"), demangled);
  } else if (answer.contains("candidates")) {
    text = demangled + "\n";  // each build has its own verdict
  } else {
    text = demangled.empty() ? verdict + "\n" : fmt::format("{}: {}\n", verdict, demangled);
  }
  const std::string candidate = TextIn(answer, "candidate");
  if (!candidate.empty() && candidate != "captured") text += fmt::format("  build {}\n", candidate);
  if (!TextIn(answer, "proof").empty()) text += "  " + TextIn(answer, "proof") + "\n";
  if (!TextIn(answer, "message").empty()) text += "  " + TextIn(answer, "message") + "\n";
  if (answer.contains("differences")) text += DifferencesText(answer["differences"]);
  if (answer.contains("gpu")) {
    text += fmt::format("  on {}{} ({})", OnSoftwareGpu(answer) ? "a software " : "",
                        TextIn(answer["gpu"], "product"), TextIn(answer["gpu"], "isa"));
    if (answer.contains("launch")) {
      const ordered_json& launch = answer["launch"];
      text += fmt::format(", grid {}, workgroup {}, {} bytes of LDS", Shape(launch["grid"]),
                          Shape(launch["workgroup"]), launch["group_bytes"].get<uint64_t>());
    }
    text += "\n";
  }
  if (answer.contains("gpu_ns")) {
    text += fmt::format("  {}, {} compared\n",
                        Count(answer["iterations"].get<uint64_t>(), "iteration", "iterations"),
                        answer["compared"].get<uint64_t>());
    if (answer.contains("poison"))
      text +=
          fmt::format("  {} filled with a pattern first; the captured code writes {} of them\n",
                      Count(answer["poison"]["bytes"].get<uint64_t>(), "byte was", "bytes were"),
                      answer["poison"]["written"].get<uint64_t>());
    text += Times(OnSoftwareGpu(answer) ? "interpreter's time:" : "GPU time:", answer["gpu_ns"]);
    text += Times("with launch and wait:", answer["wall_ns"]);
  }
  if (answer.contains("candidates"))
    text += CandidatesText(answer["candidates"], OnSoftwareGpu(answer));
  if (answer.contains("notes"))
    for (const ordered_json& note : answer["notes"])
      text += "  note: " + note.get<std::string>() + "\n";
  return base::Printable(text, "\n");  // much of it is the bundle's
}

}  // namespace rochound::report
