// SPDX-License-Identifier: MIT
//
// What a command line was, for the tests: each program of ours that has parsed one appends the
// names of its commands and options, never their values, to the file that ROCHOUND_TEST_OPTIONS_RUN
// names. tests/options/untested.py compares that with the options that there are. Without the
// variable nothing happens. Why the programs do it and not the tests: commands are started by
// Python, C++, shells, node and by each other, and only the parser knows which words were options.
// Called by main, on its one thread; a file that cannot be written is not an error.
#pragma once

#include <string>
#include <vector>

namespace rochound::base {

// words: the program, its options, its command, options of that, and so on: "rochound", "doctor",
// "--all".
void RecordOptionsRun(const std::vector<std::string>& words);

// The command has refused its command line, so what was recorded before does not count.
void RecordRefusal();

template <class App>
void AppendOptionsRun(const App& app, std::vector<std::string>* words) {
  words->push_back(app.get_name());
  for (const auto* option : app.get_options())
    if (option->count() != 0 && option->nonpositional()) words->push_back(option->get_name());
  for (const auto* chosen : app.get_subcommands()) AppendOptionsRun(*chosen, words);
}

// App: a CLI::App that has parsed the command line; base does not include its header.
template <class App>
void RecordOptionsOf(const App& app) {
  std::vector<std::string> words;
  AppendOptionsRun(app, &words);
  RecordOptionsRun(words);
}

}  // namespace rochound::base
