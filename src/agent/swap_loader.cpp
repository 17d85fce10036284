// SPDX-License-Identifier: MIT
#include "agent/swap_loader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "agent/probe.h"
#include "agent/runtime.h"
#include "base/file_trust.h"

namespace rochound::agent {
namespace {

constexpr off_t kLargestFile = off_t{1} << 30;

bool Failed(hsa_status_t status, const char* what, std::string* problem) {
  if (status == HSA_STATUS_SUCCESS) return false;
  char text[96];
  snprintf(text, sizeof text, "the runtime does not %s it: status 0x%x", what,
           static_cast<unsigned>(status));
  *problem = text;
  return true;
}

// Called by the runtime.
hsa_status_t VisitPool(hsa_amd_memory_pool_t pool, void* data) {
  hsa_amd_segment_t segment{};
  size_t size = 0;
  const auto ask = Real().amd.hsa_amd_memory_pool_get_info_fn;
  if (ask(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment) == HSA_STATUS_SUCCESS &&
      segment == HSA_AMD_SEGMENT_GROUP &&
      ask(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &size) == HSA_STATUS_SUCCESS)
    *static_cast<uint64_t*>(data) = size;
  return HSA_STATUS_SUCCESS;
}

class File {
 public:
  explicit File(const std::string& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

std::string Reason() { return std::generic_category().message(errno); }

}  // namespace

bool LoadCode(uint16_t agent, std::string_view bytes, const std::vector<BoundVariable>& variables,
              hsa_executable_t* loaded, std::string* problem) {
  const CoreApiTable& core = Real().core;
  const hsa_agent_t gpu = AgentHandle(agent);
  hsa_code_object_reader_t reader{};
  if (Failed(core.hsa_code_object_reader_create_from_memory_fn(bytes.data(), bytes.size(), &reader),
             "read", problem))
    return false;
  const bool made =
      !Failed(core.hsa_executable_create_alt_fn(
                  HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, loaded),
              "make room for", problem);
  bool good = made;
  for (const BoundVariable& variable : variables)
    good = good && !Failed(core.hsa_executable_agent_global_variable_define_fn(
                               *loaded, gpu, variable.name.c_str(),
                               reinterpret_cast<void*>(variable.address)),  // NOLINT
                           "bind a variable of", problem);
  good = good && !Failed(core.hsa_executable_load_agent_code_object_fn(*loaded, gpu, reader,
                                                                       nullptr, nullptr),
                         "load", problem);
  good = good && !Failed(core.hsa_executable_freeze_fn(*loaded, nullptr), "freeze", problem);
  core.hsa_code_object_reader_destroy_fn(reader);
  if (good && ProbeRequested()) ConnectProbe(*loaded);
  if (!good && made) core.hsa_executable_destroy_fn(*loaded);
  return good;
}

bool FindLoadedKernel(hsa_executable_t executable, uint16_t agent, const std::string& symbol,
                      LoadedKernel* found, std::string* problem) {
  const CoreApiTable& core = Real().core;
  const hsa_agent_t gpu = AgentHandle(agent);
  const auto ask = core.hsa_executable_symbol_get_info_fn;
  hsa_executable_symbol_t kernel{};
  const char* const what = "find the kernel in";
  if (Failed(core.hsa_executable_get_symbol_by_name_fn(executable, (symbol + ".kd").c_str(), &gpu,
                                                       &kernel),
             what, problem) ||
      Failed(ask(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &found->object), what, problem))
    return false;
  ask(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &found->kernarg_bytes);
  return true;
}

uint64_t MostGroupBytes(uint16_t agent) {
  uint64_t bytes = 64 << 10;  // what every GPU has
  if (Real().amd.hsa_amd_agent_iterate_memory_pools_fn != nullptr)
    Real().amd.hsa_amd_agent_iterate_memory_pools_fn(AgentHandle(agent), VisitPool, &bytes);
  return bytes;
}

bool ReadTrustedFile(const std::string& path, bool shared, std::string* bytes,
                     std::string* problem) {
  const File file(path);
  struct stat status{};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) {
    *problem = "it cannot be read: " + Reason();
    return false;
  }
  if (!S_ISREG(status.st_mode) || status.st_size > kLargestFile) {
    *problem = "it is not a file of a sensible size";
    return false;
  }
  if (!shared && base::OthersMayWrite(status)) {
    *problem = "others may write to it";
    return false;
  }
  bytes->resize(static_cast<size_t>(status.st_size));
  size_t done = 0;
  while (done < bytes->size()) {
    const ssize_t got =
        pread(file.get(), bytes->data() + done, bytes->size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      *problem = "it cannot be read: " + (got < 0 ? Reason() : "it became shorter");
      return false;
    }
    done += static_cast<size_t>(got);
  }
  return true;
}

}  // namespace rochound::agent
