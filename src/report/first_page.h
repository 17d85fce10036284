// SPDX-License-Identifier: MIT
//
// What one looks at first, for a terminal: what is not clean, findings, how long it took, how busy
// the GPUs were, what took the time and why they were idle. The report's overview in text. Called
// by `rochound top` on one thread.
#pragma once

#include <string>
#include <vector>

#include "analysis/answer.h"
#include "analysis/findings/finding.h"
#include "analysis/questions.h"
#include "analysis/trace_facts.h"
#include "base/result.h"
#include "report/text.h"

namespace rochound::report {

struct FirstPage {
  std::string title;
  bool on_software_gpu = false;
  analysis::Facts facts{};
  std::vector<std::string> doubts;
  analysis::Findings findings;
  std::vector<analysis::Answer> answers;  // busy, top, idle, apis, as far as they can be asked
};

base::Result<FirstPage> AskFirstPage(store::TraceDatabase& trace, const analysis::AskOptions& ask);

// rows: of each list.
std::string FirstPageText(const FirstPage& page, size_t rows, const TextStyle& style);
std::string FirstPageJson(const FirstPage& page);

}  // namespace rochound::report
