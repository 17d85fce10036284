// SPDX-License-Identifier: MIT
#include "doctor/run/layers.h"

#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "codeobj/elf_view.h"
#include "doctor/libraries.h"
#include "doctor/mapped_file.h"

namespace rochound::doctor {
namespace {

using codeobj::ElfView;

// Those that have CUDA's functions, the nearest to the program first.
constexpr std::string_view kCuda[] = {"libtorch_cuda", "libcudnn",     "libcublasLt", "libcublas",
                                      "libcufft",      "libcurand",    "libcusparse", "libcusolver",
                                      "libnvrtc",      "libnvidia-ml", "libcudart",   "libnvcuda",
                                      "libcuda"};
constexpr size_t kNamesShown = 6;

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool IsFile(const std::string& path, std::string_view library) {
  const std::string name = FileName(path);
  return name.rfind(std::string(library) + ".so", 0) == 0;
}

struct Symbols {
  std::set<std::string> exported;
  std::set<std::string> wanted;
};

bool IsCudaFunction(std::string_view name) {
  const size_t prefix = name.rfind("cuda", 0) == 0 ? 4 : name.rfind("cu", 0) == 0 ? 2 : 0;
  return prefix != 0 && name.size() > prefix && isupper(static_cast<unsigned char>(name[prefix]));
}

// CUDA's functions only.
Symbols ReadSymbols(std::string_view bytes) {
  Symbols symbols;
  if (!ElfView::IsElf(bytes)) return symbols;
  const auto elf = ElfView::Open(bytes);
  if (!elf.ok()) return symbols;
  const auto& sections = elf.value().sections();
  for (const ElfView::Section& section : sections) {
    if (section.header.sh_type != SHT_DYNSYM || section.header.sh_link >= sections.size()) continue;
    const auto table = elf.value().Content(section);
    const auto names = elf.value().Content(sections[section.header.sh_link]);
    if (!table || !names) continue;
    for (size_t i = 0; i < table->size() / sizeof(Elf64_Sym); ++i) {
      const auto symbol = codeobj::ReadAt<Elf64_Sym>(*table, i);
      const std::string_view name = codeobj::TextAt(*names, symbol.st_name);
      if (!IsCudaFunction(name)) continue;
      (symbol.st_shndx == SHN_UNDEF ? symbols.wanted : symbols.exported).emplace(name);
    }
  }
  return symbols;
}

std::string Some(const std::set<std::string>& names) {
  std::vector<std::string> shown(
      names.begin(),
      std::next(names.begin(), static_cast<ptrdiff_t>(std::min(names.size(), kNamesShown))));
  return fmt::format("{}{}", fmt::join(shown, ", "), names.size() > shown.size() ? ", ..." : "");
}

bool HasText(std::string_view bytes, std::string_view lower) {
  const auto same = [](char in_file, char wanted) {
    return tolower(static_cast<unsigned char>(in_file)) == wanted;
  };
  return std::search(bytes.begin(), bytes.end(), lower.begin(), lower.end(), same) != bytes.end();
}

void LookAtCuda(const Sysroot& root, const Symbols& program, bool with_hip, Layer* layer) {
  const MappedFile file(layer->path);
  if (file.bytes().empty()) {
    layer->what = with_hip ? "unknown CUDA layer" : "CUDA";
    layer->evidence.push_back("the file is not here any more, so only its name is known");
    return;
  }
  const Symbols own = ReadSymbols(file.bytes());
  const auto needed = ReadLoaderFacts(root, layer->path);
  std::vector<std::string> amd;
  if (needed)
    for (const std::string& name : needed->needed)
      if (name.rfind("libamdhip64", 0) == 0 || name.rfind("libhsa-runtime64", 0) == 0 ||
          name.rfind("libhip", 0) == 0 || name.rfind("libroc", 0) == 0)
        amd.push_back(name);
  const bool zluda = HasText(file.bytes(), "zluda");
  const bool nvidia = HasText(file.bytes(), "nvidia corporation");
  layer->what = zluda                      ? "ZLUDA"
                : nvidia && amd.empty()    ? "NVIDIA's own"
                : with_hip || !amd.empty() ? "unknown CUDA layer"
                                           : "CUDA";
  if (zluda) layer->evidence.push_back("it says \"zluda\" in its bytes");
  if (!amd.empty()) layer->evidence.push_back(fmt::format("it needs {}", fmt::join(amd, ", ")));
  if (!own.exported.empty())
    layer->evidence.push_back(
        fmt::format("it has {} functions of CUDA: {}", own.exported.size(), Some(own.exported)));
  std::set<std::string> owned;
  std::set_intersection(program.wanted.begin(), program.wanted.end(), own.exported.begin(),
                        own.exported.end(), std::inserter(owned, owned.end()));
  if (!owned.empty())
    layer->evidence.push_back(
        fmt::format("the program's calls of {} functions go there: {}", owned.size(), Some(owned)));
}

}  // namespace

std::vector<Layer> FindLayers(const std::string& executable,
                              const std::vector<std::string>& libraries) {
  const Sysroot root("/");
  std::vector<Layer> layers;
  layers.push_back({FileName(executable), executable, "program", "", {}});
  const auto add = [&](std::string_view library, const char* kind) {
    for (const std::string& path : libraries)
      if (IsFile(path, library)) layers.push_back({FileName(path), path, kind, "", {}});
  };
  for (const std::string_view library : kCuda) add(library, "cuda");
  const bool cuda = layers.size() > 1;
  const size_t before = layers.size();
  add("libamdhip64", "hip");
  const bool hip = layers.size() > before;
  add("libhsa-runtime64", "hsa");
  if (cuda) {
    const MappedFile program(executable);
    const Symbols wanted = ReadSymbols(program.bytes());
    for (Layer& layer : layers)
      if (layer.kind == "cuda") LookAtCuda(root, wanted, hip, &layer);
  }
  const bool software = std::any_of(libraries.begin(), libraries.end(), [](const auto& path) {
    return FileName(path).rfind("librochound_softgpu", 0) == 0;
  });
  if (layers.back().kind == "hsa")
    layers.push_back({"KFD", "", "driver", software ? "software GPU" : "", {}});
  return layers;
}

std::string Chain(const std::vector<Layer>& layers) {
  std::string text;
  for (const Layer& layer : layers) {
    text += (text.empty() ? "" : " -> ") + layer.name;
    if (!layer.what.empty()) text += fmt::format(" ({})", layer.what);
  }
  return text;
}

}  // namespace rochound::doctor
