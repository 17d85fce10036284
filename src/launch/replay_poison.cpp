// SPDX-License-Identifier: MIT
#include "launch/replay_poison.h"

#include <fmt/format.h>

#include <vector>

#include "launch/replay_process.h"

namespace rochound::launch {
namespace {

using capture::replay::Verdict;
using nlohmann::ordered_json;

// Inputs that are pointers or indices make the kernel fault: one process for each.
constexpr int kPoisonStarts = 16;

}  // namespace

std::string FindPoison(const std::filesystem::path& bundle, const std::string& softgpu,
                       double timeout_seconds) {
  std::vector<std::string> known;
  for (int start = 0; start < kPoisonStarts; ++start) {
    std::vector<std::string> arguments = {"poison", bundle.string(), "--timeout",
                                          fmt::format("{}", timeout_seconds)};
    arguments.insert(arguments.end(), known.begin(), known.end());
    const auto result = RunReplay(arguments, softgpu, /*quiet=*/true);
    if (!result.ok()) return {};
    const ordered_json& answer = result.value().answer;
    const Verdict verdict = VerdictOf(answer);
    if (verdict == Verdict::kEqual) return answer.value("ranges", "");
    // What else can go wrong is said by the replay itself.
    if ((verdict != Verdict::kFault && verdict != Verdict::kTimeout) || !answer.contains("trying"))
      return {};
    known.clear();
    const auto add = [&](const char* name, const ordered_json& number) {
      known.insert(known.end(), {name, std::to_string(number.get<uint64_t>())});
    };
    for (const ordered_json& number : answer["read"]) add("--read", number);
    add("--read", answer["trying"]);
  }
  return {};
}

}  // namespace rochound::launch
