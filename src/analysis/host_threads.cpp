// SPDX-License-Identifier: MIT
#include "analysis/host_threads.h"

#include <algorithm>
#include <initializer_list>

namespace rochound::analysis {

void HostThreads::Reserve(size_t calls) {
  starts_.reserve(calls);
  ends_.reserve(calls);
  names_.reserve(calls);
}

void HostThreads::Add(int64_t pid, int64_t tid, int64_t start, int64_t end, uint32_t name) {
  if (threads_.empty() || threads_.back().pid != pid || threads_.back().tid != tid)
    threads_.push_back(
        {.pid = pid, .tid = tid, .first = starts_.size(), .last = starts_.size(), .begin = start});
  HostThread& thread = threads_.back();
  thread.end = std::max(thread.end, end);
  if (name == kNoName) return;
  const bool within = thread.last > thread.first && start < ends_.back();
  if (within) return;
  starts_.push_back(start);
  ends_.push_back(end);
  names_.push_back(name);
  thread.last = starts_.size();
}

uint32_t HostThreads::Find(int64_t pid, int64_t tid) const {
  const auto found = std::lower_bound(threads_.begin(), threads_.end(), std::pair(pid, tid),
                                      [](const HostThread& thread, const auto& key) {
                                        return std::pair(thread.pid, thread.tid) < key;
                                      });
  if (found == threads_.end() || found->pid != pid || found->tid != tid) return kNoThread;
  return static_cast<uint32_t>(found - threads_.begin());
}

size_t HostThreads::FindCall(uint32_t thread, int64_t start, int64_t end, uint32_t name,
                             size_t from) const {
  const auto first = starts_.begin() + static_cast<ptrdiff_t>(threads_[thread].first);
  const auto last = starts_.begin() + static_cast<ptrdiff_t>(threads_[thread].last);
  auto call = static_cast<size_t>(std::lower_bound(first, last, start) - starts_.begin());
  for (call = std::max(call, from); call < threads_[thread].last && starts_[call] == start; ++call)
    if (ends_[call] == end && names_[call] == name) return call;
  return size();
}

size_t HostThreads::FirstEndingAfter(uint32_t thread, int64_t time) const {
  const auto first = ends_.begin() + static_cast<ptrdiff_t>(threads_[thread].first);
  const auto last = ends_.begin() + static_cast<ptrdiff_t>(threads_[thread].last);
  return static_cast<size_t>(std::upper_bound(first, last, time) - ends_.begin());
}

uint32_t HostThreads::MainCall(uint32_t thread, int64_t begin, int64_t end) const {
  uint32_t name = kNoName;
  int64_t most = 0;
  Overlaps(thread, begin, end, [&](size_t call, int64_t ns) {
    if (ns <= most) return;
    most = ns;
    name = names_[call];
  });
  return name;
}

Blocking BlockingOf(std::string_view name) {
  // hip..., cuda... and the driver's cu... have the same names after that.
  std::string_view rest = name;
  for (const std::string_view start : {"hip", "cuda", "cu"}) {
    if (name.substr(0, start.size()) != start) continue;
    rest = name.substr(start.size());
    break;
  }
  if (rest.size() == name.size())
    return name.substr(0, 15) == "hsa_signal_wait" ? Blocking::kDevice : Blocking::kNot;
  const auto has = [&](std::string_view part) { return rest.find(part) != std::string_view::npos; };
  const auto begins = [&](std::string_view part) { return rest.substr(0, part.size()) == part; };
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), rest) != names.end();
  };
  if (is_one_of({"DeviceSynchronize", "CtxSynchronize", "ThreadSynchronize", "DeviceReset"}))
    return Blocking::kDevice;
  if (begins("StreamSynchronize")) return Blocking::kStream;
  if (begins("EventSynchronize")) return Blocking::kEvent;
  if (begins("StreamQuery")) return Blocking::kQueryStream;
  if (begins("EventQuery")) return Blocking::kQueryEvent;
  // From and to pageable memory an asynchronous copy is over when the call returns.
  if (begins("Memcpy")) return has("Async") ? Blocking::kMayStream : Blocking::kStream;
  if (begins("Memset")) return has("Async") ? Blocking::kNot : Blocking::kMayStream;
  if (is_one_of({"StreamDestroy", "GraphLaunch", "GraphLaunch_spt", "MemMap", "MemUnmap"}))
    return Blocking::kMayStream;
  // Memory is given back when nobody can be using it any more.
  if (is_one_of({"Free", "HostFree", "FreeHost", "FreeArray", "ArrayDestroy", "FreeMipmappedArray",
                 "MipmappedArrayDestroy", "HostUnregister", "IpcCloseMemHandle"}))
    return Blocking::kMemory;
  if (is_one_of({"ModuleUnload",
                 "LibraryUnload",
                 "Malloc",
                 "MallocManaged",
                 "MallocPitch",
                 "MallocArray",
                 "Malloc3D",
                 "Malloc3DArray",
                 "HostMalloc",
                 "HostAlloc",
                 "MallocHost",
                 "HostRegister",
                 "ExtMallocWithFlags",
                 "MemPoolDestroy",
                 "MemPoolTrimTo",
                 "GraphExecDestroy",
                 "CtxDestroy",
                 "DevicePrimaryCtxReset",
                 "LaunchCooperativeKernelMultiDevice",
                 "ExtLaunchMultiKernelMultiDevice",
                 "ModuleLaunchCooperativeKernelMultiDevice"}))
    return Blocking::kMayDevice;
  return Blocking::kNot;
}

bool AlwaysBlocks(Blocking blocking) {
  return blocking == Blocking::kDevice || blocking == Blocking::kMemory ||
         blocking == Blocking::kStream || blocking == Blocking::kEvent;
}

}  // namespace rochound::analysis
