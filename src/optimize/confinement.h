// SPDX-License-Identifier: MIT
//
// Keeps a child process from doing harm: candidates come from anybody, and so do the sources that
// they are compiled from. Prepared before fork, applied in the child before it becomes the program
// (base/limited_run.h), and inherited by all that it starts:
//
//   files    nothing is written, made, renamed or removed but below `writable`, and device files;
//            nothing is read but below `readable`, if that names anything (Landlock)
//   network  no sockets but those between processes of this machine (seccomp)
//   others   no signals to, and no tracing of, processes outside (Landlock, seccomp)
//   end      it is killed when the process that started it dies
//   sizes    memory, processor time, core files (rlimits)
//
// What a kernel of the machine's own cannot do is in `gaps`, and the rest is still done.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace rochound::optimize {

struct Limits {
  std::vector<std::filesystem::path> writable;
  std::vector<std::filesystem::path> readable;  // empty: everything that the user may read
  uint64_t memory_bytes = uint64_t{16} << 30;   // of one process
  uint64_t cpu_seconds = 600;                   // of one process
};

class Confinement {
 public:
  static base::Result<Confinement> Prepare(const Limits& limits);
  Confinement(Confinement&& other) noexcept;
  Confinement& operator=(Confinement&&) = delete;
  ~Confinement();

  // In the child, after fork. An errno, or 0.
  int Apply() const;

  // "files: this kernel has no Landlock"; empty: everything above holds.
  const std::vector<std::string>& gaps() const { return gaps_; }

 private:
  Confinement() = default;

  int ruleset_ = -1;
  uint64_t memory_bytes_ = 0, cpu_seconds_ = 0;
  std::vector<std::string> gaps_;
};

}  // namespace rochound::optimize
