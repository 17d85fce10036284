// SPDX-License-Identifier: MIT
#include "doctor/libraries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <sstream>

#include "codeobj/elf_view.h"
#include "doctor/mapped_file.h"

namespace rochound::doctor {
namespace {

using codeobj::ElfView;

constexpr const char* kFamilies[] = {"libamdhip64", "libhsa-runtime64", "libamd_comgr",
                                     "libdrm_amdgpu", "libdrm"};

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::string Folder(const std::string& path) { return path.substr(0, path.rfind('/')); }
std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::vector<std::string> SearchPath(std::string_view text, const std::string& origin) {
  std::vector<std::string> folders;
  for (std::string part : Split(std::string(text), ':')) {
    for (const std::string variable : {"$ORIGIN", "${ORIGIN}"}) {
      for (size_t at; (at = part.find(variable)) != std::string::npos;)
        part.replace(at, variable.size(), origin);
    }
    folders.push_back(part);
  }
  return folders;
}

// libamdhip64.so.7.2.53211 -> 7.2.53211
std::string VersionOf(const std::string& name) {
  const size_t at = name.find(".so.");
  return at == std::string::npos ? "" : name.substr(at + 4);
}

std::string FamilyOf(const std::string& name) {
  for (const char* family : kFamilies)
    if (name.rfind(std::string(family) + ".so", 0) == 0) return family;
  return {};
}

}  // namespace

std::optional<LoaderFacts> ReadLoaderFacts(const Sysroot& root, const std::string& path) {
  const MappedFile file(root.Place(path));
  if (!ElfView::IsElf(file.bytes())) return std::nullopt;
  const auto elf = ElfView::Open(file.bytes());
  if (!elf.ok() || elf.value().header().e_machine != EM_X86_64) return std::nullopt;
  LoaderFacts facts;
  std::vector<Elf64_Dyn> entries;
  for (const Elf64_Phdr& segment : elf.value().segments()) {
    if (segment.p_type != PT_DYNAMIC) continue;
    const auto table = elf.value().Part(segment.p_offset, segment.p_filesz);
    if (!table) continue;
    for (size_t i = 0; (i + 1) * sizeof(Elf64_Dyn) <= table->size(); ++i) {
      entries.push_back(codeobj::ReadAt<Elf64_Dyn>(*table, i));
      if (entries.back().d_tag == DT_NULL) break;
    }
  }
  const auto value = [&](int64_t tag) -> uint64_t {
    for (const Elf64_Dyn& entry : entries)
      if (entry.d_tag == tag) return entry.d_un.d_val;
    return 0;
  };
  const auto strings = elf.value().AtAddress(value(DT_STRTAB), value(DT_STRSZ));
  if (!strings) return facts;
  const std::string origin = Folder(root.Resolve(path));
  for (const Elf64_Dyn& entry : entries) {
    const std::string_view text = codeobj::TextAt(*strings, entry.d_un.d_val);
    if (entry.d_tag == DT_NEEDED) facts.needed.emplace_back(text);
    if (entry.d_tag == DT_SONAME) facts.soname = text;
    if (entry.d_tag == DT_RPATH) facts.rpath = SearchPath(text, origin);
    if (entry.d_tag == DT_RUNPATH) facts.runpath = SearchPath(text, origin);
  }
  if (!facts.runpath.empty()) facts.rpath.clear();  // as the loader does
  return facts;
}

Loader::Loader(const Sysroot& root, const Environment& environment) : root_(root) {
  for (const std::string& folder : Split(Variable(environment, "LD_LIBRARY_PATH"), ':'))
    library_path_.push_back(folder.empty() ? "." : folder);
  ReadCache();
  ReadConf("/etc/ld.so.conf", 0);
  for (const char* folder : {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
                             "/usr/lib64", "/lib", "/usr/lib"})
    folders_.emplace_back(folder);
}

void Loader::ReadCache() {
  const auto content = root_.Read("/etc/ld.so.cache");
  if (!content) return;
  // The form since glibc 2.2; older ones put another table before it.
  const size_t start = content->find("glibc-ld.so.cache1.1");
  if (start == std::string::npos) return;
  const std::string_view table = std::string_view(*content).substr(start);
  struct Header {
    char magic[20];
    uint32_t count, strings, flags, extension, unused[3];
  };
  struct Entry {
    int32_t flags;
    uint32_t key, value, os_version;
    uint64_t hwcap;
  };
  constexpr int32_t kX8664Library = 0x0303;
  if (table.size() < sizeof(Header)) return;
  const auto header = codeobj::ReadAt<Header>(table, 0);
  const std::string_view entries = table.substr(sizeof(Header));
  for (size_t i = 0; i < header.count && (i + 1) * sizeof(Entry) <= entries.size(); ++i) {
    const auto entry = codeobj::ReadAt<Entry>(entries, i);
    if (entry.flags != kX8664Library) continue;
    cache_.emplace_back(codeobj::TextAt(table, entry.key), codeobj::TextAt(table, entry.value));
    const std::string folder = Folder(cache_.back().second);
    if (std::find(folders_.begin(), folders_.end(), folder) == folders_.end())
      folders_.push_back(folder);
  }
}

void Loader::ReadConf(const std::string& path, int depth) {
  std::istringstream lines(root_.Read(path).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    std::istringstream words(line);
    std::string word;
    if (!(words >> word)) continue;
    if (word != "include") {
      if (std::find(folders_.begin(), folders_.end(), word) == folders_.end())
        folders_.push_back(word);
      continue;
    }
    words >> word;
    if (depth > 4) continue;
    const std::string folder = Folder(word);
    for (const std::string& name : root_.List(folder))
      if (name.size() > 5 && name.compare(name.size() - 5, 5, ".conf") == 0)
        ReadConf(folder + "/" + name, depth + 1);
  }
}

std::string Loader::Find(const std::string& soname, const LoaderFacts* who) const {
  if (soname.find('/') != std::string::npos) return root_.Exists(soname) ? soname : "";
  const auto in = [&](const std::vector<std::string>& folders) -> std::string {
    for (const std::string& folder : folders) {
      std::string path = folder + "/" + soname;
      if (root_.Exists(path)) return path;
    }
    return {};
  };
  std::string found;
  if (who != nullptr) found = in(who->rpath);
  if (found.empty()) found = in(library_path_);
  if (found.empty() && who != nullptr) found = in(who->runpath);
  for (const auto& [name, path] : cache_)
    if (found.empty() && name == soname && root_.Exists(path)) found = path;
  return found.empty() ? in(folders_) : found;
}

std::vector<Loader::Loaded> Loader::Closure(const std::string& path) const {
  std::vector<Loaded> list = {{FileName(path), path, ""}};
  std::set<std::string> seen;
  // RPATH, unlike RUNPATH, serves what a library needs, too.
  std::deque<std::pair<size_t, std::vector<std::string>>> waiting = {{0, {}}};
  while (!waiting.empty()) {
    const auto [index, inherited] = waiting.front();
    waiting.pop_front();
    const std::string by = list[index].path;
    auto facts = ReadLoaderFacts(root_, by);
    if (!facts) continue;
    facts->rpath.insert(facts->rpath.end(), inherited.begin(), inherited.end());
    for (const std::string& soname : facts->needed) {
      if (!seen.insert(soname).second) continue;
      list.push_back({soname, Find(soname, &*facts), by});
      if (!list.back().path.empty()) waiting.emplace_back(list.size() - 1, facts->rpath);
    }
  }
  return list;
}

std::vector<InstalledLibrary> FindInstalled(const Sysroot& root, const Loader& loader,
                                            const std::vector<std::string>& extra_folders) {
  std::vector<std::string> folders = loader.library_path();
  folders.insert(folders.end(), loader.folders().begin(), loader.folders().end());
  for (const std::string& name : root.List("/opt")) {
    if (name.rfind("rocm", 0) != 0) continue;
    for (const char* inner : {"lib", "lib64"}) folders.push_back("/opt/" + name + "/" + inner);
  }
  folders.insert(folders.end(), extra_folders.begin(), extra_folders.end());
  std::vector<InstalledLibrary> installed;
  std::set<std::string> seen;
  for (const std::string& folder : folders) {
    for (const std::string& name : root.List(folder)) {
      const std::string family = FamilyOf(name);
      if (family.empty()) continue;
      const std::string path = root.Resolve(folder + "/" + name);
      if (!seen.insert(path).second) continue;
      const auto facts = ReadLoaderFacts(root, path);
      if (!facts) continue;
      installed.push_back({family, path, facts->soname, VersionOf(FileName(path))});
    }
  }
  return installed;
}

namespace {

// The ROCm that a library belongs to, by where it is: /opt/rocm-6.2.0, /usr, a wheel.
std::string Home(const std::string& path) {
  std::string folder = Folder(path);
  for (const char* end : {"/lib/x86_64-linux-gnu", "/lib64", "/lib"}) {
    const size_t length = strlen(end);
    if (folder.size() >= length && folder.compare(folder.size() - length, length, end) == 0)
      return folder.size() == length ? "/usr" : folder.substr(0, folder.size() - length);
  }
  return folder;
}

std::string Describe(const InstalledLibrary& library) {
  return library.version.empty() || library.path.find(library.version) != std::string::npos
             ? library.path
             : fmt::format("{} ({})", library.path, library.version);
}

void JudgeCopies(const std::vector<InstalledLibrary>& installed, const Loader& loader,
                 const Sysroot& root, Report* report) {
  std::map<std::string, std::vector<const InstalledLibrary*>> by_soname;
  std::map<std::string, std::set<std::string>> sonames;
  for (const InstalledLibrary& library : installed) {
    by_soname[library.soname].push_back(&library);
    sonames[library.family].insert(library.soname);
  }
  for (const auto& [soname, copies] : by_soname) {
    if (copies.size() < 2) continue;
    const std::string taken = root.Resolve(loader.Find(soname));
    std::vector<std::string> evidence;
    for (const InstalledLibrary* copy : copies)
      evidence.push_back(Describe(*copy) + (copy->path == taken ? ", which is loaded" : ""));
    report->findings.push_back(
        {Severity::kWarning, "two-copies",
         fmt::format("there are {} copies of {}; a program takes the one it finds first, here {}",
                     copies.size(), soname, taken.empty() ? "none of them" : taken),
         fmt::format(
             "keep one: remove the package you do not use, or take its folder out of "
             "LD_LIBRARY_PATH and /etc/ld.so.conf.d (then run ldconfig). A pip wheel's copy "
             "is used by that wheel alone; do not load the other one in the same process"),
         std::move(evidence)});
  }
  for (const auto& [family, names] : sonames) {
    if (names.size() < 2) continue;
    std::vector<std::string> evidence;
    for (const InstalledLibrary& library : installed)
      if (library.family == family) evidence.push_back(Describe(library));
    report->findings.push_back(
        {Severity::kNote, "two-generations",
         fmt::format(
             "{} is here in {} generations, which may live side by side: each program takes "
             "the one it was built with ({})",
             family, names.size(), fmt::join(names, ", ")),
         "do not load two of them into one process (rochound doctor -- PROGRAM tells)",
         std::move(evidence)});
  }
}

}  // namespace

void JudgeLibraries(const Machine& machine, const Loader& loader,
                    const std::vector<std::string>& extra_folders, Report* report) {
  const Sysroot& root = machine.root;
  const std::vector<InstalledLibrary> installed = FindInstalled(root, loader, extra_folders);
  const bool gpu = !machine.kfd.empty();
  for (const char* family : {"libhsa-runtime64", "libamdhip64", "libamd_comgr", "libdrm_amdgpu"}) {
    Fact fact{family, {}, Verdict::kUnknown, ""};
    const InstalledLibrary* first = nullptr;
    for (const InstalledLibrary& library : installed) {
      if (library.family != family) continue;
      // The newest generation first, as the probe does.
      if (first == nullptr || library.soname > first->soname) first = &library;
    }
    if (first != nullptr) {
      const std::string taken = loader.Find(first->soname);
      fact.verdict = Verdict::kAgree;
      fact.said.push_back({"loaded", taken.empty() ? "not found by the loader: " + first->path
                                                   : root.Resolve(taken)});
      if (taken.empty()) {
        report->findings.push_back(
            {Severity::kWarning,
             "not-in-loader-path",
             fmt::format("{} is installed, but the loader does not look there", first->path),
             fmt::format(
                 "echo {} | sudo tee /etc/ld.so.conf.d/rocm.conf && sudo ldconfig; a program "
                 "that was linked with an RPATH finds it without",
                 Folder(first->path)),
             {}});
      }
    } else {
      fact.said.push_back({"loaded", "not installed"});
      const std::string name = family;
      if (gpu && (name == "libhsa-runtime64" || name == "libamdhip64")) {
        report->findings.push_back(
            {name == "libamdhip64" ? Severity::kWarning : Severity::kError,
             "no-" + name,
             fmt::format(
                 "{} is not installed: {}", family,
                 name == "libamdhip64" ? "no HIP program can run" : "no program can reach the GPU"),
             name == "libamdhip64" ? "install libamdhip64-7 (Debian), hip-runtime-amd (AMD's "
                                     "packages), or a ROCm wheel"
                                   : "install libhsa-runtime64-1 (Debian) or hsa-rocr (AMD's "
                                     "packages)",
             {}});
      }
    }
    report->machine.push_back(std::move(fact));
  }
  JudgeCopies(installed, loader, root, report);

  // Whether HIP gets the HSA runtime and the compiler library of its own release.
  for (const InstalledLibrary& hip : installed) {
    if (hip.family != "libamdhip64" || root.Resolve(loader.Find(hip.soname)) != hip.path) continue;
    for (const Loader::Loaded& needed : loader.Closure(hip.path)) {
      const std::string family = FamilyOf(needed.soname);
      if (family != "libhsa-runtime64" && family != "libamd_comgr") continue;
      if (needed.path.empty()) {
        report->findings.push_back(
            {Severity::kError,
             "library-not-found",
             fmt::format("{} needs {}, which the loader does not find", hip.path, needed.soname),
             "install the missing package of the same release, or add its folder to "
             "/etc/ld.so.conf.d and run ldconfig",
             {}});
        continue;
      }
      const std::string path = root.Resolve(needed.path);
      if (Home(path) == Home(hip.path)) continue;
      report->findings.push_back(
          {Severity::kWarning,
           "mixed-rocm",
           fmt::format("{} would be loaded with {} of another installation", hip.path, path),
           loader.library_path().empty()
               ? "let both come from one release: remove one of the two, and run ldconfig"
               : "take the other release out of LD_LIBRARY_PATH, or point it to one release only",
           {fmt::format("LD_LIBRARY_PATH={}", Variable(machine.environment, "LD_LIBRARY_PATH"))}});
    }
  }
}

}  // namespace rochound::doctor
