// SPDX-License-Identifier: MIT
//
// The report: everything that is known about a trace in one file that a browser opens without a
// network. Called by `rochound report` on one thread. Names in a trace are data from somebody's
// program: they reach the page only as JSON without a single `<`, and the page shows them only as
// text. Errors are of the trace, or of writing the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/answer.h"
#include "analysis/questions.h"
#include "analysis/timeline.h"
#include "base/result.h"
#include "report/flame.h"

namespace rochound::report {

struct HtmlOptions {
  uint64_t most_events = 2000000;  // of the timeline; more are thinned
  uint64_t most_rows = 2000;       // of each table
  analysis::AskOptions ask{};      // its limit is most_rows
  analysis::Lanes lanes = analysis::Lanes::kStreams;
  std::filesystem::path profile{};  // a folder of rochound profile; empty: none
  std::string optimize{};           // JSON of a journal (optimize/journal_page.h); empty: none
  std::filesystem::path probe{};    // a file of rochound probe -a report; empty: none
};

// What the page is made of.
struct HtmlContent {
  std::string title;
  std::vector<std::string> sources;
  std::vector<std::string> doubts;    // also of the questions that could not be answered
  std::vector<std::string> failures;  // those alone
  std::vector<analysis::Answer> answers;
  analysis::Timeline timeline;
  Flame flame;
  std::string profile;   // of ReadProfile; empty: none
  std::string optimize;  // as in HtmlOptions
  std::string probe;     // of ReadProbe; empty: none
};

// Asks every question. One that cannot be answered is left out and told among the doubts.
base::Result<HtmlContent> Collect(store::TraceDatabase& trace, const HtmlOptions& options);

std::string Html(const HtmlContent& content);

struct HtmlSummary {
  uint64_t events = 0, kept = 0;
  uint64_t bytes = 0;
  std::vector<std::string> doubts;
};

// A file by that name is replaced when the new one is complete.
base::Result<HtmlSummary> WriteHtml(store::TraceDatabase& trace, const std::filesystem::path& path,
                                    const HtmlOptions& options);

}  // namespace rochound::report
