// SPDX-License-Identifier: MIT
//
// A fault as the agent wrote it down (src/agent/faults.cpp), read back and joined with what the
// code objects beside it say about the kernels' arguments. Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "codeobj/disassembly.h"
#include "doctor/fault/reach.h"

namespace rochound::doctor {

struct FaultMemory {
  uint64_t base = 0;
  uint64_t size = 0;
  std::string kind;
  uint64_t host_base = 0;
  int owner = -1;
  uint32_t thread = 0;    // that allocated it
  uint32_t freed_by = 0;  // 0: it is still there
  uint64_t freed_ns = 0;
  // Return addresses, innermost first; empty without --stacks.
  std::vector<uint64_t> stack;
  std::vector<uint64_t> freed_stack;

  uint64_t end() const { return base + size; }
  bool Has(uint64_t address) const { return address - base < size; }
};

struct FaultArgument {
  int index = -1;        // among the explicit ones, from 0; -1: hidden
  uint64_t offset = 0;   // of these eight bytes among the arguments
  std::string name;      // how to call it: "argument 2 (out)"
  uint64_t value = 0;    // a pointer's
  bool pointer = false;  // or eight bytes of a structure that may be one
};

struct FaultDispatch {
  std::string kernel;    // symbol
  std::string readable;  // C++ name
  std::string target;    // the code object's; empty: not known
  uint64_t packet = 0;   // place in its queue
  // The GPU may have started it: it is the oldest of its queue, or the GPU has taken its packet.
  bool started = true;
  uint64_t kernarg = 0;
  uint64_t completion_signal = 0;
  std::string kernarg_bytes;
  uint64_t load_delta = 0;  // loaded address - address in the code object
  std::array<uint64_t, 3> grid{};
  std::array<uint64_t, 3> workgroup{};
  uint64_t group_bytes = 0;
  uint64_t fixed_group_bytes = 0;
  uint64_t private_bytes = 0;
  bool dynamic_stack = false;
  std::vector<FaultArgument> arguments;
  std::vector<FaultArgument> numbers;  // values of up to eight bytes, sign-extended
  // Empty where the code object, or what disassembles it, is not there.
  std::vector<codeobj::Instruction> code;
  Reach reach;
  std::string no_code;  // why there is no code
};

// What a packet waits for: (value & mask) condition wanted.
struct SignalWait {
  uint64_t signal = 0;
  std::optional<int64_t> value;  // nothing: it could not be read
  int64_t wanted = 0;
  int64_t mask = -1;
  std::string condition;  // ==, !=, < or >=

  bool Holds() const;
};

// A packet that was not over.
struct FaultPacket {
  uint64_t packet = 0;
  std::string type;  // dispatch, barrier_and, barrier_or, barrier_value, other
  uint64_t completion_signal = 0;
  std::vector<SignalWait> waits;

  bool Waits() const;
};

struct FaultQueue {
  uint32_t index = 0;
  int agent = -1;
  bool failed = false;
  double front_seconds = 0;              // since when what is first is first; 0: nothing is
  std::vector<FaultPacket> packets;      // in order
  std::vector<FaultDispatch> under_way;  // the oldest first
};

// Memory of the process that was saved when the GPU failed.
class SavedMemory {
 public:
  void Add(uint64_t address, std::string bytes) { pieces_[address] = std::move(bytes); }
  bool Read(uint64_t address, void* to, size_t bytes) const;

 private:
  std::map<uint64_t, std::string> pieces_;  // disjoint
};

struct FaultAgent {
  std::string name;
  std::string isa;
  bool gpu = false;
  std::string product;
  std::string real_target;  // gfx1030, by the driver; empty: not known
};

struct FaultRecord {
  std::string kind;  // memory, queue, hang
  int agent = -1;
  uint64_t address = 0;  // of the page
  std::vector<std::string> reasons;
  std::string status;
  uint64_t seconds = 0;
  uint64_t when_ns = 0;
  std::map<std::string, std::string> environment;
  std::vector<FaultAgent> agents;
  std::vector<FaultQueue> queues;
  std::vector<uint64_t> copy_signals;  // that copies in flight complete
  std::vector<FaultMemory> live;       // by base
  std::vector<FaultMemory> freed;      // the latest first
  std::string maps;                    // /proc/self/maps
  SavedMemory saved;
};

base::Result<FaultRecord> ReadFaultRecord(const std::filesystem::path& file);

}  // namespace rochound::doctor
