// SPDX-License-Identifier: MIT
#include "optimize/confinement.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <system_error>
#include <utility>

namespace rochound::optimize {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;

// Landlock's interface, which headers of older systems do not have; numbers are the same on all
// architectures.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1;
constexpr int kPathBeneath = 1;
struct Ruleset {
  uint64_t files;
  uint64_t network;  // since version 4
  uint64_t scoped;   // since version 6
};
struct __attribute__((packed)) PathRule {
  uint64_t allowed;
  int32_t parent;
};
constexpr uint64_t kWrite = 1 << 1, kRead = 1 << 2, kReadFolder = 1 << 3;
constexpr uint64_t kMakeAndRemove = 0x1ff0;                // bits 4 to 12
constexpr uint64_t kRefer = 1 << 13, kTruncate = 1 << 14;  // since versions 2 and 3
constexpr uint64_t kConnectAndBind = 3, kSignalsAndNames = 3;

uint64_t Writing(long version) {
  return kWrite | kMakeAndRemove | (version >= 2 ? kRefer : 0) | (version >= 3 ? kTruncate : 0);
}

// What a rule for one file may allow, not for a folder.
constexpr uint64_t kOfFiles = kWrite | kRead | kTruncate;

Result<void> Allow(int ruleset, const fs::path& path, uint64_t rights) {
  const int parent = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (parent < 0) {
    if (errno == ENOENT) return {};
    return Error{"cannot open '" + path.string() + "': " + std::generic_category().message(errno)};
  }
  struct stat status{};
  if (fstat(parent, &status) == 0 && !S_ISDIR(status.st_mode)) rights &= kOfFiles;
  const PathRule rule{rights, parent};
  const long added = syscall(kAddRule, ruleset, kPathBeneath, &rule, 0);
  const int error_number = errno;
  close(parent);
  if (added != 0)
    return Error{"cannot allow '" + path.string() +
                 "': " + std::generic_category().message(error_number)};
  return {};
}

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArchitecture = 0;
#endif

#define ROCHOUND_REFUSE(number)                      \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

// A call of another architecture is refused altogether: its numbers mean something else.
sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),  // x32
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    ROCHOUND_REFUSE(SYS_ptrace),
    ROCHOUND_REFUSE(SYS_process_vm_writev),
    ROCHOUND_REFUSE(SYS_process_vm_readv),
    ROCHOUND_REFUSE(SYS_io_uring_setup),  // opens sockets and files past this filter
    ROCHOUND_REFUSE(SYS_mount),
    ROCHOUND_REFUSE(SYS_unshare),
    ROCHOUND_REFUSE(SYS_setns),
    ROCHOUND_REFUSE(SYS_bpf),
    ROCHOUND_REFUSE(SYS_keyctl),
    ROCHOUND_REFUSE(SYS_add_key),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

}  // namespace

Result<Confinement> Confinement::Prepare(const Limits& limits) {
  Confinement confinement;
  confinement.memory_bytes_ = limits.memory_bytes;
  confinement.cpu_seconds_ = limits.cpu_seconds;
  if (kArchitecture == 0) confinement.gaps_.push_back("network: not known on this processor");
  const long version = syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  if (version < 1) {
    confinement.gaps_.push_back("files: this kernel has no Landlock, or it is switched off");
    return confinement;
  }
  if (version < 6) confinement.gaps_.push_back("signals: this kernel's Landlock is too old");
  const bool reading = !limits.readable.empty();
  Ruleset rules{Writing(version) | (reading ? kRead | kReadFolder : 0),
                version >= 4 ? kConnectAndBind : 0, version >= 6 ? kSignalsAndNames : 0};
  const size_t size = version >= 6   ? sizeof(rules)
                      : version >= 4 ? offsetof(Ruleset, scoped)
                                     : offsetof(Ruleset, network);
  confinement.ruleset_ = static_cast<int>(syscall(kCreateRuleset, &rules, size, 0));
  if (confinement.ruleset_ < 0)
    return Error{"cannot make a Landlock ruleset: " + std::generic_category().message(errno)};
  for (const fs::path& path : limits.writable)
    ROCHOUND_CHECK(Allow(confinement.ruleset_, path, rules.files));
  // A GPU is a device file; so is /dev/null. No file can be made there.
  ROCHOUND_CHECK(Allow(confinement.ruleset_, "/dev", kWrite | (reading ? kRead | kReadFolder : 0)));
  for (const fs::path& path : limits.readable)
    ROCHOUND_CHECK(Allow(confinement.ruleset_, path, kRead | kReadFolder));
  return confinement;
}

Confinement::Confinement(Confinement&& other) noexcept
    : ruleset_(std::exchange(other.ruleset_, -1)),
      memory_bytes_(other.memory_bytes_),
      cpu_seconds_(other.cpu_seconds_),
      gaps_(std::move(other.gaps_)) {}

Confinement::~Confinement() {
  if (ruleset_ >= 0) close(ruleset_);
}

int Confinement::Apply() const {
  const rlimit no_core{0, 0};
  // Addresses may be reserved without limit, which GPU runtimes do; this is what is written to.
  const rlimit memory{memory_bytes_, memory_bytes_};
  const rlimit time{cpu_seconds_, cpu_seconds_};
  if (setrlimit(RLIMIT_CORE, &no_core) != 0 || setrlimit(RLIMIT_DATA, &memory) != 0 ||
      setrlimit(RLIMIT_CPU, &time) != 0)
    return errno;
  // Nothing goes on without the one who waits for it.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  if (ruleset_ >= 0 && syscall(kRestrictSelf, ruleset_, 0) != 0) return errno;
  if (kArchitecture != 0) {
    const sock_fprog program{sizeof(filter) / sizeof(filter[0]), filter};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return errno;
  }
  return 0;
}

}  // namespace rochound::optimize
