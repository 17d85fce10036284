// SPDX-License-Identifier: MIT
//
// The loop with a model: ask, take the source out of the answer, have it judged, ask again with
// what became of it. A source that does not build goes back with the compiler's words, a bounded
// number of times. Knows neither network nor files: whoever starts it says how to ask and to judge.
// One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "optimize/journal.h"
#include "optimize/prompt.h"

namespace rochound::optimize {

struct ModelSearchOptions {
  std::string model;
  double temperature = 0.7;
  uint64_t iterations = 8;           // answers, without those that repair one
  uint64_t repairs = 2;              // of one answer
  double min_improvement = 0.02;     // over the best so far, to take its place
  std::vector<std::string> folders;  // whose names the compiler says, and nobody needs
};

struct ModelSearchParts {
  // The answer's body; none: do not go on. An error: this answer is missing.
  std::function<base::Result<std::optional<std::string>>(const std::string& request)> ask;
  // number: of the source, from 1.
  std::function<base::Result<JournalEntry>(const std::string& source, uint64_t number)> judge;
  // Before a request is made again that was not answered.
  std::function<void(uint64_t failures)> wait;
  std::function<bool()> stop;
  std::function<void(const std::string& text)> tell;
};

// An error if the model does not answer three times in a row, or if something of ours fails.
base::Result<void> SearchWithModel(const KernelFacts& facts, const ModelSearchOptions& options,
                                   const ModelSearchParts& parts);

}  // namespace rochound::optimize
