// SPDX-License-Identifier: MIT
#include "report/first_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/test_trace.h"
#include "report/findings_text.h"
#include "report/text.h"

namespace rochound::report {
namespace {

FirstPage Ask(const analysis::TestTrace& trace) {
  store::TraceDatabase database = trace.Open();
  auto page = AskFirstPage(database, {});
  EXPECT_TRUE(page.ok()) << page.error().message;
  return std::move(page).value();
}

analysis::TestTrace Small() {
  analysis::TestTrace trace;
  const int64_t launch = trace.Call({.start = 0, .end = 100});
  trace.Call({.start = 100, .end = 1000, .name = "hipDeviceSynchronize"});
  trace.Kernel({.queue = 1,
                .start = 250,
                .end = 1000,
                .name =
                    "void kernels::of_a_long_name<float, 128, 64, 32, true, false>(float const*, "
                    "float*, int) [with many words after it]",
                .call = launch});
  return trace;
}

TEST(FirstPageTest, TellsWhatMattersMost) {
  const std::string text = FirstPageText(Ask(Small()), 10, {});
  EXPECT_EQ(text.rfind("complete: ", 0), 0U) << text;
  EXPECT_NE(text.find("1.00 us, 1 GPU, 1 process, 2 calls, 1 operation"), std::string::npos)
      << text;
  EXPECT_NE(text.find("750 ns  75.0%"), std::string::npos) << text;
  EXPECT_NE(text.find("hipDeviceSynchronize"), std::string::npos) << text;
  EXPECT_EQ(text.find('\033'), std::string::npos);
}

TEST(FirstPageTest, WhatIsNotCleanComesFirst) {
  analysis::TestTrace trace = Small();
  trace.lost.push_back({.what = "records", .count = 17, .note = "buffer\033[2J\302\2332J full"});
  const std::string text = FirstPageText(Ask(trace), 10, {});
  EXPECT_EQ(text.rfind("! ", 0), 0U) << text;
  EXPECT_EQ(text.find("complete"), std::string::npos);
  EXPECT_EQ(text.find('\033'), std::string::npos) << "a note steers the terminal";
  EXPECT_EQ(text.find("\302\233"), std::string::npos) << "a note steers the terminal";
}

TEST(FirstPageTest, NoNameInAFindingSteersTheTerminal) {
  analysis::Findings findings;
  findings.findings.push_back({.rule = "host-work",
                               .sentence = "in range 'a\033[2J\302\2332Jb'",
                               .evidence = "\302\2332J",
                               .command = "rochound explain \302\233"});
  const std::string text = FindingsText(findings, {});
  EXPECT_EQ(text.find('\033'), std::string::npos) << text;
  EXPECT_EQ(text.find("\302\233"), std::string::npos) << text;
}

TEST(FirstPageTest, ASpreadsheetFindsNoFormula) {
  analysis::Answer answer;
  answer.tables.push_back({.id = "kernels",
                           .title = "Kernels",
                           .columns = {{.name = "kernel"}, {.name = "change"}},
                           .rows = {{std::string("=1+1"), int64_t{-5}}}});
  EXPECT_NE(AnswerCsv(answer).find("'=1+1,-5"), std::string::npos) << AnswerCsv(answer);
}

TEST(FirstPageTest, KeepsToTheTerminalsWidth) {
  for (const size_t width : {60, 80, 120}) {
    std::istringstream lines(FirstPageText(Ask(Small()), 10, {.width = width, .colour = false}));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), width) << line;
  }
}

TEST(FirstPageTest, Json) {
  const auto json = nlohmann::json::parse(FirstPageJson(Ask(Small())));
  EXPECT_EQ(json["wall_ns"], 1000);
  EXPECT_TRUE(json["doubts"].empty());
  EXPECT_EQ(json["answers"]["busy"]["tables"]["gpus"]["rows"][0]["busy_ns"], 750);
}

}  // namespace
}  // namespace rochound::report
