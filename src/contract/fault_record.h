// SPDX-License-Identifier: MIT
//
// The record of a fault or a hang: the agent writes it as fault.json, hang.json or now.json beside
// the flight log, the doctor reads it. Names of its members; addresses are texts ("0x7f...").
#pragma once

namespace rochound::contract::fault_record {

// The record.
inline constexpr char kVersion[] = "version";  // 1
inline constexpr char kKind[] = "kind";      // memory, queue or hang; of an allocation: what it is
inline constexpr char kStatus[] = "status";  // hsa_status_t of a queue error
inline constexpr char kStatusText[] = "status_text";  // its text
inline constexpr char kReasons[] = "reasons";         // of a memory fault, in words
inline constexpr char kAddress[] =
    "address";                             // that faulted; of a piece of saved memory: where it was
inline constexpr char kAgent[] = "agent";  // index among the agents; of a queue: whose it is
inline constexpr char kSeconds[] = "seconds";  // how long a hang had lasted
inline constexpr char kPid[] = "pid";
inline constexpr char kWhenNs[] = "when_ns";   // CLOCK_REALTIME; of an allocation: when it was made
inline constexpr char kCommand[] = "command";  // the program's command line
inline constexpr char kEnvironment[] = "environment";  // variables that change what a GPU does
inline constexpr char kAgents[] = "agents";
inline constexpr char kQueues[] = "queues";
inline constexpr char kCopySignals[] = "copy_signals";  // signals that copies in flight complete
inline constexpr char kMemory[] = "memory";             // live and freed allocations
inline constexpr char kSavedMemory[] =
    "saved_memory";  // address and size of the pieces in the file NAME-memory, in its order

// An agent.
inline constexpr char kName[] = "name";
inline constexpr char kProduct[] = "product";
inline constexpr char kIsa[] = "isa";
inline constexpr char kNode[] = "node";                            // of the topology
inline constexpr char kGfxTargetVersion[] = "gfx_target_version";  // as the driver writes it
inline constexpr char kGpu[] = "gpu";                              // else a CPU

// A queue.
inline constexpr char kIndex[] = "index";
inline constexpr char kFailed[] = "failed";       // the error is of this queue
inline constexpr char kRead[] = "read";           // read index
inline constexpr char kWrite[] = "write";         // write index
inline constexpr char kPackets[] = "packets";     // room for so many
inline constexpr char kFrontNs[] = "front_ns";    // how long the oldest packet has been in front
inline constexpr char kUnderWay[] = "under_way";  // dispatches in flight, oldest first
inline constexpr char kInRing[] = "in_ring";      // packets that the GPU has not taken

// A dispatch, a packet.
inline constexpr char kPacket[] = "packet";    // index
inline constexpr char kFetched[] = "fetched";  // the GPU has taken it
inline constexpr char kKernel[] = "kernel";    // symbol
inline constexpr char kKernelObject[] = "kernel_object";
inline constexpr char kCompletionSignal[] = "completion_signal";
inline constexpr char kCodeObject[] = "code_object";  // file beside the record; empty: not found
inline constexpr char kLoadDelta[] = "load_delta";    // loaded address - address in the file
inline constexpr char kGrid[] = "grid";
inline constexpr char kWorkgroup[] = "workgroup";
inline constexpr char kGroupBytes[] = "group_bytes";
inline constexpr char kPrivateBytes[] = "private_bytes";
inline constexpr char kKernarg[] = "kernarg";             // address
inline constexpr char kKernargBytes[] = "kernarg_bytes";  // in hexadecimal
inline constexpr char kType[] = "type";  // dispatch, barrier_and, barrier_or, barrier_value, other
inline constexpr char kWaits[] = "waits";  // of a barrier

// What a barrier waits for.
inline constexpr char kSignal[] = "signal";
inline constexpr char kValue[] = "value";  // now; null: not readable
inline constexpr char kWanted[] = "wanted";
inline constexpr char kMask[] = "mask";
inline constexpr char kCondition[] = "condition";  // ==, !=, < or >=

// Allocations.
inline constexpr char kLive[] = "live";
inline constexpr char kFreed[] = "freed";  // the last ones
inline constexpr char kBase[] = "base";    // first address
inline constexpr char kSize[] = "size";
inline constexpr char kThread[] = "thread";       // that allocated
inline constexpr char kStack[] = "stack";         // of the allocation, addresses
inline constexpr char kHostBase[] = "host_base";  // where the host sees it, if elsewhere
inline constexpr char kOwner[] = "owner";         // agent's index
inline constexpr char kFreedBy[] = "freed_by";    // thread
inline constexpr char kFreedNs[] = "freed_ns";
inline constexpr char kFreedStack[] = "freed_stack";

}  // namespace rochound::contract::fault_record
