// SPDX-License-Identifier: MIT
#include "optimize/prompt.h"

#include <fmt/format.h>

#include "optimize/reason.h"

namespace rochound::optimize {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMostInstructions = size_t{16} << 10;
constexpr size_t kMostFacts = size_t{8} << 10;
constexpr size_t kMostLog = size_t{6} << 10;
constexpr size_t kMostAttempts = 12;

constexpr const char* kRules =
    "You make GPU kernels for AMD GPUs faster. You get the source of a HIP kernel and what is "
    "known about it, and answer with another version of the whole source file.\n"
    "- Answer with exactly one code block, fenced by ```, that holds the whole file. Nothing else "
    "of the answer is read, and there are no tools.\n"
    "- Name, parameters and meaning of the kernel stay as they are; so do the grid and the "
    "workgroup that it is launched with.\n"
    "- Results have to be the same for every input, bit by bit unless a tolerance is stated: keep "
    "the order of floating-point operations.\n"
    "- Read and write only memory that the given kernel reads and writes. Write LDS before it is "
    "read. No variables that outlive a launch, no clocks, no printf.\n"
    "- It is judged by replaying captured launches, with other inputs, too, on a software GPU with "
    "the named target; faster means fewer cycles by its model.\n";

void AddSection(const char* title, const std::string& text, size_t most, std::string* prompt) {
  if (text.empty()) return;
  *prompt += fmt::format("\n## {}\n{}\n", title, Middle(text, most));
}

std::string Fenced(const std::string& source) {
  return "```cpp\n" + source + (source.ends_with('\n') ? "" : "\n") + "```\n";
}

// How many, in words that say little about what was in memory.
const char* HowMany(uint64_t count) {
  if (count == 0) return "elements";
  if (count == 1) return "one element";
  if (count <= 64) return "a few elements";
  return "many elements";
}

// Of one argument, if there is a difference that names it.
std::string WhereDifferent(const ordered_json& differences) {
  std::string text = HowMany(differences.value("count", uint64_t{0}));
  if (!differences.contains("first") || !differences["first"].is_array() ||
      differences["first"].empty())
    return text;
  const ordered_json& first = differences["first"][0];
  if (const std::string argument = first.value("argument", ""); !argument.empty())
    text += fmt::format(" of {} ({})", argument, first.value("type", ""));
  return text;
}

const ReasonText* Find(const std::string& name) {
  for (const ReasonText& known : kReasons)
    if (name == known.name) return &known;
  return nullptr;
}

}  // namespace

std::string Middle(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  const size_t end = most / 4;
  return text.substr(0, most - end) + "\n[...]\n" + text.substr(text.size() - end);
}

std::string VerdictForModel(const ordered_json& verdict) {
  const std::string name = verdict.value("reason", "");
  const ReasonText* const known = Find(name);
  if (known == nullptr) return "it could not be judged";
  std::string text = known->about;
  switch (known->reason) {
    case Reason::kFaster:
    case Reason::kNoDifference:
    case Reason::kSlower:
    case Reason::kSlowerSomewhere:
      if (verdict.contains("speedup"))
        text += fmt::format(": {:.2g} times as fast", verdict["speedup"].value("ratio", 0.0));
      return text;
    // These follow from the candidate's file alone.
    case Reason::kBuildsDifferently:
    case Reason::kSignature:
    case Reason::kOwnState:
    case Reason::kReadsClock:
    case Reason::kLimits:
      return text + ": " + verdict.value("message", "");
    default:
      break;
  }
  if (!verdict.contains("launches") || verdict["launches"].empty()) return text;
  const ordered_json& launch = verdict["launches"].back();  // the one that failed
  if (launch.contains("differences")) text += ": " + WhereDifferent(launch["differences"]);
  return text + " (" + launch.value("shape", "") + ")";
}

std::vector<ModelMessage> MakePrompt(const KernelFacts& facts,
                                     const std::vector<std::string>& attempts,
                                     const BestSoFar* best) {
  std::string text = fmt::format("# The kernel {}\nIts symbol is {}. It runs on {} ({}).\n",
                                 facts.demangled, facts.kernel, facts.gpu, facts.target);
  for (const std::string& shape : facts.shapes)
    text += fmt::format("It is launched with {}.\n", shape);
  if (!facts.tolerance.empty())
    text += fmt::format("Tolerance of results (type:relative,absolute): {}.\n", facts.tolerance);
  text += "\n## The source file\n" + Fenced(facts.source);
  AddSection("Its resources", facts.resources, kMostFacts, &text);
  AddSection("Roofline", facts.roofline, kMostFacts, &text);
  AddSection("What limits it", facts.limit, kMostFacts, &text);
  AddSection("Accesses to memory, by probes in it", facts.probes, kMostFacts, &text);
  AddSection("Its instructions", facts.instructions, kMostInstructions, &text);
  if (!attempts.empty()) {
    text += "\n## Your earlier answers\n";
    const size_t from = attempts.size() > kMostAttempts ? attempts.size() - kMostAttempts : 0;
    for (size_t i = from; i < attempts.size(); ++i)
      text += fmt::format("{}. {}\n", i + 1, attempts[i]);
  }
  if (best != nullptr)
    text += fmt::format("\n## The best so far, {:.2g} times as fast as the given one\n{}",
                        best->speedup, Fenced(best->source));
  text += best != nullptr ? "\nWrite a version that is faster than the best so far.\n"
                          : "\nWrite a version that is faster.\n";
  return {{"system", kRules}, {"user", text}};
}

void AddRepair(const std::string& source, const std::string& log,
               std::vector<ModelMessage>* messages) {
  messages->push_back({"assistant", Fenced(source)});
  messages->push_back(
      {"user", fmt::format("It does not build. The compiler says:\n{}\nWrite the whole file again, "
                           "so that it builds.\n",
                           Fenced(Middle(log, kMostLog)))});
}

std::string RequestBody(const std::string& model, double temperature,
                        const std::vector<ModelMessage>& messages) {
  ordered_json list = ordered_json::array();
  for (const ModelMessage& message : messages)
    list.push_back({{"role", message.role}, {"content", message.content}});
  const ordered_json body = {{"model", model}, {"temperature", temperature}, {"messages", list}};
  return body.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace rochound::optimize
