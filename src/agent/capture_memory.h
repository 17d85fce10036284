// SPDX-License-Identifier: MIT
//
// Which memory belongs to a launch, and its bytes: the kernel arguments, the code object's image
// (module variables live there), and of the program's allocations all, or those that can be reached
// from there by following whatever looks like a pointer. What was not taken is listed all the same.
// Used by one thread, while the allocations and the code objects are held.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/allocations.h"
#include "agent/code_objects.h"
#include "agent/memory_reader.h"
#include "capture/bundle_writer.h"
#include "capture/layout.h"
#include "capture/manifest.h"

namespace rochound::agent {

class CaptureMemory {
 public:
  // disk: the folder that the bundle is made in.
  CaptureMemory(const HeldAllocations& held, const LoadedCode& code, uint64_t kernarg,
                uint64_t kernarg_bytes, const std::string& disk, MemoryReader* reader);

  // Copies the bytes into the bundle. False: problem() says why.
  bool TakeBefore(bool all, capture::BundleWriter* writer);
  bool TakeAfter(capture::BundleWriter* writer);

  const std::vector<capture::Region>& regions() const { return regions_; }
  const std::vector<std::byte>& kernarg() const { return kernarg_; }
  const std::string& problem() const { return problem_; }

 private:
  // host_base: see capture::Region.
  void Add(uint64_t base, uint64_t size, const char* kind, MemoryReader::Place place,
           uint64_t host_base = 0);
  MemoryReader::Place PlaceAt(uint64_t address) const;
  void SplitOutKernarg(uint64_t address, uint64_t size);
  bool ReadKernarg(uint64_t address, uint64_t size);
  // Marks the regions that the words of these bytes point into, and puts them into the queue.
  void Follow(std::span<const std::byte> bytes, uint64_t address, const std::string& from,
              uint64_t from_base);
  // Which regions are taken. All are read once for that, if they are to be followed.
  bool Choose(bool all);
  bool Read(size_t region, const MemoryReader::Take& take);
  bool Store(capture::Phase phase, size_t region, capture::BundleWriter* writer);
  void Reach(size_t region, const std::string& from);
  bool RoomFor(uint64_t bytes);

  MemoryReader& reader_;
  std::vector<capture::Region> regions_;  // by base, disjoint
  std::vector<MemoryReader::Place> places_;
  Reservations reservations_;
  std::vector<size_t> queue_;
  std::vector<std::byte> kernarg_;
  std::string problem_;
  uint64_t kernarg_address_;
  uint64_t image_ = 0;  // of the kernel's own code object
  std::string disk_;    // a folder on it
};

}  // namespace rochound::agent
