// SPDX-License-Identifier: MIT
#include "report/findings_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"

namespace rochound::report {
namespace {

using analysis::Confidence;
using analysis::Finding;

constexpr size_t kPlainWidth = 100;  // where there is no terminal
constexpr size_t kLeastWidth = 50;
constexpr const char* kBold = "\033[1m";
constexpr const char* kDim = "\033[2m";
constexpr const char* kPlain = "\033[0m";

// Words in lines of this width; all but the first after `indent` spaces. A word that is longer than
// a line, such as a path, has one of its own.
std::string Wrapped(const std::string& text, size_t indent, size_t width) {
  std::string wrapped;
  size_t column = indent;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const size_t length = end - at;
    if (column > indent && column + 1 + length > width) {
      wrapped += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      wrapped += ' ';
      ++column;
    }
    wrapped.append(text, at, length);
    column += length;
    at = end + 1;
  }
  return wrapped;
}

}  // namespace

std::string FindingsText(const analysis::Findings& findings, const TextStyle& style) {
  const size_t width = std::max(style.width == 0 ? kPlainWidth : style.width, kLeastWidth);
  const auto styled = [&](const char* how, const std::string& text) {
    return style.colour ? how + text + kPlain : text;
  };
  std::string text;
  // What ended the run comes before how it went.
  const bool ended = !findings.findings.empty() && findings.findings[0].rule == "ended";
  const std::string usage = findings.usage.empty() ? "" : findings.usage + ".\n";
  if (!ended) text += usage;
  if (!findings.verdict.empty()) text += styled(kBold, findings.verdict) + "\n";
  size_t number = 0;
  for (const Finding& one : findings.findings) {
    const bool note = one.confidence == Confidence::kNote;
    const std::string sentence = Wrapped(fmt::format("{} [{}]", base::Printable(one.sentence),
                                                     analysis::ConfidenceName(one.confidence)),
                                         3, width);
    text += fmt::format("{}. {}\n", ++number, note ? sentence : styled(kBold, sentence));
    const auto line = [&](const char* label, const std::string& content) {
      if (content.empty()) return;
      text += fmt::format("   {}{}\n", styled(kDim, fmt::format("{:<12}", label)),
                          Wrapped(base::Printable(content), 15, width));
    };
    line("do", one.advice);
    line("seen", one.evidence);
    line("shown by", one.command);
    line("to be sure", one.to_be_sure);
    if (ended && number == 1) text += usage;
  }
  return text;
}

}  // namespace rochound::report
