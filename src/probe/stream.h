// SPDX-License-Identifier: MIT
//
// Reads what instrumented kernels have sent (docs/formats/probe-stream.md): a folder with one
// *.probe file per process and the code objects that they name. Every message is handed to a
// receiver, in the order in which the agent wrote it, which is the order of each wave. Called
// offline on one thread. The files may come from anybody: what does not fit together is counted
// or gives an error, never a crash.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace rochound::probe {

struct Location {
  std::string file;
  uint64_t line = 0;
  uint64_t column = 0;
  std::string function;
};

// What one instruction of the machine code would do for an access, had it no probes.
struct MachinePart {
  std::string instruction{};
  int64_t offset = 0;  // from the access's address
  uint64_t bytes = 0;
  bool scalar = false;
  bool one_lane = false;
  bool once = false;  // in each execution of the function
};

struct Site {
  std::string action;         // load, store, atomic; or barrier, block, value
  std::string pointer;        // how it is addressed: flat, global, lds, constant
  uint64_t bytes = 0;         // of each lane
  uint64_t source_bytes = 0;  // of the source's access, if bytes are those of an instruction
  int argument = -1;          // of the kernel, that the pointer was made of; -1: not known
  bool runtime = false;  // printf and the like: memory that the runtime does not allocate as ours
  bool is_volatile = false;
  bool is_atomic = false;    // also loads and stores that are
  std::vector<Location> at;  // innermost first, then where that was inlined; may be empty
  uint64_t block = 0;        // a basic block's number in its function
  std::string name;          // of a value
  bool branches = false;     // at the end of the block, to several others
  std::vector<Location> branch;
  bool machine_known = false;
  std::vector<MachinePart> machine;  // none, if known: another site's instruction does it, too
};

struct Dispatch {
  uint64_t process = 0;
  uint64_t number = 0;  // in the order of their first messages, from 0
  std::string kernel;   // symbol; empty: not known
  std::array<uint32_t, 3> grid{};
  std::array<uint32_t, 3> workgroup{};
  uint32_t lds_bytes = 0;  // of a workgroup
  uint32_t wave_size = 0;
  std::string target;  // of the kernel's code: gfx942; empty: not known
  struct Argument {
    std::string name;  // may be empty
    uint64_t value = 0;
    bool pointer = false;  // to memory, with a known value
  };
  std::vector<Argument> arguments;  // empty: not known
};

// What one wave did with one instruction, as far as it went to one kind of memory.
struct AccessMessage {
  const Dispatch* dispatch;
  const std::string* function;  // symbol of the function that the instruction is in
  std::array<uint32_t, 3> group;
  uint64_t group_number;  // x fastest
  uint64_t wave;          // in its workgroup
  const Site* site;
  const char* space;  // where it went: global, lds, scratch; of MachineView also scalar
  uint64_t mask;      // lanes, as far as they were asked for
  const std::vector<uint64_t>* addresses;  // one per lane; lds, scratch: offsets
  uint64_t begun = 0;                      // differs between executions of the function by a wave
};

// A wave came to a barrier of its workgroup.
struct BarrierMessage {
  const Dispatch* dispatch;
  uint64_t group_number;
  uint64_t wave;
  const Site* site;
};

// A wave has executed a basic block.
struct BlockMessage {
  const Dispatch* dispatch;
  const std::string* function;
  std::array<uint32_t, 3> group;
  uint64_t group_number;
  uint64_t wave;
  const Site* site;
  uint64_t began_with;  // the lanes that the function began with
  uint64_t mask;        // the block's
  uint64_t clock;       // when it began
  uint64_t cycles;
  uint64_t way;  // lanes that take one of the ways at its end: the rest takes others
};

// Something that the source asked to be told.
struct ValueMessage {
  const Dispatch* dispatch;
  const std::string* function;
  std::array<uint32_t, 3> group;
  uint64_t group_number;
  uint64_t wave;
  const Site* site;
  uint64_t mask;
  const std::vector<uint64_t>* values;  // one per lane
};

// Memory that GPUs may see came, or went.
struct MemoryMessage {
  uint64_t process;
  uint64_t base;
  uint64_t size;  // 0: it goes
  bool mapped;    // into a range that the program reserved, where neighbours are one buffer
  bool on_gpu;    // memory of a GPU's own, which the host writes with copies only
};

// Something else than a probed kernel may have written memory, or is about to. Without one of these
// with kAllTold, nobody watched that.
struct WrittenMessage {
  enum class What { kBytes, kCopy, kAllocation, kAll, kAllTold };
  uint64_t process;
  What what;
  uint64_t address;
  uint64_t bytes;       // of kBytes and kCopy
  uint64_t source = 0;  // of kCopy
};

// What a message points to lives until the receiver returns; dispatches and sites live until
// ReadStreams returns, and each has an address of its own.
class Receiver {
 public:
  virtual ~Receiver() = default;
  virtual void OnAccess(const AccessMessage&) {}
  virtual void OnBarrier(const BarrierMessage&) {}
  virtual void OnBlock(const BlockMessage&) {}
  virtual void OnValue(const ValueMessage&) {}
  virtual void OnMemory(const MemoryMessage&) {}
  virtual void OnWritten(const WrittenMessage&) {}
};

struct UnprobedSite {
  std::string why;
  std::string function;
  std::vector<Location> at;
  bool operator==(const UnprobedSite&) const;
};

struct StreamSummary {
  uint64_t processes = 0;
  uint64_t launched = 0;    // dispatches, chosen or not
  uint64_t dispatches = 0;  // the chosen ones
  uint64_t waves = 0;
  uint64_t accesses = 0;
  uint64_t blocks = 0;
  uint64_t values = 0;          // messages with them
  uint64_t block_waves = 0;     // of the waves, those that tell blocks, not accesses
  uint64_t barriers = 0;        // arrivals of waves
  uint64_t dropped = 0;         // messages that found no room
  uint64_t unwritten = 0;       // messages that could not be written to the file
  uint64_t unfinished = 0;      // words of messages that their waves did not finish
  uint64_t not_understood = 0;  // accesses whose wave or place is not known
  uint64_t without_end = 0;     // processes that were killed
  bool fault = false;           // a GPU failed
  bool cut_off = false;         // the file ends inside a message
  std::vector<UnprobedSite> unprobed;

  bool Incomplete() const {
    return dropped + unwritten + unfinished + not_understood + without_end != 0 || cut_off || fault;
  }
};

// choose: of a kernel's symbol; false: its accesses are left out.
base::Result<StreamSummary> ReadStreams(const std::filesystem::path& folder,
                                        const std::function<bool(const std::string&)>& choose,
                                        Receiver* receiver);

}  // namespace rochound::probe
