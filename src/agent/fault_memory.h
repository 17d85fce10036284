// SPDX-License-Identifier: MIT
//
// The memory that kernels in flight lead to, saved when a GPU has failed: what their arguments
// point to, what pointers in there point to, and the variables of their code objects. So that
// afterwards it can be told which pointer led where. Bounded in bytes and in time: a GPU that
// failed may answer no more. On the thread that was told of the fault, or asked about a hang. The
// program goes on allocating meanwhile, but for the time of one copy by the GPU.
#pragma once

#include <hsa/hsa.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/allocations.h"
#include "agent/code_objects.h"
#include "agent/memory_reader.h"

namespace rochound::agent {

class FaultMemory {
 public:
  // `patience_ns`: for one copy by the GPU. 0: it copies nothing, and only what the host sees is
  // saved.
  FaultMemory(hsa_agent_t gpu, uint64_t patience_ns);

  void AddArguments(const std::vector<std::byte>& kernarg);
  void AddVariables(const LoadedCode& code);
  // Follows what was added. Afterwards pieces() is complete.
  void Follow();

  const std::map<uint64_t, std::string>& pieces() const { return pieces_; }  // disjoint

 private:
  struct Lead {
    uint64_t address;
    uint64_t size;
  };
  // Leads to memory that a pointer of these bytes points into.
  void AddPointers(const std::byte* bytes, size_t size, uint64_t reach);
  void Take(uint64_t address, uint64_t size, int depth);
  bool Read(uint64_t address, uint64_t size, std::string* piece);
  // None: nobody reads it.
  std::optional<MemoryReader::Place> Find(const HeldAllocations& held, uint64_t address,
                                          uint64_t size) const;

  std::optional<MemoryReader> reader_;  // none: the GPU copies nothing
  std::map<uint64_t, std::string> pieces_;
  std::vector<Lead> leads_;
  uint64_t bytes_ = 0;
  bool stopped_ = false;
};

}  // namespace rochound::agent
