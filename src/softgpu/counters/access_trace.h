// SPDX-License-Identifier: MIT
//
// The access trace: every memory access of the waves, as the instructions make them, in a text file
// (docs/formats/accesses.md). Switched on for the process by ROCHOUND_SOFTGPU_ACCESSES=FILE;
// ..._ACCESSES_KERNEL (a regular expression, found in the symbol or its C++ name) and
// ..._ACCESSES_DISPATCHES (3,7-9) choose dispatches. A queue's thread asks Begin once per dispatch;
// every thread that runs its waves has an AccessWriter of its own, so the accesses of one wave are
// in order in the file. A file that cannot be written is reported once and given up; the program
// goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <regex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "softgpu/counters/dispatch_record.h"

namespace rochound::softgpu {

// A dispatch whose accesses are written.
class DispatchAccesses {
 public:
  DispatchAccesses(uint32_t process, uint64_t order, uint64_t entry)
      : process_(process), order_(order), entry_(entry) {}
  uint32_t process() const { return process_; }
  uint64_t order() const { return order_; }
  uint64_t entry() const { return entry_; }

 private:
  uint32_t process_;
  uint64_t order_;
  uint64_t entry_;  // address of the kernel's first instruction
};

// What one thread writes of one dispatch.
class AccessWriter {
 public:
  explicit AccessWriter(const DispatchAccesses& dispatch);
  ~AccessWriter();
  AccessWriter(const AccessWriter&) = delete;
  AccessWriter& operator=(const AccessWriter&) = delete;

  // An instruction has run. `parts` is where it went; those from `stored_from` on are what a load
  // to LDS stored there.
  void Add(const Wave& wave, uint64_t group, const Op& op, const OpFacts& facts, uint64_t exec,
           std::span<const MemoryPart> parts, size_t stored_from);
  // The wave has come to a barrier of its workgroup.
  void AddBarrier(const Wave& wave, uint64_t group);

 private:
  void AddParts(std::span<const MemoryPart> parts, MemoryAction action, bool* is_first);
  void Flush();

  const DispatchAccesses& dispatch_;
  std::string text_;
};

class AccessRecorder {
 public:
  // Lives for ever.
  static AccessRecorder& Instance();

  // True if dispatches have to be asked for: one load of an atomic.
  bool IsOn() const { return file_.load(std::memory_order_relaxed) >= 0; }
  // Counts the dispatch; nullptr if it is not wanted.
  std::unique_ptr<DispatchAccesses> Begin(const DispatchIdentity& identity, uint64_t entry);
  void End(const DispatchAccesses& accesses, bool completed);

  // Writes to this file from now on; an empty name ends it. What cannot be understood is reported,
  // and nothing is written.
  void Open(const std::string& path, const std::string& kernel, const std::string& dispatches);
  // Whole lines.
  void Append(const std::string& text);

  // In the child after fork.
  void AbandonAfterFork() { order_.store(0, std::memory_order_relaxed); }

  AccessRecorder(const AccessRecorder&) = delete;
  AccessRecorder& operator=(const AccessRecorder&) = delete;

 private:
  AccessRecorder();
  bool Wants(const DispatchIdentity& identity, uint64_t order) const;

  std::atomic<int> file_{-1};
  std::atomic<uint64_t> order_{0};
  std::string path_;
  std::optional<std::regex> kernel_;
  std::vector<std::pair<uint64_t, uint64_t>> dispatches_;  // first and last; none: all
};

}  // namespace rochound::softgpu
