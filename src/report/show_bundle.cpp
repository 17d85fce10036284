// SPDX-License-Identifier: MIT
#include "report/show_bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "capture/bundle.h"
#include "capture/describe.h"
#include "codeobj/code_object.h"
#include "codeobj/demangle.h"
#include "codeobj/disassembly.h"
#include "report/show_kernel.h"
#include "report/show_text.h"

namespace rochound::report {
namespace {

using base::Result;
using capture::Bundle;
using capture::Manifest;
using capture::Region;
using nlohmann::ordered_json;

// What both outputs are made from.
struct View {
  Manifest manifest;                        // described, also where the bundle was not packed
  codeobj::CodeObject object;               // empty if it cannot be read
  const codeobj::Kernel* kernel = nullptr;  // null if it is not found there
  LaunchSize size;
  std::vector<uint64_t> changed;  // bytes of changed pages, per region
  uint64_t taken_regions = 0, taken_bytes = 0, left_regions = 0, left_bytes = 0;
  uint64_t workgroups = 1;

  const capture::Agent* agent() const {
    const auto index = static_cast<size_t>(manifest.agent);
    return index < manifest.agents.size() ? &manifest.agents[index] : nullptr;
  }
};

View Look(const Bundle& bundle) {
  View view;
  view.manifest = bundle.manifest();
  if (view.manifest.arguments.empty())
    capture::DescribeLaunch(view.manifest, bundle.kernarg(), bundle.code_object());
  if (auto object = codeobj::CodeObject::Parse(capture::AsText(bundle.code_object()));
      object.ok()) {
    view.object = std::move(object).value();
    view.kernel = view.object.FindKernel(view.manifest.kernel);
  }
  const capture::Launch& launch = view.manifest.launch;
  view.size.lds = launch.group_bytes;
  view.size.workgroup = 1;
  for (size_t i = 0; i < 3; ++i) {
    const uint64_t size = std::max<uint32_t>(launch.workgroup[i], 1);
    view.size.workgroup *= size;
    view.workgroups *= std::max<uint64_t>(1, (launch.grid[i] + size - 1) / size);
  }
  for (uint32_t i = 0; i < view.manifest.regions.size(); ++i) {
    const Region& region = view.manifest.regions[i];
    (region.taken ? view.taken_regions : view.left_regions) += 1;
    (region.taken ? view.taken_bytes : view.left_bytes) += region.size;
    uint64_t changed = 0;
    if (region.taken)
      for (const capture::Extent& extent : bundle.after(i)) changed += extent.bytes;
    view.changed.push_back(changed);
  }
  return view;
}

template <typename T>
T As(std::string_view bytes) {
  T value{};
  memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
  return value;
}

std::string Hex(std::string_view bytes) {
  constexpr size_t kShown = 32;
  std::string text;
  for (size_t i = 0; i < std::min(bytes.size(), kShown); ++i)
    text += fmt::format("{}{:02x}", i > 0 && i % 4 == 0 ? " " : "", static_cast<uint8_t>(bytes[i]));
  if (bytes.size() > kShown) text += fmt::format(" ... ({} bytes)", bytes.size());
  return text;
}

// Without qualifiers: "float const" -> "float".
std::string Bare(std::string_view type) {
  std::string bare(type);
  for (const std::string_view word : {"const", "volatile", "__restrict__", "restrict"})
    for (size_t at = bare.find(word); at != std::string::npos; at = bare.find(word))
      bare.erase(at, word.size());
  const size_t start = bare.find_first_not_of(' ');
  if (start == std::string::npos) return {};
  return bare.substr(start, bare.find_last_not_of(' ') + 1 - start);
}

std::string RegionText(const Manifest& manifest, size_t index) {
  const Region& region = manifest.regions[index];
  return fmt::format("{} region {} ({:#x}, {})", Plain(region.kind), index, region.base,
                     HumanBytes(region.size));
}

std::string PointerText(const Manifest& manifest, uint64_t address) {
  if (address == 0) return "null";
  const int32_t region = capture::FindRegion(manifest, address);
  if (region < 0) return fmt::format("{:#x}, which is in no known allocation", address);
  const auto index = static_cast<size_t>(region);
  const uint64_t offset = address - manifest.regions[index].base;
  return fmt::format("{:#x} = {}{}{}", address, RegionText(manifest, index),
                     offset == 0 ? "" : fmt::format(" + {:#x}", offset),
                     manifest.regions[index].taken ? "" : ", not taken");
}

struct PointerInside {
  uint64_t offset;  // in the argument
  size_t region;
  uint64_t region_offset;
};

// Words of a value, such as a struct's members, that are addresses of known memory.
std::vector<PointerInside> PointersInside(const Manifest& manifest,
                                          const capture::Argument& argument,
                                          std::string_view bytes) {
  std::vector<PointerInside> found;
  for (uint64_t offset = (8 - argument.offset % 8) % 8; offset + 8 <= bytes.size(); offset += 8) {
    const auto address = As<uint64_t>(bytes.substr(offset));
    const int32_t region = capture::FindRegion(manifest, address);
    if (region < 0) continue;
    const auto index = static_cast<size_t>(region);
    found.push_back({offset, index, address - manifest.regions[index].base});
  }
  return found;
}

std::string ByValueText(const Manifest& manifest, const capture::Argument& argument,
                        std::string_view bytes) {
  std::string text = ValueText(argument.type_name, bytes);
  const char* separator = "; ";
  for (const PointerInside& pointer : PointersInside(manifest, argument, bytes)) {
    text += fmt::format(
        "{}at +{} = {}{}", std::exchange(separator, ", "), pointer.offset,
        RegionText(manifest, pointer.region),
        pointer.region_offset == 0 ? "" : fmt::format(" + {:#x}", pointer.region_offset));
  }
  return text;
}

std::string Duration(uint64_t ns) {
  const auto number = static_cast<double>(ns);
  if (ns < 1'000'000) return fmt::format("{:.1f} us", number / 1e3);
  if (ns < 1'000'000'000) return fmt::format("{:.1f} ms", number / 1e6);
  return fmt::format("{:.2f} s", number / 1e9);
}

std::string OwnerText(const Manifest& manifest, int32_t owner) {
  const auto index = static_cast<size_t>(owner);
  if (owner < 0 || index >= manifest.agents.size()) return "?";
  const capture::Agent& agent = manifest.agents[index];
  return fmt::format("{} {}", Plain(agent.device == "cpu" ? agent.device : agent.name), agent.node);
}

bool Hidden(const capture::Argument& argument) {
  return argument.value_kind.starts_with("hidden_");
}

std::string ArgumentsText(const View& view, std::string_view kernarg, bool all) {
  const Manifest& manifest = view.manifest;
  std::string text =
      fmt::format("Arguments (kernarg segment of {} at {:#x})\n",
                  HumanBytes(manifest.launch.kernarg_bytes), manifest.launch.kernarg);
  if (manifest.arguments.empty())
    return text + fmt::format("  {}\n", kernarg.empty() ? "none" : Hex(kernarg));
  Columns columns({">#", ">offset", ">size", "type", "name", "value"});
  size_t hidden = 0;
  for (size_t i = 0; i < manifest.arguments.size(); ++i) {
    const capture::Argument& argument = manifest.arguments[i];
    if (Hidden(argument) && !all) {
      ++hidden;
      continue;
    }
    const std::string_view bytes =
        kernarg.substr(std::min<size_t>(argument.offset, kernarg.size()), argument.size);
    const bool pointer = argument.value_kind == "global_buffer" && bytes.size() == 8;
    const std::string& type = argument.type_name.empty() ? argument.value_kind : argument.type_name;
    columns.Add({Hidden(argument) ? "-" : std::to_string(i), std::to_string(argument.offset),
                 std::to_string(argument.size), Plain(type), Plain(argument.name),
                 pointer ? PointerText(manifest, As<uint64_t>(bytes))
                         : ByValueText(manifest, argument, bytes)});
  }
  text += columns.Text("  ");
  if (hidden > 0)
    text += fmt::format("  and {} that the runtime fills in (--all shows them)\n", hidden);
  return text;
}

std::string MemoryText(const View& view, const Bundle& bundle, bool all) {
  const auto& regions = view.manifest.regions;
  const auto count = [](uint64_t number) {
    return fmt::format("{} region{}", number, number == 1 ? "" : "s");
  };
  std::string text = fmt::format("Memory ({}): {} of {} taken, {} stored; {} of {} left\n",
                                 Plain(view.manifest.memory), count(view.taken_regions),
                                 HumanBytes(view.taken_bytes), HumanBytes(bundle.stored_bytes()),
                                 count(view.left_regions), HumanBytes(view.left_bytes));
  constexpr size_t kShown = 40;
  Columns columns(
      {">region", ">base", ">size", "kind", "access", "owner", "taken", ">changed", "found by"});
  // What was left is many and of little interest; it comes last.
  std::vector<size_t> order;
  for (const bool taken : {true, false})
    for (size_t i = 0; i < regions.size(); ++i)
      if (regions[i].taken == taken) order.push_back(i);
  const size_t shown = all ? order.size() : std::min(order.size(), kShown);
  for (size_t i = 0; i < shown; ++i) {
    const Region& region = regions[order[i]];
    columns.Add({std::to_string(order[i]), fmt::format("{:#x}", region.base),
                 HumanBytes(region.size), Plain(region.kind), Plain(region.access),
                 OwnerText(view.manifest, region.owner), region.taken ? "yes" : "no",
                 region.taken ? HumanBytes(view.changed[order[i]]) : "?",
                 Plain(region.reached_by)});
  }
  if (!regions.empty()) text += columns.Text("  ");
  if (shown < order.size())
    text += fmt::format("  and {} more (--all shows them)\n", order.size() - shown);
  return text;
}

Result<std::vector<codeobj::Instruction>> Instructions(const Bundle& bundle, const View& view,
                                                       bool source) {
  if (view.kernel == nullptr)
    return base::Error{"nothing to disassemble: the kernel was not found in the code object"};
  return codeobj::Disassemble(capture::AsText(bundle.code_object()), view.object, *view.kernel,
                              source);
}

std::string LaunchText(const View& view) {
  const Manifest& manifest = view.manifest;
  const capture::Launch& launch = manifest.launch;
  std::string text =
      fmt::format("{}\n", manifest.kernel.empty() ? "unknown kernel"
                                                  : Plain(codeobj::Demangle(manifest.kernel)));
  const auto line = [&](const char* what, const std::string& value) {
    text += fmt::format("  {:<10} {}\n", what, value);
  };
  line("symbol", Plain(manifest.kernel));
  line("captured", fmt::format("{} by {}", Plain(manifest.created), Plain(manifest.made_by)));
  line("program", fmt::format("{} (pid {} on {})", Plain(manifest.command), manifest.pid,
                              Plain(manifest.host)));
  std::string dispatch =
      fmt::format("number {} of its process, match {}", launch.dispatch, launch.match);
  if (launch.duration_ns > 0) dispatch += "; took " + Duration(launch.duration_ns);
  line("launch", dispatch);
  if (const capture::Agent* agent = view.agent()) {
    line("GPU", fmt::format("{}, {}, {} CUs, driver node {}", Plain(agent->product),
                            Plain(agent->isa), agent->compute_units, agent->node));
  }
  const uint64_t wave =
      view.kernel != nullptr && view.kernel->wavefront_size > 0 ? view.kernel->wavefront_size : 64;
  const uint64_t waves = (view.size.workgroup + wave - 1) / wave;
  line("shape", fmt::format("grid {} in workgroups of {}: {} workgroup{} of {} wave{}",
                            Shape(launch.grid), Shape(launch.workgroup), view.workgroups,
                            view.workgroups == 1 ? "" : "s", waves, waves == 1 ? "" : "s"));
  if (const capture::Agent* agent = view.agent();
      agent != nullptr && view.workgroups < agent->compute_units)
    line("", fmt::format("fewer workgroups than CUs: {} of {} have nothing to do",
                         agent->compute_units - view.workgroups, agent->compute_units));
  return text;
}

}  // namespace

std::string ValueText(std::string_view type, std::string_view bytes) {
  const std::string bare = Bare(type);
  const size_t size = bytes.size();
  const auto is = [&](std::initializer_list<std::string_view> names, size_t wanted) {
    return size == wanted && std::find(names.begin(), names.end(), bare) != names.end();
  };
  if (is({"float"}, 4)) return fmt::format("{}", As<float>(bytes));
  if (is({"double"}, 8)) return fmt::format("{}", As<double>(bytes));
  if (is({"bool"}, 1)) return As<uint8_t>(bytes) != 0 ? "true" : "false";
  if (is({"int"}, 4)) return fmt::format("{}", As<int32_t>(bytes));
  if (is({"unsigned int", "unsigned", "uint"}, 4)) return fmt::format("{}", As<uint32_t>(bytes));
  if (is({"long", "long long"}, 8)) return fmt::format("{}", As<int64_t>(bytes));
  if (is({"unsigned long", "unsigned long long", "ulong"}, 8))
    return fmt::format("{}", As<uint64_t>(bytes));
  if (is({"short"}, 2)) return fmt::format("{}", As<int16_t>(bytes));
  if (is({"unsigned short", "ushort"}, 2)) return fmt::format("{}", As<uint16_t>(bytes));
  if (is({"char", "signed char"}, 1)) return fmt::format("{}", As<int8_t>(bytes));
  if (is({"unsigned char", "uchar"}, 1)) return fmt::format("{}", As<uint8_t>(bytes));
  // Not known: as a number, and as a float where that is one that somebody would write.
  const auto likely = [](double value) {
    return std::isfinite(value) && std::abs(value) >= 1e-6 && std::abs(value) < 1e9;
  };
  switch (size) {
    case 1:
      return fmt::format("{} ({:#04x})", As<int8_t>(bytes), As<uint8_t>(bytes));
    case 2:
      return fmt::format("{} ({:#06x})", As<int16_t>(bytes), As<uint16_t>(bytes));
    case 4: {
      const std::string as_float =
          likely(As<float>(bytes)) ? fmt::format(", as float {}", As<float>(bytes)) : "";
      return fmt::format("{} ({:#x}{})", As<int32_t>(bytes), As<uint32_t>(bytes), as_float);
    }
    case 8: {
      const std::string as_double =
          likely(As<double>(bytes)) ? fmt::format(", as double {}", As<double>(bytes)) : "";
      return fmt::format("{} ({:#x}{})", As<int64_t>(bytes), As<uint64_t>(bytes), as_double);
    }
    default:
      return Hex(bytes);
  }
}

Result<std::string> BundleText(const Bundle& bundle, const ShowOptions& options) {
  const View view = Look(bundle);
  std::string text;
  for (const std::string& note : view.manifest.notes)
    text += fmt::format("Note: {}\n", Plain(note));
  if (!text.empty()) text += '\n';
  text += LaunchText(view) + '\n';
  text += ArgumentsText(view, capture::AsText(bundle.kernarg()), options.all) + '\n';
  text += MemoryText(view, bundle, options.all);
  if (view.kernel != nullptr)
    text += '\n' + ResourcesText(view.object.target(), *view.kernel, view.size);
  if (options.disassembly) {
    ROCHOUND_TRY(const auto instructions, Instructions(bundle, view, options.source));
    text += fmt::format(
        "\nDisassembly{}\n",
        options.source && !codeobj::HasSourceLines(capture::AsText(bundle.code_object()))
            ? " (without source lines: the kernel was compiled without -g)"
            : "");
    text += DisassemblyText(instructions, options.source);
  }
  return text;
}

Result<ordered_json> BundleJson(const Bundle& bundle, const ShowOptions& options) {
  const View view = Look(bundle);
  const Manifest& manifest = view.manifest;
  const capture::Launch& launch = manifest.launch;
  ordered_json json = {{"bundle", bundle.path().string()},
                       {"notes", manifest.notes},
                       {"symbol", manifest.kernel},
                       {"name", codeobj::Demangle(manifest.kernel)},
                       {"created", manifest.created},
                       {"command", manifest.command},
                       {"launch",
                        {{"grid", launch.grid},
                         {"workgroup", launch.workgroup},
                         {"workgroups", view.workgroups},
                         {"group_bytes", launch.group_bytes},
                         {"private_bytes", launch.private_bytes},
                         {"kernarg", fmt::format("{:#x}", launch.kernarg)},
                         {"kernarg_bytes", launch.kernarg_bytes},
                         {"duration_ns", launch.duration_ns},
                         {"dispatch", launch.dispatch},
                         {"match", launch.match}}}};
  if (const capture::Agent* agent = view.agent())
    json["gpu"] = {{"name", agent->name},
                   {"isa", agent->isa},
                   {"product", agent->product},
                   {"compute_units", agent->compute_units}};
  ordered_json arguments = ordered_json::array();
  const std::string_view kernarg = capture::AsText(bundle.kernarg());
  for (const capture::Argument& argument : manifest.arguments) {
    const std::string_view bytes =
        kernarg.substr(std::min<size_t>(argument.offset, kernarg.size()), argument.size);
    ordered_json entry = {{"name", argument.name},       {"type", argument.type_name},
                          {"kind", argument.value_kind}, {"hidden", Hidden(argument)},
                          {"offset", argument.offset},   {"size", argument.size}};
    if (argument.value_kind == "global_buffer" && bytes.size() == 8) {
      entry["address"] = fmt::format("{:#x}", As<uint64_t>(bytes));
      entry["region"] = argument.region;
      entry["region_offset"] = argument.region_offset;
    } else {
      entry["value"] = ValueText(argument.type_name, bytes);
      for (const PointerInside& pointer : PointersInside(manifest, argument, bytes))
        entry["pointers"].push_back({{"offset", pointer.offset},
                                     {"region", pointer.region},
                                     {"region_offset", pointer.region_offset}});
    }
    arguments.push_back(std::move(entry));
  }
  json["arguments"] = std::move(arguments);
  ordered_json regions = ordered_json::array();
  for (size_t i = 0; i < manifest.regions.size(); ++i) {
    const Region& region = manifest.regions[i];
    regions.push_back({{"base", fmt::format("{:#x}", region.base)},
                       {"size", region.size},
                       {"kind", region.kind},
                       {"owner", region.owner},
                       {"access", region.access},
                       {"taken", region.taken},
                       {"changed_bytes", view.changed[i]},
                       {"reached_by", region.reached_by}});
  }
  json["memory"] = {{"policy", manifest.memory},       {"taken_regions", view.taken_regions},
                    {"taken_bytes", view.taken_bytes}, {"left_regions", view.left_regions},
                    {"left_bytes", view.left_bytes},   {"stored_bytes", bundle.stored_bytes()},
                    {"regions", std::move(regions)}};
  if (view.kernel != nullptr)
    json["kernel"] = KernelJson(view.object.target(), *view.kernel, view.size);
  if (options.disassembly) {
    ROCHOUND_TRY(const auto instructions, Instructions(bundle, view, options.source));
    json["disassembly"] = DisassemblyJson(instructions);
  }
  return json;
}

}  // namespace rochound::report
