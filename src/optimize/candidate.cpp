// SPDX-License-Identifier: MIT
#include "optimize/candidate.h"

#include <fmt/format.h>

#include <algorithm>

#include "codeobj/disassembly.h"
#include "codeobj/fat_binary.h"
#include "codeobj/occupancy.h"

namespace rochound::optimize {
namespace {

using base::Error;
using base::Result;

// What an offload bundle of one kernel may unfold to.
constexpr uint64_t kLargestObject = uint64_t{256} << 20;

// Instructions that tell a kernel when, or on which part of the GPU, it runs: with them it could
// work in one launch and not in another.
constexpr std::string_view kClocks[] = {"s_memtime", "s_memrealtime", "s_get_shader_cycles"};
constexpr std::string_view kTelltales[] = {"HW_REG_SHADER_CYCLES", "HW_REG_HW_ID", "HW_REG_XCC_ID",
                                           "REALTIME", "HW_REG_SQ_SHADER"};

bool TellsTime(const std::string& text) {
  return std::any_of(std::begin(kClocks), std::end(kClocks),
                     [&](std::string_view name) { return text.starts_with(name); }) ||
         std::any_of(std::begin(kTelltales), std::end(kTelltales),
                     [&](std::string_view name) { return text.find(name) != std::string::npos; });
}

// Barriers of a workgroup give up its own cache only: gl0, sc0, and scopes below the device.
bool Synchronises(const std::string& text) {
  const std::string_view name = std::string_view(text).substr(0, text.find(' '));
  const bool cache = (name.starts_with("buffer_") || name.starts_with("global_")) &&
                     name != "buffer_gl0_inv" && text.find("SCOPE_SE") == text.npos &&
                     (name != "buffer_inv" || text.find("sc1") != text.npos);
  return (name.find("atomic") != name.npos && !name.starts_with("ds_")) ||
         (cache && (name.find("inv") != name.npos || name.find("wb") != name.npos));
}

using IsIt = bool (*)(const std::string& text);

// The first such instruction of one function; empty: none.
std::string FirstIn(const KernelFile& file, const codeobj::Kernel& function, IsIt is_it) {
  const auto code = codeobj::Disassemble(file.object_bytes(), file.object(), function, false);
  if (!code.ok()) return {};
  for (const codeobj::Instruction& instruction : code.value())
    if (is_it(instruction.text)) return instruction.text;
  return {};
}

// In the kernel, or in what it may call.
std::string FirstIn(const KernelFile& file, IsIt is_it) {
  std::string first = FirstIn(file, file.kernel(), is_it);
  const auto& kernels = file.object().kernels();
  for (const codeobj::Symbol& function : file.object().functions()) {
    if (!first.empty()) break;
    if (std::any_of(kernels.begin(), kernels.end(),
                    [&](const codeobj::Kernel& one) { return one.name == function.name; }))
      continue;
    codeobj::Kernel part;
    part.name = function.name;
    part.code_address = function.address;
    part.code_size = function.size;
    first = FirstIn(file, part, is_it);
  }
  return first;
}

// A variable of the candidate's own that launches can change: none of the original's has its name.
const codeobj::Symbol* OwnVariable(const KernelFile& original, const KernelFile& candidate) {
  for (const codeobj::Symbol& variable : candidate.object().variables()) {
    if (!variable.writable || variable.size == 0) continue;
    // hipcc's mark of a compilation: one byte, and a write to it is a stray one.
    if (variable.name.starts_with("__hip_cuid_") && variable.size == 1) continue;
    const auto& known = original.object().variables();
    if (std::none_of(known.begin(), known.end(),
                     [&](const codeobj::Symbol& one) { return one.name == variable.name; }))
      return &variable;
  }
  return nullptr;
}

// Segments that a launch could write to. One holds what the loader needs, one hipcc's mark.
ptrdiff_t WritableSegments(const KernelFile& file) {
  const auto& segments = file.object().segments();
  return std::count_if(segments.begin(), segments.end(),
                       [](const codeobj::Segment& one) { return one.writable; });
}

}  // namespace

Result<std::unique_ptr<KernelFile>> KernelFile::Find(std::string bytes, const std::string& kernel,
                                                     const codeobj::Target& gpu) {
  std::unique_ptr<KernelFile> file(new KernelFile);
  file->bytes_ = std::move(bytes);
  ROCHOUND_TRY(const auto objects, codeobj::FindCodeObjects(file->bytes_, kLargestObject));
  std::string problem = fmt::format("it has no code for {}", gpu.Id());
  for (const codeobj::EmbeddedObject& embedded : objects) {
    if (!codeobj::RunsOn(embedded.target, gpu)) continue;
    auto parsed = codeobj::CodeObject::Parse(embedded.bytes);
    if (!parsed.ok()) {
      problem = parsed.error().message;
      continue;
    }
    const auto found = parsed.value().GetKernel(kernel);
    if (!found.ok()) {
      problem = found.error().message;
      continue;
    }
    file->owner_ = embedded.owner;
    file->object_bytes_ = embedded.bytes;
    file->object_ = std::make_unique<codeobj::CodeObject>(std::move(parsed).value());
    file->kernel_ = file->object_->FindKernel(kernel);
    return file;
  }
  return Error{problem};
}

Resources ResourcesOf(const KernelFile& file, uint64_t workgroup_size, uint64_t lds) {
  const codeobj::Kernel& kernel = file.kernel();
  Resources resources;
  resources.vgprs = kernel.vgpr_count;
  resources.agprs = kernel.agpr_count;
  resources.sgprs = kernel.sgpr_count;
  resources.vgpr_spills = kernel.vgpr_spill_count;
  resources.sgpr_spills = kernel.sgpr_spill_count;
  resources.lds = lds;
  resources.scratch = kernel.private_segment_fixed_size;
  resources.code = kernel.code_size;
  const auto occupancy =
      codeobj::TheoreticalOccupancy(file.object().target(), kernel, workgroup_size, lds);
  if (!occupancy.ok()) return resources;
  resources.waves = occupancy.value().waves_per_simd;
  resources.slots = occupancy.value().slots_per_simd;
  resources.workgroups = occupancy.value().workgroups;
  for (const std::string& limit : occupancy.value().limited_by)
    resources.limited_by += (resources.limited_by.empty() ? "" : ", ") + limit;
  return resources;
}

bool SameCode(const KernelFile& one, const KernelFile& other) {
  const auto code = [](const KernelFile& file) {
    std::string bytes;
    for (const codeobj::Segment& segment : file.object().segments())
      if (segment.executable && segment.offset <= file.object_bytes().size())
        bytes += file.object_bytes().substr(segment.offset, segment.file_size);
    return bytes;
  };
  const codeobj::Kernel &a = one.kernel(), &b = other.kernel();
  return code(one) == code(other) && a.vgpr_count == b.vgpr_count && a.sgpr_count == b.sgpr_count &&
         a.agpr_count == b.agpr_count && a.group_segment_fixed_size == b.group_segment_fixed_size &&
         a.private_segment_fixed_size == b.private_segment_fixed_size &&
         a.kernarg_segment_size == b.kernarg_segment_size &&
         a.descriptor.rsrc1 == b.descriptor.rsrc1 && a.descriptor.rsrc2 == b.descriptor.rsrc2 &&
         a.descriptor.properties == b.descriptor.properties;
}

bool SynchronisesWorkgroups(const KernelFile& file) { return !FirstIn(file, Synchronises).empty(); }

uint64_t MostLds(const codeobj::Target& gpu) {
  return (gpu.processor.starts_with("gfx95") ? uint64_t{160} : uint64_t{64}) << 10;
}

std::optional<Rejection> CompareFiles(const KernelFile& original, const KernelFile& candidate,
                                      const codeobj::SwapLaunch& launch,
                                      const codeobj::Target& gpu) {
  const auto plan = codeobj::PlanSwap({original.object(), original.object_bytes()},
                                      {candidate.object(), candidate.object_bytes()},
                                      candidate.kernel().name, gpu);
  if (!plan.ok()) return Rejection{Reason::kSignature, plan.error().message};
  const uint64_t most_lds = MostLds(gpu);
  if (plan.value().GroupBytes(launch) > most_lds)
    return Rejection{Reason::kLimits,
                     fmt::format("a workgroup needs {} bytes of LDS, and the GPU has {}",
                                 plan.value().GroupBytes(launch), most_lds)};
  if (!plan.value().Takes(launch, most_lds))
    return Rejection{Reason::kSignature, plan.value().WhyNot(launch, most_lds)};
  if (const codeobj::Symbol* const variable = OwnVariable(original, candidate))
    return Rejection{
        Reason::kOwnState,
        fmt::format("it has a variable '{}' ({} bytes) that launches can change and the original "
                    "has not: results could be kept there",
                    variable->name, variable->size)};
  if (WritableSegments(candidate) > std::max<ptrdiff_t>(2, WritableSegments(original)))
    return Rejection{Reason::kOwnState,
                     "it has memory without a name that launches can change: results could be kept "
                     "there"};
  if (const std::string clock = FirstIn(candidate, TellsTime);
      !clock.empty() && FirstIn(original, TellsTime).empty())
    return Rejection{
        Reason::kReadsClock,
        fmt::format("it has the instruction '{}': with it a kernel can behave differently when it "
                    "is measured",
                    clock)};
  return std::nullopt;
}

}  // namespace rochound::optimize
