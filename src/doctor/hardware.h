// SPDX-License-Identifier: MIT
//
// What AMD says about its GPUs: the known-hardware table that facts are compared with. Constant
// data; docs/hardware.md names the source of the rows. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rochound::doctor {

inline constexpr int kAnyRevision = -1;

struct KnownGpu {
  const char* product;
  const char* target;
  unsigned device_id;
  int revision;            // kAnyRevision: the device id is enough
  unsigned compute_units;  // of one die that is a GPU of its own; 0: several variants share the id
  unsigned xccs;           // dies that make up one GPU and that partition modes divide; 1: none
  unsigned dies;           // GPUs on the card, as the product page counts it
  unsigned memory_gib;     // nominal, of one such GPU; 0: several variants, or shared with the CPU
  unsigned l2_kib;         // of the whole GPU
  unsigned l3_mib;         // Infinity Cache; 0: none
  unsigned boost_mhz;      // product page; 0: not stated
};

// What follows from the target.
struct KnownTarget {
  const char* target;
  const char* architecture;  // RDNA 2
  unsigned wavefront;
  unsigned lds_kib;  // that one workgroup may use
  bool wgp;          // two compute units form a work-group processor
  // The target whose code this one runs when told to by HSA_OVERRIDE_GFX_VERSION, since their
  // instructions are the same and libraries often lack the rarer one; "" if none.
  const char* nearest;
};

std::span<const KnownGpu> KnownGpus();
std::span<const KnownTarget> KnownTargets();

// nullptr: not known.
const KnownGpu* FindKnownGpu(uint64_t device_id, uint64_t revision);
const KnownTarget* FindKnownTarget(std::string_view target);

// They are the same, or one stands for the other, or both for a third.
bool SameInstructions(std::string_view one, std::string_view other);

}  // namespace rochound::doctor
