// SPDX-License-Identifier: MIT
#include "probe/bitcode.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <string_view>

#include "base/files.h"
#include "codeobj/elf_view.h"
#include "codeobj/fat_binary.h"
#include "codeobj/target.h"

namespace rochound::probe {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;

constexpr std::string_view kMagic = "BC\xc0\xde";
constexpr std::string_view kWrapped = "\xde\xc0\x17\x0b";
constexpr std::string_view kUnlinked = "__CLANG_OFFLOAD_BUNDLE__hip";

bool IsText(const fs::path& file, std::string_view bytes) {
  const std::string ending = file.extension();
  return ending == ".ll" || ending == ".llir" || bytes.starts_with("; ModuleID") ||
         bytes.starts_with("source_filename");
}

// Triton writes what it compiled for beside it.
std::string TritonTarget(const fs::path& file) {
  const auto text = base::ReadFile(fs::path(file).replace_extension(".json"));
  if (!text.ok()) return {};
  const auto json = nlohmann::json::parse(text.value(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("target") || !json["target"].is_object()) return {};
  const auto arch = json["target"].find("arch");
  return arch != json["target"].end() && arch->is_string() ? arch->get<std::string>() : "";
}

Result<std::string> TargetOf(const fs::path& file, const std::string& text,
                             const std::string& asked) {
  if (!asked.empty()) return asked;
  static const std::regex kAttribute("\"target-cpu\"=\"(gfx[0-9a-z-]+)\"");
  if (std::smatch found; std::regex_search(text, found, kAttribute)) return found[1].str();
  if (std::string target = TritonTarget(file); !target.empty()) return target;
  return Error(fmt::format("'{}' does not say which GPU it is for: --target gfx942, or the like",
                           file.string()));
}

// Triton leaves the GPU's name to whoever compiles its text; the probes need it in each function.
std::string WithTarget(const std::string& text, const std::string& target) {
  std::string all;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    std::string line = text.substr(at, end - at);
    at = end;
    const size_t brace = line.find("= {");
    if (line.starts_with("attributes #") && brace != std::string::npos &&
        line.find("\"target-cpu\"") == std::string::npos)
      line.insert(brace + 3,
                  fmt::format(" \"target-cpu\"=\"{}\"", target.substr(0, target.find(':'))));
    all += line;
  }
  return all;
}

// The last -O of the compiler's arguments, which are ended by a zero byte each.
std::string LevelOf(std::string_view arguments) {
  std::string level = "-O3";
  while (!arguments.empty()) {
    const std::string_view one = arguments.substr(0, arguments.find('\0'));
    arguments.remove_prefix(std::min(one.size() + 1, arguments.size()));
    if (one.size() == 3 && one.starts_with("-O") &&
        std::string_view("0123sz").find(one[2]) != std::string_view::npos)
      level = one;
  }
  return level;
}

std::optional<std::string_view> ContentOf(const codeobj::ElfView& elf, std::string_view name) {
  for (const codeobj::ElfView::Section& section : elf.sections())
    if (section.name == name) return elf.Content(section);
  return std::nullopt;
}

Result<void> AddUnlinked(const codeobj::ElfView& elf, FoundBitcode* found) {
  for (const codeobj::ElfView::Section& section : elf.sections()) {
    if (!section.name.starts_with(kUnlinked)) continue;
    const auto content = elf.Content(section);
    if (!content || !content->starts_with(kMagic)) continue;
    ROCHOUND_TRY(const codeobj::Target target, codeobj::ParseTarget(section.name));
    found->modules.push_back({target.Id(), std::string(*content), false, true, "-O3"});
  }
  return {};
}

Result<void> AddLinked(const fs::path& file, std::string_view bytes, FoundBitcode* found) {
  ROCHOUND_TRY(const std::vector<codeobj::EmbeddedObject> objects, codeobj::FindCodeObjects(bytes));
  for (const codeobj::EmbeddedObject& object : objects) {
    ROCHOUND_TRY(const codeobj::ElfView elf, codeobj::ElfView::Open(object.bytes));
    const auto content = ContentOf(elf, ".llvmbc");
    if (!content || !content->starts_with(kMagic)) {
      found->without.push_back(
          fmt::format("'{}' has no bitcode for {}: compile it with -Xclang -fembed-bitcode=all, or "
                      "with rochound probe build",
                      file.string(), object.target.Id()));
      continue;
    }
    found->modules.push_back({object.target.Id(), std::string(*content), false, false,
                              LevelOf(ContentOf(elf, ".llvmcmd").value_or(""))});
  }
  return {};
}

}  // namespace

Result<FoundBitcode> FindBitcode(const fs::path& file, const std::string& target) {
  ROCHOUND_TRY(const std::string bytes, base::ReadFile(file));
  FoundBitcode found;
  if (IsText(file, bytes)) {
    ROCHOUND_TRY(const std::string gpu, TargetOf(file, bytes, target));
    found.modules.push_back({gpu, WithTarget(bytes, gpu), true, false, "-O3"});
    return found;
  }
  if (bytes.starts_with(kMagic) || bytes.starts_with(kWrapped)) {
    ROCHOUND_TRY(const std::string gpu, TargetOf(file, "", target));
    found.modules.push_back({gpu, bytes, false, false, "-O3"});
    return found;
  }
  if (codeobj::ElfView::IsElf(bytes)) {
    ROCHOUND_TRY(const codeobj::ElfView elf, codeobj::ElfView::Open(bytes));
    ROCHOUND_CHECK(AddUnlinked(elf, &found));
    if (!found.modules.empty()) return found;
  }
  const auto added = AddLinked(file, bytes, &found);
  if (!added.ok()) return Error(fmt::format("'{}': {}", file.string(), added.error().message));
  return found;
}

}  // namespace rochound::probe
