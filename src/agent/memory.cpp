// SPDX-License-Identifier: MIT
//
// The agent's own operator new, local to the library: what the program uses is untouched. It exists
// so that a test can make any one of our allocations fail (ROCHOUND_TEST_FAIL_ALLOCATION=N fails
// the N-th and every later one, ROCHOUND_TEST_FAIL_CAPTURE_ALLOCATION=N the N-th of a capture and
// no other, and says so) and see that the program does not notice.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "agent/capture_scope.h"

namespace {

std::atomic<long> allocations{0};

bool MustFailInCapture() {
  static const char* const kText = getenv("ROCHOUND_TEST_FAIL_CAPTURE_ALLOCATION");
  if (kText == nullptr || rochound::agent::capture_depth == 0) return false;
  static const long kWhich = atol(kText);
  static std::atomic<long> made{0};
  if (made.fetch_add(1, std::memory_order_relaxed) + 1 != kWhich) return false;
  constexpr char kSaid[] = "rochound test: an allocation of the capture fails\n";
  const ssize_t written = write(STDERR_FILENO, kSaid, sizeof kSaid - 1);
  static_cast<void>(written);
  return true;
}

bool MustFail() {
  if (MustFailInCapture()) return true;
  static const char* const kText = getenv("ROCHOUND_TEST_FAIL_ALLOCATION");
  if (kText == nullptr) return false;
  static const long kFirst = atol(kText);
  return allocations.fetch_add(1, std::memory_order_relaxed) + 1 >= kFirst;
}

void* Allocate(size_t size) noexcept { return MustFail() ? nullptr : malloc(size == 0 ? 1 : size); }

void* AllocateAligned(size_t size, std::align_val_t alignment) noexcept {
  const auto align = static_cast<size_t>(alignment);
  return MustFail() ? nullptr : aligned_alloc(align, (size + align - 1) / align * align);
}

}  // namespace

void* operator new(size_t size) {
  if (void* memory = Allocate(size)) return memory;
  throw std::bad_alloc();
}
void* operator new[](size_t size) { return operator new(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void* operator new(size_t size, std::align_val_t alignment) {
  if (void* memory = AllocateAligned(size, alignment)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { free(memory); }
void operator delete[](void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t) noexcept { free(memory); }
void operator delete[](void* memory, size_t) noexcept { free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { free(memory); }
