// SPDX-License-Identifier: MIT
#include "softgpu/machine/lost_pages.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>

namespace rochound::softgpu {
namespace {

// The system is called directly: the shim listens to the program's mmap and munmap, and would tell
// the driver, which would wait for the very thread that called.

// Other threads come here too, when they crash, perhaps inside malloc: a variable that needs no
// allocation.
[[gnu::tls_model("initial-exec")]] thread_local LostPageWatch* t_watch = nullptr;

struct sigaction g_before;  // whose signals they were

void Forward(int number, siginfo_t* info, void* context) {
  if (g_before.sa_flags & SA_SIGINFO) return g_before.sa_sigaction(number, info, context);
  bool sent = info->si_code <= 0;  // by kill and the like
  if (g_before.sa_handler == SIG_IGN && sent) return;
  if (g_before.sa_handler != SIG_DFL && g_before.sa_handler != SIG_IGN)
    return g_before.sa_handler(number);
  // The instruction is tried again and ends the process, in the place where it happened.
  struct sigaction fatal = {};
  fatal.sa_handler = SIG_DFL;
  sigaction(number, &fatal, nullptr);
  if (sent) raise(number);
}

}  // namespace

struct LostPageHandler {
  using Page = LostPageWatch::Page;

  // Puts an empty page where there is none. False: it cannot.
  static bool Fill(Page* page) {
    return syscall(SYS_mmap, page->place, kGpuPageSize, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != -1 ||
           errno == EEXIST;  // there is something now
  }

  // Makes a page writable that the program has protected, and keeps what is in it.
  static bool Unprotect(Page* page) {
    const long copy = syscall(SYS_mmap, nullptr, kGpuPageSize, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == -1) return false;
    page->kept = reinterpret_cast<void*>(copy);  // NOLINT(performance-no-int-to-ptr)
    // The system copies, since it may not be readable either.
    const iovec to{page->kept, kGpuPageSize};
    const iovec from{page->place, kGpuPageSize};
    page->readable = syscall(SYS_process_vm_readv, getpid(), &to, 1, &from, 1, 0) ==
                     static_cast<long>(kGpuPageSize);
    return syscall(SYS_mprotect, page->place, kGpuPageSize, PROT_READ | PROT_WRITE) == 0;
  }

  // True if the instruction may be tried again.
  static bool Mend(const siginfo_t* info, const void* context) {
    LostPageWatch* watch = t_watch;
    const bool guarded = info->si_code == SEGV_ACCERR;
    if (watch == nullptr || (!guarded && info->si_code != SEGV_MAPERR)) return false;
    std::optional<uint64_t> address = watch->memory_.GpuAddressOf(info->si_addr);
    if (!address) return false;  // a mistake of ours
    Page page;
    page.place =
        reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(info->si_addr) & ~(kGpuPageSize - 1));
    if (!(guarded ? Unprotect(&page) : Fill(&page))) return false;
    if (watch->count_ == 0) {
      constexpr long kWriteBit = 2;  // of x86's page fault code
      const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
      watch->first_ = {*address, (registers[REG_ERR] & kWriteBit) ? kWrite : kRead, page.readable};
    }
    if (watch->count_ < watch->pages_.size()) watch->pages_[watch->count_] = page;
    ++watch->count_;
    return true;
  }

  static void Restore(const Page& page) {
    if (page.kept == nullptr) {
      syscall(SYS_munmap, page.place, kGpuPageSize);
      return;
    }
    // What the GPU wrote did not happen.
    if (page.readable) std::memcpy(page.place, page.kept, kGpuPageSize);
    syscall(SYS_mprotect, page.place, kGpuPageSize, page.readable ? PROT_READ : PROT_NONE);
    syscall(SYS_munmap, page.kept, kGpuPageSize);
  }

  static void OnSignal(int number, siginfo_t* info, void* context) {
    int error = errno;
    if (!Mend(info, context)) Forward(number, info, context);
    errno = error;
  }
};

void InstallLostPageHandler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = &LostPageHandler::OnSignal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, nullptr, &g_before);
    sigaction(SIGSEGV, &action, nullptr);
  });
}

LostPageWatch::LostPageWatch(const AddressSpace::Reader& memory) : memory_(memory) {
  t_watch = this;
}

LostPageWatch::~LostPageWatch() { t_watch = nullptr; }

std::optional<MemoryFault> TakeLostPage() {
  LostPageWatch* watch = t_watch;
  if (watch == nullptr || watch->count_ == 0) return std::nullopt;
  // Other threads may be using them: they miss them again, by themselves.
  for (size_t i = 0; i < std::min(watch->count_, watch->pages_.size()); ++i)
    LostPageHandler::Restore(watch->pages_[i]);
  watch->count_ = 0;
  return watch->first_;
}

}  // namespace rochound::softgpu
