// SPDX-License-Identifier: MIT
#include "registering_library.h"

#include <dlfcn.h>

// First, for the types that the next one uses without including them.
#include <hip/amd_detail/hip_prof_str.h>
#include <hip/hip_version.h>
#include <rocprofiler-register/rocprofiler-register.h>

#include <atomic>
#include <hip/amd_detail/hip_api_trace.hpp>

#include "agent/fake_runtime.h"
#include "roctx_tables.h"

#define EXPORTED __attribute__((visibility("default")))

ROCPROFILER_REGISTER_DEFINE_IMPORT(hip, HIP_VERSION_MAJOR * 10000)

namespace {

std::atomic<int> refusals{0};

template <typename... Table>
void Register(const char* name, uint32_t version, Table*... table) {
  void* tables[] = {table...};
  rocprofiler_register_library_indentifier_t id{};
  if (rocprofiler_register_library_api_table(name, &rocprofiler_register_import_hip, version,
                                             tables, sizeof...(table), &id) != ROCP_REG_SUCCESS)
    ++refusals;
}

constexpr uint32_t kHipVersion = HIP_VERSION_MAJOR * 10000 + HIP_VERSION_MINOR * 100;

HipDispatchTable& Runtime() {
  static HipDispatchTable* const table = [] {
    static HipDispatchTable made{};
    made.size = sizeof(made);
    made.hipMalloc_fn = [](void** pointer, size_t size) {
      if (pointer == nullptr) return hipErrorInvalidValue;
      *pointer = reinterpret_cast<void*>(size + 1);
      return hipSuccess;
    };
    made.hipGetDevice_fn = [](int* device) {
      *device = 5;
      return hipSuccess;
    };
    made.hipLaunchKernel_fn = [](const void*, dim3, dim3, void**, size_t, hipStream_t) {
      return hipErrorLaunchFailure;
    };
    made.hipModuleLoad_fn = [](hipModule_t* module, const char*) {
      *module = reinterpret_cast<hipModule_t>(0x77);
      return hipSuccess;
    };
    Register("hip", kHipVersion, &made);
    return &made;
  }();
  return *table;
}

HipCompilerDispatchTable& Compiler() {
  static HipCompilerDispatchTable* const table = [] {
    static HipCompilerDispatchTable made{};
    made.size = sizeof(made);
    made.__hipPushCallConfiguration_fn = [](dim3, dim3, size_t, hipStream_t) { return hipSuccess; };
    made.__hipPopCallConfiguration_fn = [](dim3*, dim3*, size_t*, hipStream_t*) {
      return hipSuccess;
    };
    Register("hip_compiler", kHipVersion, &made);
    return &made;
  }();
  return *table;
}

// rocprofiler-sdk's roctx.
RoctxControlTable& RoctxControl() {
  static RoctxControlTable made{sizeof(RoctxControlTable), [](uint64_t) { return 21; },
                                [](uint64_t) { return 22; }};
  return made;
}

RoctxTable& Roctx() {
  static RoctxTable* const table = [] {
    static int depth = 0;
    static RoctxTable made{sizeof(RoctxTable),
                           [](const char*) {},
                           [](const char*) { return depth++; },
                           [] { return --depth; },
                           [](const char*) { return uint64_t{9}; },
                           [](uint64_t) {},
                           [](uint64_t*) { return 0; }};
    Register("roctx", 100, &made, &RoctxControl());
    return &made;
  }();
  return *table;
}

HsaApiTable& Hsa() {
  static auto* const runtime = [] {
    auto* made = new rochound::agent::FakeRuntime;
    Register("hsa", 10000, made->table());
    return made;
  }();
  return *runtime->table();
}

}  // namespace

extern "C" {

EXPORTED int fake_hip_malloc(void** pointer, size_t size) {
  return Runtime().hipMalloc_fn(pointer, size);
}
EXPORTED int fake_hip_get_device(int* device) { return Runtime().hipGetDevice_fn(device); }
EXPORTED int fake_hip_launch(const void* function, unsigned blocks, unsigned threads) {
  int result = Compiler().__hipPushCallConfiguration_fn(dim3(blocks), dim3(threads), 0, nullptr);
  dim3 grid;
  dim3 block;
  size_t bytes = 0;
  hipStream_t stream = nullptr;
  if (result == hipSuccess)
    result = Compiler().__hipPopCallConfiguration_fn(&grid, &block, &bytes, &stream);
  if (result != hipSuccess) return result;
  return Runtime().hipLaunchKernel_fn(function, dim3(blocks), dim3(threads), nullptr, 0, nullptr);
}
EXPORTED int fake_hip_load_module(void** module, const char* path) {
  return Runtime().hipModuleLoad_fn(reinterpret_cast<hipModule_t*>(module), path);
}
EXPORTED int fake_roctx_push(const char* message) { return Roctx().push(message); }
EXPORTED int fake_roctx_pop() { return Roctx().pop(); }
EXPORTED int fake_roctx_pause() {
  Roctx();
  return RoctxControl().pause(0);
}
EXPORTED int fake_roctx_resume() { return RoctxControl().resume(0); }
EXPORTED void fake_roctx_mark(const char* message) { Roctx().mark(message); }
EXPORTED uint64_t fake_hsa_signal(int64_t initial) {
  hsa_signal_t signal{};
  Hsa().core_->hsa_signal_create_fn(initial, 0, nullptr, &signal);
  return signal.handle;
}
EXPORTED bool fake_hsa_load_tool(const char* path) {
  using OnLoad = bool (*)(HsaApiTable*, uint64_t, uint64_t, const char* const*);
  void* const tool = dlopen(path, RTLD_LAZY);
  auto* const load = tool == nullptr ? nullptr : reinterpret_cast<OnLoad>(dlsym(tool, "OnLoad"));
  static auto* const runtime = new rochound::agent::FakeRuntime;
  return load != nullptr && load(runtime->table(), 1, 0, nullptr);
}
EXPORTED int fake_refusals() { return refusals; }
}
