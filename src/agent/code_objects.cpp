// SPDX-License-Identifier: MIT
#include "agent/code_objects.h"

#include <hsa/hsa_ven_amd_loader.h>

#include <atomic>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/capture.h"
#include "agent/own_memory.h"
#include "agent/runtime.h"
#include "agent/session.h"
#include "agent/swap.h"
#include "agent/symbols.h"
#include "base/check.h"
#include "base/mutex.h"
#include "base/sha256.h"
#include "codeobj/code_object.h"

namespace rochound::agent {
namespace {

using Bytes = std::shared_ptr<const std::vector<std::byte>>;
using Loader = hsa_ven_amd_loader_1_01_pfn_t;

constinit base::Mutex changing;
constinit base::SharedMutex unloading;  // who destroys an executable has it alone
// How often this thread has it: a handler that calls exit may destroy executables on a thread that
// reads them.
__thread int held_here __attribute__((tls_model("initial-exec"))) = 0;

std::map<uint64_t, Bytes>& Kept() ROCHOUND_REQUIRES(changing) {  // by loaded code object
  static auto* const kept = new std::map<uint64_t, Bytes>;
  return *kept;
}

bool GetLoader(Loader* loader) {
  return Real().core.hsa_system_get_major_extension_table_fn != nullptr &&
         Real().core.hsa_system_get_major_extension_table_fn(
             HSA_EXTENSION_AMD_LOADER, 1, sizeof *loader, loader) == HSA_STATUS_SUCCESS &&
         loader->hsa_ven_amd_loader_query_executable != nullptr;
}

template <typename T>
T Ask(const Loader& loader, hsa_loaded_code_object_t object,
      hsa_ven_amd_loader_loaded_code_object_info_t what) {
  T value{};
  loader.hsa_ven_amd_loader_loaded_code_object_get_info(object, what, &value);
  return value;
}

uint64_t StorageBase(const Loader& loader, hsa_loaded_code_object_t loaded) {
  return Ask<uint64_t>(loader, loaded,
                       HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE);
}

uint64_t StorageSize(const Loader& loader, hsa_loaded_code_object_t loaded) {
  return Ask<uint64_t>(loader, loaded,
                       HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE);
}

std::string UriOf(const Loader& loader, hsa_loaded_code_object_t loaded) {
  const auto length =
      Ask<uint32_t>(loader, loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH);
  std::string uri(length + 1, '\0');
  loader.hsa_ven_amd_loader_loaded_code_object_get_info(
      loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI, uri.data());
  return uri.c_str();
}

// A line of the file `code_objects`.
struct Line {
  uint32_t number = 0;
  std::string uri;
  std::string bytes;  // to be hashed
  std::string hash;   // empty: none, or not yet
};

// `lines_changed` is set without the lock; the drain thread hashes without it.
struct Lines {
  std::map<uint64_t, std::shared_ptr<Line>> by_executable;  // until its first kernel is seen
  std::vector<std::shared_ptr<Line>> to_hash;
  std::vector<std::shared_ptr<Line>> numbered;  // that are not in the file yet
  size_t bytes_to_hash = 0;
  std::string text;
};
Lines& AllLines() ROCHOUND_REQUIRES(changing) {
  static auto* const lines = new Lines;
  return *lines;
}
constinit std::atomic<bool> lines_changed{false};
constinit base::Mutex writing;  // the file; taken before `changing`

// What was loaded from memory may not be there any more when somebody looks. Larger ones are parts
// of programs, which stay; a hash of them would take a noticeable time.
constexpr uint64_t kMostHashed = uint64_t{16} << 20;
// Copies that wait for the drain thread. Beyond that there is no hash.
constexpr size_t kMostBytesToHash = size_t{64} << 20;

void Describe(hsa_executable_t executable, hsa_loaded_code_object_t loaded) {
  Loader loader{};
  if (!GetLoader(&loader)) return;
  auto line = std::make_shared<Line>();
  line->uri = UriOf(loader, loaded);
  const uint64_t base = StorageBase(loader, loaded), size = StorageSize(loader, loaded);
  // An executable that is gone may have had this handle.
  ForgetExecutable(executable);
  const base::Lock lock(changing);
  Lines& lines = AllLines();
  // Hashing takes many times as long as copying: not on the program's thread.
  if (line->uri.starts_with("memory://") && base != 0 && size <= kMostHashed &&
      lines.bytes_to_hash + size <= kMostBytesToHash) {
    line->bytes.assign(reinterpret_cast<const char*>(base), size);
    lines.to_hash.push_back(line);
    lines.bytes_to_hash += size;
    lines_changed.store(true, std::memory_order_release);
  }
  lines.by_executable[executable.handle] = std::move(line);
}

bool IsWanted(std::string_view object) {
  return CaptureRequested() || (SwapRequested() && SwapMayNeed(object));
}

// The runtime has the object in memory now, wherever it came from; afterwards it need not.
void Keep(hsa_loaded_code_object_t loaded) {
  Loader loader{};
  if (!GetLoader(&loader)) return;
  const uint64_t base = StorageBase(loader, loaded);
  const uint64_t size = StorageSize(loader, loaded);
  if (base == 0 || !IsWanted({reinterpret_cast<const char*>(base), size})) {
    const base::Lock lock(changing);
    Kept().erase(loaded.handle);  // of one that is gone
    return;
  }
  const auto* const first = reinterpret_cast<const std::byte*>(base);
  auto copy = std::make_shared<const std::vector<std::byte>>(first, first + size);
  const base::Lock lock(changing);
  Kept()[loaded.handle] = std::move(copy);
}

hsa_status_t Load(hsa_executable_t executable, hsa_agent_t agent, hsa_code_object_reader_t reader,
                  const char* options, hsa_loaded_code_object_t* wanted) {
  hsa_loaded_code_object_t loaded{};
  const hsa_status_t status = Real().core.hsa_executable_load_agent_code_object_fn(
      executable, agent, reader, options, &loaded);
  if (status != HSA_STATUS_SUCCESS) return status;
  if (wanted != nullptr) *wanted = loaded;
  if (IsBusy()) return status;
  if (CurrentState() != State::kDisabled)
    Guarded("no memory for a code object", [&] { Describe(executable, loaded); });
  if (CaptureRequested() || SwapRequested())
    Guarded("no memory for a code object", [&] { Keep(loaded); });
  return status;
}

// Until the runtime is done: whoever lists the executables meanwhile would find this one.
hsa_status_t DestroyAlone(hsa_executable_t executable) {
  ++held_here;
  const hsa_status_t status = Real().core.hsa_executable_destroy_fn(executable);
  --held_here;
  return status;
}

hsa_status_t Destroy(hsa_executable_t executable) {
  if (held_here != 0) return DestroyAlone(executable);
  const base::Lock lock(unloading);
  return DestroyAlone(executable);
}

// The object as the program has it; it may not be there any more, but usually is part of its file.
Bytes ReadObject(uint64_t address, uint64_t size) {
  auto bytes = std::make_shared<std::vector<std::byte>>(size);
  const bool read = size != 0 && ReadOwnMemory(address, bytes->data(), size);
  return read ? Bytes(std::move(bytes)) : nullptr;
}

struct Search {
  const Loader* loader;
  uint64_t address;
  LoadedCode* found;
  bool done = false;
};

void Look(Search* search, hsa_loaded_code_object_t object) {
  const Loader& loader = *search->loader;
  const auto base =
      Ask<uint64_t>(loader, object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE);
  const auto size =
      Ask<uint64_t>(loader, object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE);
  if (search->address < base || search->address >= base + size) return;
  LoadedCode& found = *search->found;
  found.base = base;
  found.size = size;
  found.delta = static_cast<uint64_t>(
      Ask<int64_t>(loader, object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA));
  found.uri = UriOf(loader, object);
  found.storage = StorageBase(loader, object);
  found.storage_size = StorageSize(loader, object);
  const base::Lock lock(changing);
  const auto bytes = Kept().find(object.handle);
  if (bytes != Kept().end())
    found.object = bytes->second;
  else
    found.object = ReadObject(found.storage, found.storage_size);
  search->done = true;
}

// Called by the runtime, which an exception of ours must not pass through.
hsa_status_t Visit(hsa_executable_t, hsa_loaded_code_object_t object, void* data) {
  auto* const search = static_cast<Search*>(data);
  Guarded("no memory for a code object", [&] {
    if (!search->done) Look(search, object);
  });
  return HSA_STATUS_SUCCESS;
}

struct Images {
  const Loader* loader;
  std::map<uint64_t, uint64_t> sizes;
};

hsa_status_t VisitImage(hsa_executable_t, hsa_loaded_code_object_t object, void* data) {
  auto& images = *static_cast<Images*>(data);
  Guarded("no memory for a code object", [&] {
    const auto base =
        Ask<uint64_t>(*images.loader, object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE);
    images.sizes[base] =
        Ask<uint64_t>(*images.loader, object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE);
  });
  return HSA_STATUS_SUCCESS;
}

hsa_status_t VisitExecutable(hsa_executable_t executable, void* data) {
  const auto& images = *static_cast<const Images*>(data);
  images.loader->hsa_ven_amd_loader_executable_iterate_loaded_code_objects(executable, VisitImage,
                                                                           data);
  return HSA_STATUS_SUCCESS;
}

}  // namespace

std::map<uint64_t, uint64_t> LoadedImages() {
  hsa_ven_amd_loader_1_03_pfn_t newer{};
  Loader loader{};
  if (!GetLoader(&loader) ||
      Real().core.hsa_system_get_major_extension_table_fn(HSA_EXTENSION_AMD_LOADER, 1, sizeof newer,
                                                          &newer) != HSA_STATUS_SUCCESS ||
      newer.hsa_ven_amd_loader_iterate_executables == nullptr)
    return {};
  Images images{&loader, {}};
  newer.hsa_ven_amd_loader_iterate_executables(VisitExecutable, &images);
  return images.sizes;
}

void HookCodeObjects(CoreApiTable* core) {
  core->hsa_executable_load_agent_code_object_fn = Load;
  core->hsa_executable_destroy_fn = Destroy;
}

// Held as long as it lives, but by the outermost of a thread's only: the analysis cannot tell.
HeldCode::HeldCode() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  if (held_here++ == 0) unloading.lock_shared();
}
HeldCode::~HeldCode() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  ROCHOUND_DCHECK(held_here > 0);
  if (--held_here == 0) unloading.unlock_shared();
}

bool FindExecutable(uint64_t address, hsa_executable_t* executable) {
  Loader loader{};
  return GetLoader(&loader) &&
         loader.hsa_ven_amd_loader_query_executable(reinterpret_cast<const void*>(address),
                                                    executable) == HSA_STATUS_SUCCESS;
}

bool FindLoadedCode(uint64_t address, LoadedCode* found) {
  Loader loader{};
  hsa_executable_t executable{};
  if (!GetLoader(&loader) || !FindExecutable(address, &executable)) return false;
  Search search{&loader, address, found};
  loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(executable, Visit, &search);
  return search.done;
}

uint64_t KernargBytes(const LoadedCode& code, std::string_view symbol, uint64_t told) {
  if (told != 0 || code.object == nullptr) return told;
  const auto parsed = codeobj::CodeObject::Parse(
      {reinterpret_cast<const char*>(code.object->data()), code.object->size()});
  if (!parsed.ok()) return 0;
  const codeobj::Kernel* const kernel = parsed.value().FindKernel(symbol);
  return kernel != nullptr ? kernel->kernarg_segment_size : 0;
}

void AddCodeObject(uint32_t number, hsa_executable_t executable) {
  const base::Lock lock(changing);
  Lines& lines = AllLines();
  const auto line = lines.by_executable.find(executable.handle);
  if (line == lines.by_executable.end()) return;
  line->second->number = number;
  ROCHOUND_DCHECK(number != 0 && line->second != nullptr);
  lines.numbered.push_back(std::move(line->second));
  lines.by_executable.erase(line);
  lines_changed.store(true, std::memory_order_release);
}

void WriteCodeObjects() {
  if (!lines_changed.load(std::memory_order_relaxed)) return;
  trace::Writer* const log = Log();
  if (log == nullptr) return;
  const base::Lock alone(writing);
  lines_changed.store(false, std::memory_order_relaxed);
  base::UniqueLock lock(changing);
  Lines& lines = AllLines();
  const auto to_hash = std::exchange(lines.to_hash, {});
  const auto numbered = std::exchange(lines.numbered, {});
  lock.unlock();
  for (const auto& line : to_hash) {
    line->hash = base::Sha256(line->bytes);
    const size_t size = line->bytes.size();
    line->bytes = {};
    lock.lock();
    ROCHOUND_DCHECK(lines.bytes_to_hash >= size);
    lines.bytes_to_hash -= size;
    lock.unlock();
  }
  if (numbered.empty()) return;
  lock.lock();
  for (const auto& line : numbered)
    lines.text += std::to_string(line->number) + "\t" + line->uri +
                  (line->hash.empty() ? "" : "\t" + line->hash) + "\n";
  const std::string text = lines.text;
  lock.unlock();
  log->WriteText("code_objects", text);
}

void ForgetCodeObjectsAfterFork() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  new (&changing) base::Mutex;
  new (&writing) base::Mutex;
  new (&unloading) base::SharedMutex;
  new (&Kept()) std::map<uint64_t, Bytes>;
  new (&AllLines()) Lines;
}

}  // namespace rochound::agent
