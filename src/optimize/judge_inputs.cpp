// SPDX-License-Identifier: MIT
//
// The part of Judge that looks for inputs beyond the captured ones, and for a more precise result.

#include <fmt/format.h>

#include <algorithm>

#include "optimize/builder.h"
#include "optimize/judge.h"

namespace rochound::optimize {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;
using nlohmann::ordered_json;

constexpr double kOverheadSeconds = 120;
constexpr uint64_t kMostReference = uint64_t{64} << 20;

}  // namespace

// Whether an integer is data, an index or a count cannot be told from the outside. But what matters
// can: the captured kernel itself is run from the other inputs, and if it ends and touches no byte
// that it does not touch anyway, they are inputs that it could have had.
Judge::Borne Judge::TryInputs(const Original& original, const std::string& kind) {
  const fs::path trace = folder_.path() / "own" / "inputs.accesses";
  std::vector<std::string> arguments = {"softgpu",
                                        "--gpu",
                                        tools_.softgpu,
                                        "--accesses",
                                        trace.string(),
                                        "--accesses-kernel",
                                        ExactPattern(kernel_),
                                        "--",
                                        tools_.rochound.string(),
                                        "replay",
                                        "run",
                                        original.path.string(),
                                        "--json",
                                        "--verify",
                                        "none",
                                        "--inputs",
                                        kind,
                                        "--timeout",
                                        fmt::format("{}", LaunchLimit(original))};
  if (!options_.as.empty()) arguments.insert(arguments.end(), {"--as", options_.as});
  const auto answer = Ask(arguments, LaunchLimit(original) * 4 + kOverheadSeconds);
  Borne borne;
  if (original.accesses && answer.ok() && answer.value().contains("varied")) {
    borne.elements = answer.value()["varied"].value("elements", size_t{0});
    borne.integers = answer.value()["varied"].value("integers", size_t{0});
    ByteSet readable = original.accesses->read;
    AddOwnMemory(answer.value(), &readable);
    const auto found =
        ReadAccesses(trace, kernel_, {&readable, &original.accesses->written, false, false});
    borne.ok = answer.value().value("verdict", "") == "not verified" && found.ok() &&
               found.value().completed && !found.value().stray_read && !found.value().stray_write;
  }
  std::error_code ignored;
  fs::remove(trace, ignored);
  return borne;
}

void Judge::FindInputs(Original* original) {
  if (options_.other_inputs == 0) return;
  if (!original->accesses) {
    original->notes.emplace_back(
        "other integers, NaN and the like were not tried: without a trace of accesses nobody knows "
        "whether the original bears them");
    return;
  }
  const Borne range = TryInputs(*original, "range");
  if (range.ok && range.integers > 0) {
    original->integers = "range";
  } else if (!range.ok) {
    // Values that are there are valid ones, wherever they are; unless their order means
    // something.
    const Borne values = TryInputs(*original, "values");
    if (values.ok && values.integers > 0) original->integers = "values";
    if (!values.ok)
      original->notes.emplace_back(
          "integers stayed as captured: with others the original does not end, or uses other "
          "memory, so they may be indices or counts");
  }
  if (!options_.special) return;
  const Borne special = TryInputs(*original, "special");
  original->special = special.ok && special.elements > 0;
  if (!special.ok)
    original->notes.emplace_back(
        "NaN, infinities and the like were not tried: with them the original does not end, or uses "
        "other memory");
}

Result<void> Judge::OpenReference() {
  ROCHOUND_TRY(std::string object, base::ReadFile(options_.reference, kMostReference));
  if (IsSource(options_.reference, object)) {
    BuildRequest request;
    request.hipcc = tools_.hipcc;
    request.source = options_.reference;
    request.folder = folder_.path() / "own";
    request.target = gpu_.Id();
    request.flags = options_.flags;
    ROCHOUND_TRY(Built built, BuildTwice(request));
    if (!built.ok)
      return Error{
          fmt::format("the reference cannot be used: {}\n{}", built.rejection.message, built.log)};
    object = std::move(built.object);
  }
  const fs::path file = folder_.path() / "input" / "reference.hsaco";
  ROCHOUND_CHECK(base::WriteFile(file, object));
  for (Original& original : originals_) {
    const fs::path outputs = folder_.path() / "own" / "reference";
    std::error_code ignored;
    fs::remove_all(outputs, ignored);
    std::vector<std::string> arguments = CompareArguments(original, file, 1);
    arguments.insert(arguments.end(), {"--softgpu", tools_.softgpu, "--dump", outputs.string()});
    ROCHOUND_TRY(const ordered_json answer,
                 Ask(arguments, LaunchLimit(original) * 8 + kOverheadSeconds));
    const bool compared = answer.contains("candidates") && answer["candidates"].size() >= 2;
    if (!compared || answer["candidates"][1].value("verdict", "") != "equal")
      return Error{fmt::format(
          "the reference is not within the tolerance of what was captured in '{}': {}",
          original.path.filename().string(),
          compared ? answer["candidates"][1].value("verdict", "") : answer.value("message", ""))};
    ROCHOUND_TRY(original.precise, ReadOutputs(outputs / "candidate", options_.as));
    if (original.precise.empty())
      return Error{"the reference has no floating-point results; --as tells what memory holds"};
  }
  return {};
}

std::optional<Rejection> Judge::CheckPrecision(const Original& original, const fs::path& outputs,
                                               LaunchEvidence* evidence) const {
  const auto before = ReadOutputs(outputs / "original", options_.as);
  const auto after = ReadOutputs(outputs / "candidate", options_.as);
  if (!before.ok() || !after.ok())
    return Rejection{Reason::kCannotJudge, (before.ok() ? after.error() : before.error()).message};
  evidence->precision = CompareWith(original.precise, before.value(), after.value());
  if (!IsLessPrecise(*evidence->precision)) return std::nullopt;
  return Rejection{
      Reason::kLessPrecise,
      fmt::format("against the reference it is off by {:.3g} of the largest value, the original by "
                  "{:.3g}",
                  evidence->precision->candidate, evidence->precision->original)};
}

}  // namespace rochound::optimize
