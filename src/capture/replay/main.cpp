// SPDX-License-Identifier: MIT
//
// rochound-replay: runs a captured launch at its own addresses and says, in JSON, whether memory is
// what it was afterwards. Started by `rochound replay`, a process for itself: a fault or a hang
// kills only this one, and its address space is nearly empty.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "capture/replay/modes.h"

namespace {

using rochound::capture::replay::Answer;
using rochound::capture::replay::Options;
using rochound::capture::replay::Verdict;

// For the CLI, which checks what people write; so a mistake here is ours.
bool Parse(const std::vector<std::string>& arguments, Options* options) {
  if (arguments.size() < 3) return false;
  options->mode = arguments[1];
  options->bundle = arguments[2];
  for (size_t i = 3; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (name == "--no-restore") {
      options->restore = false;
      continue;
    }
    if (name == "--no-verify") {
      options->verify = false;
      continue;
    }
    if (name == "--no-poison") {
      options->looked_for_writes = false;
      continue;
    }
    if (name == "--vary-special") {
      options->special = true;
      continue;
    }
    if (name == "--count") {
      options->count = true;
      continue;
    }
    if (i + 1 == arguments.size()) return false;
    const std::string& value = arguments[++i];
    if (name == "--hsaco") {
      options->hsacos.emplace_back(value);
    } else if (name == "--iterations") {
      options->iterations = strtoul(value.c_str(), nullptr, 10);
    } else if (name == "--warmup") {
      options->warmup = strtoul(value.c_str(), nullptr, 10);
    } else if (name == "--relative") {
      options->tolerance.exact = false;
      options->tolerance.relative = strtod(value.c_str(), nullptr);
    } else if (name == "--absolute") {
      options->tolerance.exact = false;
      options->tolerance.absolute = strtod(value.c_str(), nullptr);
    } else if (name == "--type-tolerance") {  // TYPE:RELATIVE,ABSOLUTE
      const size_t colon = value.find(':'), comma = value.find(',');
      if (colon == std::string::npos || comma == std::string::npos) return false;
      options->tolerance.exact = false;
      options->tolerance.types.push_back(
          {rochound::capture::replay::FloatingNamed(value.substr(0, colon)),
           strtod(value.c_str() + colon + 1, nullptr), strtod(value.c_str() + comma + 1, nullptr)});
    } else if (name == "--dump") {
      options->dump = value;
    } else if (name == "--vary") {
      options->vary = strtoul(value.c_str(), nullptr, 10);
    } else if (name == "--vary-integers") {
      options->integers = rochound::capture::replay::InputKindNamed(value);
      if (!options->integers) return false;
    } else if (name == "--inputs") {
      options->inputs = rochound::capture::replay::InputKindNamed(value);
      if (!options->inputs) return false;
    } else if (name == "--as") {
      options->as = rochound::capture::replay::ElementNamed(value);
    } else if (name == "--timeout") {
      options->timeout = strtod(value.c_str(), nullptr);
    } else if (name == "--show") {
      options->show = strtoul(value.c_str(), nullptr, 10);
    } else if (name == "--attempt") {
      options->attempt = atoi(value.c_str());
    } else if (name == "--poison") {
      options->poison = rochound::capture::replay::ParseRanges(value);
    } else if (name == "--read") {
      options->read.push_back(strtoul(value.c_str(), nullptr, 10));
    } else if (name == "--answer") {
      options->answer = atoi(value.c_str());
    } else {
      return false;
    }
  }
  const std::string& mode = options->mode;
  return mode == "check" || mode == "poison" || mode == "run" || mode == "compare";
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  Options options;
  if (!Parse(arguments, &options)) {
    fputs("rochound-replay is a part of rochound: see rochound replay --help\n", stderr);
    return 2;
  }
  Answer answer(options.answer);
  try {
    rochound::capture::replay::Answer& said = answer;
    if (options.mode == "poison") rochound::capture::replay::FindPoison(options, arguments, said);
    if (options.mode == "compare") rochound::capture::replay::Compare(options, arguments, said);
    rochound::capture::replay::Run(options, arguments, said);
  } catch (const std::exception& problem) {  // out of memory
    answer.End(Verdict::kFailed, problem.what());
  }
}
