// SPDX-License-Identifier: MIT
#include "swap/swap_check.h"

#include <fmt/format.h>

#include <utility>

#include "codeobj/code_object.h"
#include "codeobj/demangle.h"
#include "codeobj/fat_binary.h"
#include "codeobj/swap.h"
#include "report/show_text.h"

namespace rochound::swap {
namespace {

using base::Result;
using codeobj::Target;

struct Object {
  codeobj::EmbeddedObject found;
  codeobj::CodeObject parsed;
};

Result<std::vector<Object>> Objects(std::string_view bytes) {
  ROCHOUND_TRY(const std::vector<codeobj::EmbeddedObject> all, codeobj::FindCodeObjects(bytes));
  std::vector<Object> objects;
  for (const codeobj::EmbeddedObject& one : all) {
    auto parsed = codeobj::CodeObject::Parse(one.bytes);
    if (!parsed.ok()) return parsed.error().In("the part for " + report::Plain(one.triple));
    objects.push_back({one, std::move(parsed).value()});
  }
  return objects;
}

// The build of the original that a program would use where the candidate runs: the one for the GPU,
// or for the candidate's target; if there is none, any that has the kernel, whose refusal then says
// that the targets differ.
const Object* OriginalFor(const std::vector<Object>& originals, const Object& candidate,
                          const std::string& symbol, const std::optional<Target>& gpu) {
  const Object* any = nullptr;
  for (const Object& original : originals) {
    if (original.parsed.FindKernel(symbol) == nullptr) continue;
    const bool fits = gpu ? codeobj::RunsOn(original.parsed.target(), *gpu)
                          : codeobj::RunsOn(candidate.parsed.target(), original.parsed.target());
    if (fits) return &original;
    if (any == nullptr) any = &original;
  }
  return any;
}

std::string Limits(const codeobj::SwapPlan& plan, const codeobj::Kernel& original) {
  if (plan.required_workgroup[0] != 0 && plan.required_workgroup != original.reqd_workgroup_size)
    return fmt::format("only launches with workgroups of {}x{}x{}", plan.required_workgroup[0],
                       plan.required_workgroup[1], plan.required_workgroup[2]);
  if (plan.most_work_items != 0 && plan.most_work_items < original.max_flat_workgroup_size)
    return fmt::format("only launches with up to {} work-items in a workgroup",
                       plan.most_work_items);
  return {};
}

SwapAnswer Check(const std::vector<Object>& originals, const Object& candidate,
                 const codeobj::Kernel& kernel, const std::optional<Target>& gpu) {
  SwapAnswer answer{kernel.name, candidate.parsed.target().Id(), false, {}};
  const Object* const original = OriginalFor(originals, candidate, kernel.name, gpu);
  if (original == nullptr) {
    answer.remark = "the original has no kernel of this name";
    return answer;
  }
  const auto plan = codeobj::PlanSwap({original->parsed, original->found.bytes},
                                      {candidate.parsed, candidate.found.bytes}, kernel.name, gpu);
  answer.fits = plan.ok();
  answer.remark = plan.ok() ? Limits(plan.value(), *original->parsed.FindKernel(kernel.name))
                            : plan.error().message;
  return answer;
}

}  // namespace

Result<std::vector<SwapAnswer>> CheckSwaps(std::string_view original, std::string_view candidate,
                                           const std::optional<Target>& gpu) {
  ROCHOUND_TRY(const std::vector<Object> originals, Objects(original));
  ROCHOUND_TRY(const std::vector<Object> candidates, Objects(candidate));
  std::vector<SwapAnswer> answers;
  for (const Object& one : candidates)
    for (const codeobj::Kernel& kernel : one.parsed.kernels())
      answers.push_back(Check(originals, one, kernel, gpu));
  return answers;
}

std::string SwapAnswersText(const std::vector<SwapAnswer>& answers) {
  report::Columns columns({"fits", "target", "kernel", ""});
  for (const SwapAnswer& answer : answers)
    columns.Add({answer.fits ? "yes" : "no", answer.target,
                 report::Plain(codeobj::Demangle(answer.symbol)), report::Plain(answer.remark)});
  return columns.Text("");
}

nlohmann::ordered_json SwapAnswersJson(const std::vector<SwapAnswer>& answers) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const SwapAnswer& answer : answers)
    list.push_back({{"kernel", codeobj::Demangle(answer.symbol)},
                    {"symbol", answer.symbol},
                    {"target", answer.target},
                    {"fits", answer.fits},
                    {"remark", answer.remark}});
  return {{"kernels", std::move(list)}};
}

}  // namespace rochound::swap
