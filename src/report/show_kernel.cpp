// SPDX-License-Identifier: MIT
#include "report/show_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/files.h"
#include "codeobj/demangle.h"
#include "codeobj/occupancy.h"
#include "report/show_text.h"

namespace rochound::report {
namespace {

using codeobj::Instruction;
using codeobj::Kernel;
using codeobj::Occupancy;
using codeobj::Target;
using nlohmann::ordered_json;

std::string TypeOf(const Kernel& kernel, size_t index, const std::vector<std::string>& declared) {
  const codeobj::Argument& argument = kernel.arguments[index];
  if (!argument.type_name.empty()) return argument.type_name;
  if (index < declared.size() && declared.size() == kernel.ExplicitArguments())
    return declared[index];
  return {};
}

std::string Spills(const Kernel& kernel) {
  return std::to_string(kernel.sgpr_spill_count + kernel.vgpr_spill_count);
}

// Lines of source files, each file read once; empty where there is none.
class Sources {
 public:
  const std::string& Line(const std::string& file, uint32_t line) {
    static const std::string kNothing;
    auto found = files_.find(file);
    if (found == files_.end()) found = files_.emplace(file, Read(file)).first;
    return line == 0 || line > found->second.size() ? kNothing : found->second[line - 1];
  }

 private:
  // The path comes from the code object: only what is a file of a reasonable size is read.
  static std::vector<std::string> Read(const std::string& file) {
    constexpr uint64_t kLargest = 64 << 20;
    std::vector<std::string> lines;
    const auto text = base::ReadFile(file, kLargest);
    if (!text.ok()) return lines;
    std::istringstream stream(text.value());
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }

  std::map<std::string, std::vector<std::string>> files_;
};

std::string Trimmed(const std::string& text) {
  const size_t start = text.find_first_not_of(" \t");
  return start == std::string::npos ? "" : text.substr(start);
}

}  // namespace

std::string KernelTable(const codeobj::CodeObject& object) {
  Columns columns({">VGPRs", ">AGPRs", ">SGPRs", ">spills", ">LDS", ">scratch", ">kernarg", ">wave",
                   ">workgroup", ">waves/SIMD", "limited by", "kernel"});
  bool any_more = false;  // registers than the metadata has
  for (const Kernel& kernel : object.kernels()) {
    const auto occupancy =
        codeobj::TheoreticalOccupancy(object.target(), kernel, 0, kernel.group_segment_fixed_size);
    const auto metadata = [&](uint64_t number) {
      return kernel.has_metadata ? std::to_string(number) : "?";
    };
    const bool more = occupancy.ok() && occupancy.value().more_than_metadata;
    any_more = any_more || more;
    columns.Add(
        {more ? fmt::format("{}*", occupancy.value().vgprs) : metadata(kernel.vgpr_count),
         metadata(kernel.agpr_count), metadata(kernel.sgpr_count),
         kernel.has_metadata ? Spills(kernel) : "?",
         std::to_string(kernel.group_segment_fixed_size),
         std::to_string(kernel.private_segment_fixed_size),
         std::to_string(kernel.kernarg_segment_size), std::to_string(kernel.wavefront_size),
         metadata(kernel.max_flat_workgroup_size),
         occupancy.ok() ? fmt::format("{} of {}", occupancy.value().waves_per_simd,
                                      occupancy.value().slots_per_simd)
                        : "?",
         occupancy.ok() ? fmt::format("{}", fmt::join(occupancy.value().limited_by, ", ")) : "?",
         Plain(codeobj::Demangle(kernel.name))});
  }
  return columns.Text("  ") +
         (any_more ? "  * as the kernel descriptor has it, which counts; the metadata has fewer\n"
                   : "");
}

std::string ResourcesText(const Target& target, const Kernel& kernel, const LaunchSize& size) {
  std::string text = "Resources\n";
  if (kernel.has_metadata) {
    text += fmt::format("  registers    {} VGPRs", kernel.vgpr_count);
    if (kernel.agpr_count > 0) text += fmt::format(" ({} of them AGPRs)", kernel.agpr_count);
    text += fmt::format(", {} SGPRs", kernel.sgpr_count);
    if (kernel.vgpr_spill_count + kernel.sgpr_spill_count > 0)
      text += fmt::format("; spilled: {} VGPRs, {} SGPRs", kernel.vgpr_spill_count,
                          kernel.sgpr_spill_count);
    text += '\n';
  }
  text += fmt::format("  LDS          {} per workgroup", HumanBytes(size.lds));
  if (size.lds > kernel.group_segment_fixed_size)
    text +=
        fmt::format(", {} of it dynamic", HumanBytes(size.lds - kernel.group_segment_fixed_size));
  text += fmt::format("\n  scratch      {} per work-item{}\n",
                      HumanBytes(kernel.private_segment_fixed_size),
                      kernel.uses_dynamic_stack ? ", and a dynamic stack" : "");
  text += fmt::format("  waves        of {} work-items", kernel.wavefront_size);
  if (kernel.max_flat_workgroup_size > 0)
    text += fmt::format("; workgroups of up to {}", kernel.max_flat_workgroup_size);
  text += fmt::format("\n  code         {}\n",
                      kernel.code_size == 0 ? "of unknown size" : HumanBytes(kernel.code_size));
  const auto found = codeobj::TheoreticalOccupancy(target, kernel, size.workgroup, size.lds);
  if (!found.ok()) return text + fmt::format("  occupancy    {}\n", found.error().message);
  const Occupancy& occupancy = found.value();
  text +=
      fmt::format("  occupancy    {} of {} waves per SIMD ({:.0f}%), in theory; ",
                  occupancy.waves_per_simd, occupancy.slots_per_simd, 100 * occupancy.fraction());
  text += occupancy.limited_by.empty()
              ? "nothing limits it\n"
              : fmt::format("limited by {}\n", fmt::join(occupancy.limited_by, " and "));
  text += fmt::format(
      "               {} workgroup{} of {} wave{} per {}; each wave has {} of {} "
      "VGPRs per lane",
      occupancy.workgroups, occupancy.workgroups == 1 ? "" : "s", occupancy.waves_per_workgroup,
      occupancy.waves_per_workgroup == 1 ? "" : "s", occupancy.wgp ? "WGP" : "CU", occupancy.vgprs,
      occupancy.vgprs_per_simd);
  if (occupancy.lds > 0)
    text += fmt::format(", each workgroup {} of {} LDS", HumanBytes(occupancy.lds),
                        HumanBytes(occupancy.lds_per_cu));
  if (occupancy.more_than_metadata)
    text +=
        fmt::format("\n               the kernel descriptor has {} VGPRs, more than the metadata",
                    occupancy.vgprs);
  text += "\n               waves per SIMD by resource:";
  for (const Occupancy::Limit& limit : occupancy.limits)
    text += fmt::format("{} {} {}", &limit == occupancy.limits.data() ? "" : ",", limit.resource,
                        limit.waves_per_simd);
  return text + '\n';
}

std::string LayoutText(const Kernel& kernel) {
  if (!kernel.has_metadata)
    return "Arguments\n  not known: the code object has no metadata for this kernel\n";
  std::string text = fmt::format("Arguments ({} in a segment of {})\n", kernel.ExplicitArguments(),
                                 HumanBytes(kernel.kernarg_segment_size));
  const std::vector<std::string> declared = codeobj::DeclaredTypes(kernel.name);
  Columns columns({">#", ">offset", ">size", "kind", "type", "name"});
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const codeobj::Argument& argument = kernel.arguments[i];
    columns.Add({argument.hidden() ? "-" : std::to_string(i), std::to_string(argument.offset),
                 std::to_string(argument.size), Plain(argument.value_kind),
                 Plain(TypeOf(kernel, i, declared)), Plain(argument.name)});
  }
  return text + columns.Text("  ");
}

std::string DisassemblyText(const std::vector<Instruction>& instructions, bool source) {
  std::string text;
  Sources sources;
  std::string shown;
  for (const Instruction& instruction : instructions) {
    std::string inlined;
    if (source && !instruction.source.empty()) {
      // The kernel's own line, which calls what was inlined.
      const codeobj::SourceFrame& own = instruction.source.back();
      const std::string place = fmt::format("{}:{}", own.file, own.line);
      if (own.line != 0 && place != shown) {
        text += fmt::format("\n; {}\n", Plain(place));
        if (const std::string line = Trimmed(sources.Line(own.file, own.line)); !line.empty())
          text += fmt::format(";   {}\n", Plain(line));
        shown = place;
      }
      if (instruction.source.size() > 1)
        inlined = fmt::format("  ; in {}", Plain(instruction.source.front().function));
    }
    text += fmt::format("{:8x}:  {}", instruction.address, Plain(instruction.text));
    if (instruction.target) text += fmt::format("  -> {:x}", *instruction.target);
    text += inlined + '\n';
  }
  return text;
}

ordered_json KernelJson(const Target& target, const Kernel& kernel, const LaunchSize& size) {
  ordered_json json = {{"name", codeobj::Demangle(kernel.name)},
                       {"symbol", kernel.name},
                       {"has_metadata", kernel.has_metadata},
                       {"vgprs", kernel.vgpr_count},
                       {"agprs", kernel.agpr_count},
                       {"sgprs", kernel.sgpr_count},
                       {"vgpr_spills", kernel.vgpr_spill_count},
                       {"sgpr_spills", kernel.sgpr_spill_count},
                       {"lds_bytes", kernel.group_segment_fixed_size},
                       {"scratch_bytes", kernel.private_segment_fixed_size},
                       {"dynamic_stack", kernel.uses_dynamic_stack},
                       {"kernarg_bytes", kernel.kernarg_segment_size},
                       {"wavefront", kernel.wavefront_size},
                       {"max_workgroup", kernel.max_flat_workgroup_size},
                       {"code_bytes", kernel.code_size},
                       {"code_address", kernel.code_address},
                       {"descriptor_address", kernel.descriptor_address}};
  const auto found = codeobj::TheoreticalOccupancy(target, kernel, size.workgroup, size.lds);
  if (found.ok()) {
    const Occupancy& occupancy = found.value();
    ordered_json limits = ordered_json::object();
    for (const Occupancy::Limit& limit : occupancy.limits)
      limits[limit.resource] = limit.waves_per_simd;
    json["occupancy"] = {{"waves_per_simd", occupancy.waves_per_simd},
                         {"slots_per_simd", occupancy.slots_per_simd},
                         {"fraction", occupancy.fraction()},
                         {"limited_by", occupancy.limited_by},
                         {"limits", limits},
                         {"simds", occupancy.simds},
                         {"unit", occupancy.wgp ? "WGP" : "CU"},
                         {"workgroups", occupancy.workgroups},
                         {"waves_per_workgroup", occupancy.waves_per_workgroup},
                         {"vgprs_allocated", occupancy.vgprs},
                         {"more_than_metadata", occupancy.more_than_metadata},
                         {"lds_allocated", occupancy.lds}};
  } else {
    json["occupancy"] = nullptr;
  }
  const std::vector<std::string> declared = codeobj::DeclaredTypes(kernel.name);
  ordered_json arguments = ordered_json::array();
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const codeobj::Argument& argument = kernel.arguments[i];
    arguments.push_back({{"name", argument.name},
                         {"type", TypeOf(kernel, i, declared)},
                         {"offset", argument.offset},
                         {"size", argument.size},
                         {"kind", argument.value_kind},
                         {"hidden", argument.hidden()}});
  }
  json["arguments"] = std::move(arguments);
  return json;
}

ordered_json DisassemblyJson(const std::vector<Instruction>& instructions) {
  ordered_json list = ordered_json::array();
  for (const Instruction& instruction : instructions) {
    ordered_json entry = {
        {"address", instruction.address}, {"size", instruction.size}, {"text", instruction.text}};
    if (instruction.target) entry["target"] = *instruction.target;
    if (!instruction.source.empty()) {
      ordered_json frames = ordered_json::array();
      for (const codeobj::SourceFrame& frame : instruction.source)
        frames.push_back({{"function", frame.function},
                          {"file", frame.file},
                          {"line", frame.line},
                          {"column", frame.column}});
      entry["source"] = std::move(frames);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace rochound::report
