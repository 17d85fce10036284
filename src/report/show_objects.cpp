// SPDX-License-Identifier: MIT
#include "report/show_objects.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/progress_bar.h"
#include "codeobj/code_object.h"
#include "codeobj/demangle.h"
#include "codeobj/disassembly.h"
#include "codeobj/fat_binary.h"
#include "report/show_kernel.h"
#include "report/show_text.h"

namespace rochound::report {
namespace {

using base::Error;
using base::Result;
using codeobj::Kernel;
using nlohmann::ordered_json;

struct Object {
  codeobj::EmbeddedObject found;
  codeobj::CodeObject object;
  std::vector<const Kernel*> kernels;  // those that were asked for
};

bool Called(const Kernel& kernel, const std::string& name) {
  return kernel.name.find(name) != std::string::npos ||
         codeobj::Demangle(kernel.name).find(name) != std::string::npos;
}

// What was asked for: at least one object, and with a name at least one kernel.
Result<std::vector<Object>> Find(std::string_view bytes, const ShowOptions& options) {
  ROCHOUND_TRY(const std::vector<codeobj::EmbeddedObject> all, codeobj::FindCodeObjects(bytes));
  codeobj::Target target;
  if (!options.target.empty()) {
    ROCHOUND_TRY(target, codeobj::ParseTarget(options.target));
  }
  std::vector<Object> objects;
  size_t kernels = 0;
  base::ProgressBar progress("reading code objects");
  for (const codeobj::EmbeddedObject& found : all) {
    progress.Show(static_cast<double>(&found - all.data()) / static_cast<double>(all.size()));
    if (!options.target.empty() && !codeobj::RunsOn(found.target, target)) continue;
    auto parsed = codeobj::CodeObject::Parse(found.bytes);
    if (!parsed.ok()) return parsed.error().In("the part for " + Plain(found.triple));
    Object object{found, std::move(parsed).value(), {}};
    for (const Kernel& kernel : object.object.kernels())
      if (options.kernel.empty() || Called(kernel, options.kernel))
        object.kernels.push_back(&kernel);
    // A moved vector keeps its elements where they are, so the pointers stay good.
    kernels += object.kernels.size();
    if (options.kernel.empty() || !object.kernels.empty()) objects.push_back(std::move(object));
  }
  if (objects.empty() && kernels == 0 && !options.kernel.empty())
    return Error{
        fmt::format("no kernel is called '{}'; without --kernel all are listed", options.kernel)};
  if (objects.empty()) {
    std::string list;
    for (const codeobj::EmbeddedObject& found : all)
      if (const std::string id = found.target.Id(); list.find(id) == std::string::npos)
        list += (list.empty() ? "" : ", ") + id;
    return Error{
        fmt::format("nothing here runs on {}; there is code for {}", options.target, list)};
  }
  return objects;
}

LaunchSize SizeOf(const Kernel& kernel, const ShowOptions& options) {
  return {options.workgroup, kernel.group_segment_fixed_size + options.dynamic_lds};
}

Result<std::string> KernelText(const Object& object, const Kernel& kernel,
                               const ShowOptions& options) {
  std::string text = fmt::format("{}\n  symbol       {}\n", Plain(codeobj::Demangle(kernel.name)),
                                 Plain(kernel.name));
  text += ResourcesText(object.object.target(), kernel, SizeOf(kernel, options));
  text += LayoutText(kernel);
  if (!options.disassembly) return text;
  ROCHOUND_TRY(const auto instructions,
               codeobj::Disassemble(object.found.bytes, object.object, kernel, options.source));
  text += fmt::format("Disassembly{}\n",
                      options.source && !codeobj::HasSourceLines(object.found.bytes)
                          ? " (without source lines: compile with -g or -gline-tables-only)"
                          : "");
  return text + DisassemblyText(instructions, options.source);
}

}  // namespace

Result<std::string> ObjectsText(std::string_view name, std::string_view bytes,
                                const ShowOptions& options) {
  ROCHOUND_TRY(const std::vector<Object> objects, Find(bytes, options));
  std::string text;
  for (const Object& object : objects) {
    const codeobj::CodeObject& parsed = object.object;
    text += fmt::format("{}{}: {}, code object version {}, {}, {} kernel{}, {} variable{}\n",
                        text.empty() ? "" : "\n", Plain(name), parsed.target().Id(),
                        parsed.version(), HumanBytes(object.found.bytes.size()),
                        parsed.kernels().size(), parsed.kernels().size() == 1 ? "" : "s",
                        parsed.variables().size(), parsed.variables().size() == 1 ? "" : "s");
    if (options.kernel.empty() && !options.disassembly) {
      if (!parsed.kernels().empty()) text += '\n' + KernelTable(parsed);
      if (!options.all || parsed.variables().empty()) continue;
      Columns columns({">address", ">size", "section", "variable"});
      for (const codeobj::Symbol& variable : parsed.variables())
        columns.Add({fmt::format("{:#x}", variable.address), std::to_string(variable.size),
                     Plain(variable.section), Plain(codeobj::Demangle(variable.name))});
      text += '\n' + columns.Text("  ");
      continue;
    }
    for (const Kernel* kernel : object.kernels) {
      ROCHOUND_TRY(const std::string one, KernelText(object, *kernel, options));
      text += '\n' + one;
    }
  }
  return text;
}

Result<ordered_json> ObjectsJson(std::string_view name, std::string_view bytes,
                                 const ShowOptions& options) {
  ROCHOUND_TRY(const std::vector<Object> objects, Find(bytes, options));
  ordered_json list = ordered_json::array();
  for (const Object& object : objects) {
    ordered_json kernels = ordered_json::array();
    for (const Kernel* kernel : object.kernels) {
      ordered_json entry = KernelJson(object.object.target(), *kernel, SizeOf(*kernel, options));
      if (options.disassembly) {
        ROCHOUND_TRY(
            const auto instructions,
            codeobj::Disassemble(object.found.bytes, object.object, *kernel, options.source));
        entry["disassembly"] = DisassemblyJson(instructions);
      }
      kernels.push_back(std::move(entry));
    }
    ordered_json variables = ordered_json::array();
    for (const codeobj::Symbol& variable : object.object.variables())
      variables.push_back({{"name", codeobj::Demangle(variable.name)},
                           {"symbol", variable.name},
                           {"address", variable.address},
                           {"size", variable.size},
                           {"section", variable.section}});
    list.push_back({{"target", object.object.target().Id()},
                    {"triple", object.found.triple},
                    {"version", object.object.version()},
                    {"bytes", object.found.bytes.size()},
                    {"kernels", std::move(kernels)},
                    {"variables", std::move(variables)}});
  }
  return ordered_json{{"file", std::string(name)}, {"code_objects", std::move(list)}};
}

}  // namespace rochound::report
