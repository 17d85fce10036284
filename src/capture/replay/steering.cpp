// SPDX-License-Identifier: MIT
#include "capture/replay/steering.h"

#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"

namespace rochound::capture::replay {
namespace {

// Layouts in the order in which they are tried. The kernel puts libraries below the stack, close to
// where a captured program had its memory, or, in the old layout, at a third of the address space,
// which is far away from it; each is random anew in every process.
struct Layout {
  bool old;
  bool random;
};
constexpr Layout kLayouts[] = {{false, true}, {true, true},  {false, true}, {true, true},
                               {false, true}, {true, false}, {false, false}};
constexpr int kAttempts = static_cast<int>(std::size(kLayouts));

void* Pointer(uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT: an address is what we have
}

}  // namespace

Steering::~Steering() {
  for (size_t i = 0; i < occupied_.size(); ++i) Release(i);
}

std::optional<Obstacle> Steering::Occupy(std::span<const Mapping> mappings,
                                         std::span<const Region> regions) {
  for (const Mapping& mapping : mappings) {
    void* const got =
        mmap(Pointer(mapping.base), mapping.size, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    // A kernel before 4.17 takes the address as a wish.
    if (got != MAP_FAILED && got != Pointer(mapping.base)) munmap(got, mapping.size);
    if (got == Pointer(mapping.base)) {
      occupied_.push_back({mapping.base, mapping.size});
      continue;
    }
    const int error = errno;
    for (size_t i = 0; i < occupied_.size(); ++i) Release(i);
    occupied_.clear();
    if (auto obstacle = FindObstacle(CurrentMaps(), mapping, regions)) return obstacle;
    // Nothing is there, and yet it cannot be had: a limit, or no address of this machine.
    return Obstacle{{mapping.base, mapping.end(), "---",
                     error == ENOMEM ? "(outside of what this machine or a limit allows)"
                                     : "(what the kernel keeps for itself)"},
                    mapping.regions.front()};
  }
  return std::nullopt;
}

void Steering::Release(size_t mapping) {
  Range& range = occupied_[mapping];
  if (range.size > 0) munmap(Pointer(range.base), range.size);
  range.size = 0;
}

std::vector<ProcessMap> CurrentMaps() {
  const auto text = base::ReadFile("/proc/self/maps");
  return text.ok() ? ParseMaps(text.value()) : std::vector<ProcessMap>{};
}

bool MayStartAnew(int attempt) { return attempt + 1 < kAttempts; }

base::Error StartAnew(int attempt, std::vector<std::string> arguments) {
  const Layout& layout = kLayouts[(attempt + 1) % kAttempts];
  const int now = personality(0xffffffff);
  if (now >= 0) {
    unsigned wanted = static_cast<unsigned>(now) & ~(ADDR_COMPAT_LAYOUT | ADDR_NO_RANDOMIZE);
    if (layout.old) wanted |= ADDR_COMPAT_LAYOUT;
    if (!layout.random) wanted |= ADDR_NO_RANDOMIZE;
    if (personality(wanted) < 0 && layout.old) {
      // Containers often forbid it. A stack without limit moves the libraries away as well.
      rlimit stack{};
      if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_max == RLIM_INFINITY) {
        stack.rlim_cur = RLIM_INFINITY;
        setrlimit(RLIMIT_STACK, &stack);
      }
    }
  }
  arguments.push_back("--attempt");
  arguments.push_back(std::to_string(attempt + 1));
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv("/proc/self/exe", argv.data());
  return base::ErrnoError("cannot start again", "/proc/self/exe", errno);
}

}  // namespace rochound::capture::replay
