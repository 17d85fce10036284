// SPDX-License-Identifier: MIT
#include "optimize/model_search.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "optimize/model_answer.h"

namespace rochound::optimize {
namespace {

using base::Error;
using base::Result;
using nlohmann::ordered_json;

constexpr uint64_t kMostFailures = 3;  // in a row

// Files by their names in these folders, the folders themselves as ".".
std::string WithoutFolders(const std::vector<std::string>& folders, std::string text) {
  for (std::string folder : folders) {
    while (folder.ends_with('/')) folder.pop_back();
    if (folder.empty()) continue;  // of everything
    for (size_t at = 0; (at = text.find(folder, at)) != std::string::npos;) {
      const bool inside = at + folder.size() < text.size() && text[at + folder.size()] == '/';
      text.replace(at, folder.size() + (inside ? 1 : 0), inside ? "" : ".");
    }
  }
  return text;
}

}  // namespace

Result<void> SearchWithModel(const KernelFacts& facts, const ModelSearchOptions& options,
                             const ModelSearchParts& parts) {
  std::vector<std::string> attempts;
  std::optional<BestSoFar> best;
  uint64_t number = 0, failures = 0;
  for (uint64_t iteration = 0; iteration < options.iterations; ++iteration) {
    std::vector<ModelMessage> messages = MakePrompt(facts, attempts, best ? &*best : nullptr);
    for (uint64_t repair = 0;;) {
      if (parts.stop()) return {};
      const auto answer = parts.ask(RequestBody(options.model, options.temperature, messages));
      if (!answer.ok()) {
        parts.tell("no answer: " + answer.error().message);
        if (++failures == kMostFailures)
          return Error{fmt::format("the model did not answer {} times in a row: {}", failures,
                                   answer.error().message)};
        parts.wait(failures);
        continue;  // the same again: only answers count, so that a run goes on as it was
      }
      if (!answer.value()) return {};
      failures = 0;
      const auto source = SourceInAnswer(*answer.value());
      if (!source.ok()) {
        parts.tell("answer not used: " + source.error().message);
        attempts.push_back("not used: " + source.error().message);
        break;
      }
      ROCHOUND_TRY(const JournalEntry entry, parts.judge(source.value(), ++number));
      const auto verdict = ordered_json::parse(entry.verdict, nullptr, false);
      if (!verdict.is_object()) return Error{"the journal has no verdict of this candidate"};
      if (entry.reason == NameOf(Reason::kDoesNotBuild) && repair < options.repairs) {
        AddRepair(source.value(), WithoutFolders(options.folders, verdict.value("build_log", "")),
                  &messages);
        ++repair;
        continue;
      }
      attempts.push_back(VerdictForModel(verdict));
      const bool better = entry.reason == NameOf(Reason::kFaster) &&
                          (!best || entry.cost * (1 + options.min_improvement) <= best->cost);
      if (better) best = BestSoFar{source.value(), entry.speedup, entry.cost};
      break;
    }
  }
  return {};
}

}  // namespace rochound::optimize
