// SPDX-License-Identifier: MIT
//
// Which shared libraries of ROCm are on a machine, and which of them the dynamic loader would take:
// its rules (RPATH, LD_LIBRARY_PATH, RUNPATH, ld.so.cache, default folders) applied to the files of
// a Sysroot, without loading anything. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "doctor/finding.h"
#include "doctor/machine_facts.h"
#include "doctor/sysroot.h"

namespace rochound::doctor {

// What the loader reads of a program or library.
struct LoaderFacts {
  std::string soname;
  std::vector<std::string> needed;
  std::vector<std::string> rpath;  // $ORIGIN already replaced
  std::vector<std::string> runpath;
};

// nullopt: not an ELF file for this machine.
std::optional<LoaderFacts> ReadLoaderFacts(const Sysroot& root, const std::string& path);

class Loader {
 public:
  Loader(const Sysroot& root, const Environment& environment);

  // Where the loader finds this soname for a library with these facts (nullptr: for dlopen by a
  // program without paths of its own); empty if nowhere.
  std::string Find(const std::string& soname, const LoaderFacts* who = nullptr) const;

  struct Loaded {
    std::string soname;
    std::string path;  // empty: not found
    std::string by;    // who needs it
  };
  // Everything that a program needs, itself first, breadth first as the loader goes.
  std::vector<Loaded> Closure(const std::string& path) const;

  const std::vector<std::string>& library_path() const { return library_path_; }
  // Folders of the cache or of ld.so.conf, and the default ones.
  const std::vector<std::string>& folders() const { return folders_; }

 private:
  void ReadCache();
  void ReadConf(const std::string& path, int depth);

  const Sysroot& root_;
  std::vector<std::string> library_path_;  // LD_LIBRARY_PATH
  std::vector<std::string> folders_;
  std::vector<std::pair<std::string, std::string>> cache_;  // soname, path
};

// A copy of a library that matters.
struct InstalledLibrary {
  std::string family;  // libamdhip64
  std::string path;    // behind all links
  std::string soname;
  std::string version;  // from the file's name; empty if it does not say
};

// extra_folders: to look into besides those of the loader and of /opt/rocm*.
std::vector<InstalledLibrary> FindInstalled(const Sysroot& root, const Loader& loader,
                                            const std::vector<std::string>& extra_folders);

// What is installed, what would be loaded, and what does not fit together.
void JudgeLibraries(const Machine& machine, const Loader& loader,
                    const std::vector<std::string>& extra_folders, Report* report);

}  // namespace rochound::doctor
