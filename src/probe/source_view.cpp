// SPDX-License-Identifier: MIT
#include "probe/source_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/files.h"
#include "codeobj/demangle.h"
#include "probe/plain_code.h"

namespace rochound::probe {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMostPages = 256;  // of the heat map, the hottest
constexpr uint64_t kContext = 3;    // lines shown around one that accesses memory

// Numbers for files, in the order in which they are first needed.
class Files {
 public:
  size_t NumberOf(const std::string& file) {
    const auto number =
        static_cast<size_t>(std::find(names_.begin(), names_.end(), file) - names_.begin());
    if (number == names_.size()) names_.push_back(file);
    return number;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

// [file, line, text] of lines near those that are asked for. A file that is not there, or is too
// large for a source, has none.
ordered_json Texts(const std::vector<std::string>& files,
                   const std::map<size_t, std::set<uint64_t>>& wanted) {
  ordered_json texts = ordered_json::array();
  for (const auto& [file, lines] : wanted) {
    const auto text = base::ReadFile(files[file], base::kMostText);
    if (!text.ok()) continue;
    uint64_t number = 1;
    for (size_t at = 0; at < text.value().size(); ++number) {
      const size_t end = std::min(text.value().find('\n', at), text.value().size());
      const auto near = lines.lower_bound(number > kContext ? number - kContext : 0);
      if (near != lines.end() && *near <= number + kContext)
        texts.push_back({file, number, text.value().substr(at, end - at)});
      at = end + 1;
    }
  }
  return texts;
}

ordered_json Costs(const MemoryUse& use) {
  return {{"accesses", use.accesses},
          {"lanes", use.lanes},
          {"lds", use.lds},
          {"lines", use.lines},
          {"needed", use.needed_lines},
          {"used_bytes", use.used_bytes},
          {"cycles", use.cycles},
          {"bank_conflicts", use.bank_conflicts},
          {"same_dword", use.address_conflicts},
          {"misaligned", use.misaligned}};
}

// Every instruction of a kernel, with the places of the accesses that it makes in `told`.
ordered_json CodeJson(const std::vector<PlainInstruction>& code,
                      const std::vector<ToldAccess>& told, Files* files,
                      std::map<size_t, std::set<uint64_t>>* wanted) {
  ordered_json rows = ordered_json::array();
  for (const PlainInstruction& instruction : code) {
    ordered_json at = ordered_json::array();
    for (const auto& [name, line] : instruction.at) {
      const size_t file = files->NumberOf(name);
      at.push_back({file, line});
      (*wanted)[file].insert(line);
    }
    rows.push_back(
        {{"text", instruction.text}, {"at", std::move(at)}, {"makes", ordered_json::array()}});
  }
  const std::vector<size_t> found = FindInstructions(code, told);
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i] < code.size()) rows[found[i]]["makes"].push_back(i);
  return rows;
}

}  // namespace

void SourceView::OnAccess(const AccessMessage& message) {
  targets_.try_emplace(message.dispatch->kernel, message.dispatch->target);
  heatmap_.OnAccess(message);
  std::unique_ptr<Instruction>& one = instructions_[{message.dispatch->kernel, message.site}];
  if (one == nullptr)
    one =
        std::make_unique<Instruction>(Instruction{*message.site, MemoryAnalyzer(AnalyzerOutput{})});
  one->memory.OnAccess(message);
}

std::string SourceView::Answer(const StreamSummary& summary) {
  Files files;
  std::map<size_t, std::set<uint64_t>> wanted;
  ordered_json kernels = ordered_json::array();
  std::vector<std::vector<ToldAccess>> told;  // of each kernel, in the order of its instructions
  for (const auto& [key, instruction] : instructions_) {
    const std::string& kernel = key.first;
    const Site& site = instruction->site;
    if (kernels.empty() || kernels.back()["kernel"] != kernel) {
      kernels.push_back({{"kernel", kernel},
                         {"name", codeobj::Demangle(kernel)},
                         {"instructions", ordered_json::array()}});
      told.emplace_back();
    }
    for (const MemoryUse& use : instruction->memory.Uses()) {
      ordered_json one = {
          {"instruction", site.machine.size() == 1 ? site.machine[0].instruction : ""},
          {"action", use.action},
          {"bytes", use.bytes},
          {"addresses", use.pattern}};
      // Innermost first; a line of the program, and then the one that it was inlined into.
      ordered_json at = ordered_json::array();
      for (const Location& location : site.at) {
        if (location.file.empty()) continue;
        const size_t file = files.NumberOf(location.file);
        at.push_back({file, location.line});
        wanted[file].insert(location.line);
      }
      one["at"] = std::move(at);
      one.update(Costs(use));
      ToldAccess& access = told.back().emplace_back(
          ToldAccess{site.machine.size() == 1 ? site.machine[0].instruction : "", {}});
      for (const Location& location : site.at)
        if (!location.file.empty()) access.at.emplace_back(location.file, location.line);
      kernels.back()["instructions"].push_back(std::move(one));
    }
  }
  ordered_json warnings = ordered_json::array();
  for (size_t i = 0; i < kernels.size() && !code_.empty(); ++i) {
    const std::string kernel = kernels[i]["kernel"];
    const auto code = ReadPlainCode(code_, kernel, targets_[kernel]);
    if (code.ok())
      kernels[i]["code"] = CodeJson(code.value(), told[i], &files, &wanted);
    else
      warnings.push_back("Only instructions that access memory are shown: " + code.error().message);
  }
  if (summary.Incomplete()) warnings.push_back("Messages are missing, so this may be wrong.");
  if (!summary.unprobed.empty())
    warnings.push_back(
        fmt::format("{} places that access memory have no probe; rochound probe -v names them.",
                    summary.unprobed.size()));
  return JsonText({{"format", "rochound probe report"},
                   {"version", 1},
                   {"warnings", std::move(warnings)},
                   {"dispatches", summary.dispatches},
                   {"waves", summary.waves},
                   {"files", files.names()},
                   {"kernels", std::move(kernels)},
                   {"heatmap", heatmap_.Json(kMostPages)},
                   {"texts", Texts(files.names(), wanted)}});
}

}  // namespace rochound::probe
