// SPDX-License-Identifier: MIT
//
// Findings: what costs a program most wall time, in sentences, each with evidence and one thing to
// do. Rules are a table (rules.cpp) and one small function each, in a file of its own; they read
// the answers to questions, so a finding and the question that shows it have the same figures.
// Called by the command line and the report on one thread. A rule that does not apply, or whose
// question cannot be answered, finds nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/answer.h"
#include "analysis/questions.h"
#include "base/result.h"
#include "store/open/trace_database.h"

namespace rochound::analysis {

enum class Confidence : uint8_t {
  kSure,    // the trace shows it
  kLikely,  // the trace fits it; to_be_sure says what would show it
  kNote,    // worth knowing, and no reason to change anything by itself
};
const char* ConfidenceName(Confidence confidence);

struct Finding {
  std::string rule;      // a word, as in rules.cpp
  std::string sentence;  // what it is, with its time
  int64_t gain_ns = 0;   // the wall time that the program would give back at most
  double gain_percent = 0;
  Confidence confidence = Confidence::kNote;
  std::string evidence;    // figures
  std::string command;     // that shows them
  std::string question;    // the same as a page of the report
  std::string advice;      // one thing to do
  std::string to_be_sure;  // what to record for that; empty where it is sure
};

struct Findings {
  std::vector<Finding> findings;  // ranked; no more than kMostFindings
  // How busy the busiest GPU was, in a sentence; empty: none did anything.
  std::string usage{};
  // Where nothing is above a note: what the time went to instead. Empty otherwise.
  std::string verdict{};
};
inline constexpr size_t kMostFindings = 5;

// answered: answers to questions about this trace that are there already.
base::Result<Findings> FindFindings(store::TraceDatabase& trace, const AskOptions& options,
                                    std::span<const Answer> answered = {});

// The same as an answer: the table `findings`, and the verdict among the notes.
Answer FindingsAnswer(const Findings& findings);
base::Result<Answer> AskFindings(store::TraceDatabase& trace, const AskOptions& options);

}  // namespace rochound::analysis
