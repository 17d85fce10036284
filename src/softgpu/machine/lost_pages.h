// SPDX-License-Identifier: MIT
//
// Memory of the program's own that a GPU may use can go away without the driver being told: free()
// gives large blocks back by an munmap inside the C library. A GPU gets a memory fault then; a
// thread that stands in for one would end the process with SIGSEGV. A handler of that signal puts
// an empty page where a GPU's thread missed one, so that the access goes on, as on hardware it
// does with nothing; the thread asks TakeLostPage before anybody hears that its work is done, and
// reports the fault. Costs nothing until it happens. The same for memory that the program has
// protected (mprotect): what was in it is put back.
//
// All other segmentation faults go to whoever handled them before. A program that installs a
// handler of its own later gets ours too.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "softgpu/machine/device.h"

namespace rochound::softgpu {

// Installs the handler, the first time.
void InstallLostPageHandler();

// For as long as it lives, this thread's accesses through `memory` may miss pages. On the stack of
// a thread whose signal mask lets SIGSEGV through.
class LostPageWatch {
 public:
  explicit LostPageWatch(const AddressSpace::Reader& memory);
  ~LostPageWatch();
  LostPageWatch(const LostPageWatch&) = delete;
  LostPageWatch& operator=(const LostPageWatch&) = delete;

 private:
  friend std::optional<MemoryFault> TakeLostPage();
  friend struct LostPageHandler;

  struct Page {
    void* place = nullptr;
    void* kept = nullptr;   // what was there; nullptr: nothing
    bool readable = false;  // it was protected from writes alone
  };

  const AddressSpace::Reader& memory_;
  MemoryFault first_;
  size_t count_ = 0;
  // To be put back. What one thread misses beyond that, before it comes to ask, stays.
  std::array<Page, 256> pages_;
};

// What this thread's accesses missed first since the last call. The Reader is entered.
std::optional<MemoryFault> TakeLostPage();

}  // namespace rochound::softgpu
