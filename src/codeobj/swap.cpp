// SPDX-License-Identifier: MIT
#include "codeobj/swap.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/fill.h"
#include "codeobj/elf_view.h"

namespace rochound::codeobj {
namespace {

using base::Error;
using base::Result;

// What HIP gives a kernel whose stack the compiler could not bound, unless the program asks for
// more (hipLimitStackSize).
constexpr uint32_t kDynamicStackBytes = 1024;

uint32_t Narrow(uint64_t size) {
  return static_cast<uint32_t>(std::min<uint64_t>(size, std::numeric_limits<uint32_t>::max()));
}

Result<void> FitTarget(const Target& candidate, const Target& original,
                       const std::optional<Target>& gpu) {
  if (gpu && !RunsOn(candidate, *gpu))
    return Error{base::Fill("it is compiled for {}, and the GPU is {}", candidate.Id(), gpu->Id())};
  if (!gpu && !RunsOn(candidate, original))
    return Error{base::Fill("it is compiled for {}, and the original for {}", candidate.Id(),
                            original.Id())};
  return {};
}

// The runtime writes hidden arguments where the original's metadata says; the candidate reads them
// where its own says.
Result<void> FitHiddenArguments(const Kernel& original, const Kernel& candidate,
                                const CodeObject& from, const CodeObject& to) {
  const std::string versions =
      from.version() == to.version()
          ? std::string()
          : base::Fill(" (it is a code object of version {}, the original of version {})",
                       to.version(), from.version());
  for (size_t i = candidate.ExplicitArguments(); i < candidate.arguments.size(); ++i) {
    const Argument& needed = candidate.arguments[i];
    if (needed.value_kind == "hidden_none") continue;
    const auto given = std::find_if(
        original.arguments.begin(), original.arguments.end(),
        [&](const Argument& argument) { return argument.value_kind == needed.value_kind; });
    if (given == original.arguments.end())
      return Error{
          base::Fill("it reads the hidden argument {}, which the runtime does not write "
                     "for the original{}",
                     needed.value_kind, versions)};
    if (given->offset != needed.offset || given->size != needed.size)
      return Error{
          base::Fill("it reads the hidden argument {} at offset {}, and the runtime "
                     "writes it at offset {} for the original{}",
                     needed.value_kind, needed.offset, given->offset, versions)};
  }
  if (candidate.kernarg_segment_size > original.kernarg_segment_size)
    return Error{base::Fill("it reads {} bytes of arguments, and the original is given {}",
                            candidate.kernarg_segment_size, original.kernarg_segment_size)};
  if (candidate.kernarg_segment_align > original.kernarg_segment_align)
    return Error{base::Fill("its arguments must be aligned to {} bytes, the original's to {}",
                            candidate.kernarg_segment_align, original.kernarg_segment_align)};
  return {};
}

// Compilers add to names of static variables what tells translation units apart.
std::string_view PlainName(std::string_view name) {
  for (const std::string_view mark : {".static.", ".intern."})
    if (const size_t at = name.find(mark); at != std::string_view::npos) return name.substr(0, at);
  return name;
}

// Marks a translation unit and is never read.
bool IsMark(std::string_view name) { return name.starts_with("__hip_cuid_"); }

Result<void> FitVariables(const SwapSide& original, const SwapSide& candidate) {
  std::unordered_map<std::string_view, const Symbol*> known;
  for (const Symbol& variable : original.object.variables())
    known.emplace(PlainName(variable.name), &variable);
  ROCHOUND_TRY(const ElfView original_file, ElfView::Open(original.bytes));
  ROCHOUND_TRY(const ElfView candidate_file, ElfView::Open(candidate.bytes));
  for (const Symbol& variable : candidate.object.variables()) {
    if (variable.size == 0 || IsMark(variable.name)) continue;
    const auto found = known.find(PlainName(variable.name));
    if (found == known.end()) continue;
    const Symbol& same = *found->second;
    if (variable.writable || same.writable)
      return Error{
          base::Fill("it has a copy of its own of the variable '{}', whose value in the program "
                     "it would not see; declare it extern",
                     PlainName(variable.name))};
    // Constants that only the file itself can name belong to its code.
    if (!variable.global || !same.global) continue;
    const auto was = original_file.AtAddress(same.address, same.size);
    const auto is = candidate_file.AtAddress(variable.address, variable.size);
    if (!was || !is || *was != *is)
      return Error{
          base::Fill("its constant '{}' differs from the original's", PlainName(variable.name))};
  }
  return {};
}

uint64_t WorkItems(const std::array<uint32_t, 3>& sizes) {
  uint64_t product = 1;
  for (const uint32_t size : sizes) product *= std::max<uint32_t>(size, 1);
  return product;
}

bool Whole(const SwapLaunch& launch) {
  for (size_t i = 0; i < 3; ++i)
    if (launch.workgroup[i] > 1 && launch.grid[i] % launch.workgroup[i] != 0) return false;
  return true;
}

bool Required(const SwapPlan& plan, const SwapLaunch& launch) {
  for (size_t i = 0; i < 3; ++i)
    if (plan.required_workgroup[i] != 0 && plan.required_workgroup[i] != launch.workgroup[i])
      return false;
  return true;
}

}  // namespace

uint32_t SwapPlan::GroupBytes(const SwapLaunch& launch) const {
  const uint64_t dynamic =
      launch.group_bytes > original_group ? launch.group_bytes - original_group : 0;
  return Narrow(candidate_group + dynamic);
}

uint32_t SwapPlan::PrivateBytes(const SwapLaunch& launch) const {
  const uint64_t more =
      launch.private_bytes > original_private ? launch.private_bytes - original_private : 0;
  const uint32_t bytes = Narrow(candidate_private + more);
  return dynamic_stack ? std::max({bytes, launch.private_bytes, kDynamicStackBytes}) : bytes;
}

bool SwapPlan::Takes(const SwapLaunch& launch, uint64_t most_group_bytes) const {
  return (most_work_items == 0 || WorkItems(launch.workgroup) <= most_work_items) &&
         Required(*this, launch) && (!whole_workgroups || Whole(launch)) &&
         (!fewer_at_once || !launch.cooperative) && GroupBytes(launch) <= most_group_bytes;
}

std::string SwapPlan::WhyNot(const SwapLaunch& launch, uint64_t most_group_bytes) const {
  if (const uint64_t items = WorkItems(launch.workgroup);
      most_work_items != 0 && items > most_work_items)
    return base::Fill("a launch has workgroups of {} work-items, and it is compiled for {} at most",
                      items, most_work_items);
  if (!Required(*this, launch))
    return base::Fill("a launch has workgroups of {}x{}x{}, and it is compiled for {}x{}x{} only",
                      launch.workgroup[0], launch.workgroup[1], launch.workgroup[2],
                      required_workgroup[0], required_workgroup[1], required_workgroup[2]);
  if (whole_workgroups && !Whole(launch))
    return "a launch has workgroups that are not full, and it is compiled for full ones only";
  if (fewer_at_once && launch.cooperative)
    return "a launch is cooperative, and fewer of its workgroups might fit on the GPU at once than "
           "of the original's";
  if (const uint32_t bytes = GroupBytes(launch); bytes > most_group_bytes)
    return base::Fill("a launch would need {} bytes of LDS for a workgroup, and the GPU has {}",
                      bytes, most_group_bytes);
  return {};
}

Result<std::vector<SwapPlan::Binding>> BindVariables(const CodeObject& original,
                                                     const CodeObject& candidate) {
  std::vector<SwapPlan::Binding> bindings;
  for (const std::string& name : candidate.undefined()) {
    const auto found = std::find_if(
        original.variables().begin(), original.variables().end(),
        [&](const Symbol& variable) { return variable.global && variable.name == name; });
    if (found == original.variables().end())
      return Error{
          base::Fill("it needs '{}', which the original's code object does not define", name)};
    bindings.push_back({name, found->address});
  }
  return bindings;
}

Result<SwapPlan> PlanSwap(const SwapSide& original, const SwapSide& candidate,
                          std::string_view kernel, const std::optional<Target>& gpu) {
  const Kernel* const was = original.object.FindKernel(kernel);
  const Kernel* is = candidate.object.FindKernel(kernel);
  // Who puts an instrumented copy beside the kernel wants the copy.
  const Kernel* const copy =
      was != nullptr ? candidate.object.FindKernel(OmniprobeName(was->name)) : nullptr;
  if (copy != nullptr) is = copy;
  if (was == nullptr || is == nullptr)
    return Error{base::Fill("{} has no kernel '{}'",
                            was == nullptr ? "the original's code object" : "it", kernel)};
  ROCHOUND_CHECK(FitTarget(candidate.object.target(), original.object.target(), gpu));
  SwapPlan plan;
  plan.candidate_kernel = is->name;
  if (copy != nullptr) {
    ROCHOUND_TRY(plan.omniprobe, PlanOmniprobeArguments(*was, *is));
  } else {
    ROCHOUND_CHECK(SameArguments(*was, *is, {"the original", "the candidate"}));
    ROCHOUND_CHECK(FitHiddenArguments(*was, *is, original.object, candidate.object));
  }
  ROCHOUND_CHECK(FitVariables(original, candidate));
  ROCHOUND_TRY(plan.bindings, BindVariables(original.object, candidate.object));
  plan.most_work_items = is->max_flat_workgroup_size;
  plan.required_workgroup = is->reqd_workgroup_size;
  plan.whole_workgroups = is->uniform_work_group_size;
  plan.original_kernarg = was->kernarg_segment_size;
  plan.original_group = was->descriptor.group_segment_fixed_size;
  plan.original_private = was->descriptor.private_segment_fixed_size;
  plan.candidate_group = is->descriptor.group_segment_fixed_size;
  plan.candidate_private = is->descriptor.private_segment_fixed_size;
  plan.fewer_at_once = is->vgpr_count > was->vgpr_count ||
                       is->group_segment_fixed_size > was->group_segment_fixed_size ||
                       is->wavefront_size < was->wavefront_size;
  plan.dynamic_stack = is->uses_dynamic_stack || is->descriptor.uses_dynamic_stack();
  return plan;
}

}  // namespace rochound::codeobj
