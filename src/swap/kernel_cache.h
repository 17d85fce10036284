// SPDX-License-Identifier: MIT
//
// The directory of kernels that `rochound run --kernel-cache` swaps in. Looks for code objects in
// it, writes the list of their kernels for the agent (codeobj/cache_list.h), and goes on watching
// it while the program runs. Code objects inside other files are unpacked beside the
// log. What others may write to is left out unless asked otherwise: its code would run in the
// user's name. One thread; files may be anything.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/convert/filter.h"

namespace rochound::swap {

struct KernelCacheOptions {
  std::filesystem::path directory;  // absolute
  std::string pattern;              // regular expression of names that are swapped; empty: all
  bool shared = false;              // others may write there
};

// "triton": where Triton keeps its kernels; anything else is a path. Empty: none is wanted.
std::filesystem::path KernelCacheDirectory(const std::string& asked);

// Why this must not be a kernel cache; empty: it may.
std::string WhyNotTrusted(const std::filesystem::path& directory);

class KernelCache {
 public:
  // folder: the list and what is unpacked go there; it must be nobody else's.
  static base::Result<KernelCache> Open(const KernelCacheOptions& options,
                                        const std::filesystem::path& folder);
  KernelCache(KernelCache&& other) noexcept;
  KernelCache& operator=(KernelCache&&) = delete;
  ~KernelCache();

  const std::filesystem::path& list() const { return list_; }
  size_t kernels() const { return kernels_; }  // in the list
  // What was left out, and why: for the user.
  std::vector<std::string> TakeRemarks() { return std::move(remarks_); }

  // Puts what was added since into the list; the time until the next look.
  std::chrono::milliseconds Look();

 private:
  KernelCache(KernelCacheOptions options, store::Filter filter, std::filesystem::path folder);

  base::Result<void> Start();
  void AddDirectory(const std::filesystem::path& directory);
  void AddFile(const std::filesystem::path& file);
  base::Result<std::filesystem::path> Unpack(std::string_view bytes);
  bool IsNew(const std::filesystem::path& file);
  bool Trusted(const std::filesystem::path& path);
  base::Result<void> WriteList();

  KernelCacheOptions options_;
  store::Filter filter_;
  std::filesystem::path folder_, list_;
  int watch_ = -1;                                    // inotify; -1: not watched
  std::map<int, std::filesystem::path> directories_;  // by watch
  struct Version {
    int64_t changed_ns;
    uint64_t bytes, inode;
    bool operator==(const Version&) const = default;
  };
  std::map<std::filesystem::path, Version> files_;  // as they were looked at
  uint64_t round_ = 1;
  size_t kernels_ = 0, unpacked_ = 0;
  std::string lines_;  // of this round
  std::vector<std::string> remarks_;
};

}  // namespace rochound::swap
