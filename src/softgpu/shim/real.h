// SPDX-License-Identifier: MIT
//
// The functions that the shim is in front of: the next library's, or, before the dynamic
// linker's look-up has been done for them, the system call. Interposed functions may be called
// before our constructor has run (another library's constructor, a sanitizer's start-up), so
// everything here is constant-initialised, and nothing is ever destroyed.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace rochound::softgpu::shim {

// Also for open and ioctl, whose last argument is optional: on x86-64 a variadic integer or pointer
// is passed like a named one.
template <typename Function>
class Next;

template <typename Result, typename... Arguments>
class Next<Result(Arguments...)> {
 public:
  using Pointer = Result (*)(Arguments...);

  constexpr explicit Next(const char* name) : name_(name) {}

  // nullptr before Resolve: the caller makes the system call itself.
  Pointer IfResolved() const { return pointer_.load(std::memory_order_acquire); }

  // For functions that are no system call. nullptr if no other library has it.
  Pointer Resolve() {
    Pointer pointer = IfResolved();
    if (pointer == nullptr) {
      pointer = reinterpret_cast<Pointer>(dlsym(RTLD_NEXT, name_));
      pointer_.store(pointer, std::memory_order_release);
    }
    return pointer;
  }

 private:
  const char* name_;
  std::atomic<Pointer> pointer_{nullptr};
};

}  // namespace rochound::softgpu::shim
