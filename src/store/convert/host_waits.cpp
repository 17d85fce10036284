// SPDX-License-Identifier: MIT
#include "store/convert/host_waits.h"

#include <algorithm>
#include <utility>

namespace rochound::store {
namespace {

// What is without a time at the end was submitted shortly before it: old waits are not needed.
constexpr size_t kMostWaits = 1 << 16;
constexpr size_t kMostRecorded = 256;  // of one event

template <typename T>
void ForgetOldest(std::vector<T>* list, size_t most) {
  if (list->size() >= most)
    list->erase(list->begin(), list->begin() + static_cast<ptrdiff_t>(most / 2));
}

}  // namespace

bool HostWaits::CopiedToHost(const trace::CallEvent& event, const FunctionFacts& facts) {
  constexpr int64_t kToHost = 2;
  return event.result == 0 && facts.copy.is_copy && facts.copy.sync &&
         KindOfCopy(facts, {event.words, event.texts}) == kToHost;
}

void HostWaits::Waited(Wait wait) {
  ForgetOldest(&waits_, kMostWaits);
  waits_.push_back(wait);
}

void HostWaits::Add(const trace::CallEvent& event, const FunctionFacts& facts, int64_t device,
                    int64_t gpu) {
  if (gpu >= 0) gpu_of_device_[device] = gpu;
  // Bytes of a stream are there after all that it had to do before.
  const HostWaitKind kind = CopiedToHost(event, facts) ? HostWaitKind::kStream : facts.wait;
  if (kind == HostWaitKind::kNone || event.result != 0) return;
  const CallArguments arguments{event.words, event.texts};
  const auto word = [&](int argument) {
    return argument < 0 ? 0 : WordOf(facts.function, arguments, argument);
  };
  Wait wait{event.begin_ns, event.end_ns, device, std::nullopt};
  switch (kind) {
    case HostWaitKind::kNone:
      return;
    case HostWaitKind::kDevice:
      break;
    case HostWaitKind::kStream:
      wait.stream = word(facts.stream);
      break;
    case HostWaitKind::kRecord: {
      std::vector<Recorded>& recorded = events_[word(facts.event)];
      ForgetOldest(&recorded, kMostRecorded);
      recorded.push_back({event.begin_ns, word(facts.stream), device});
      return;
    }
    case HostWaitKind::kEvent: {
      const Recorded* last = nullptr;
      for (const Recorded& one : events_[word(facts.event)])
        if (one.time < event.begin_ns && (last == nullptr || one.time > last->time)) last = &one;
      if (last == nullptr) return;
      wait = {last->time, event.end_ns, last->device, last->stream};
    }
  }
  Waited(wait);
}

bool HostWaits::IsOn(int64_t device, int64_t gpu) const {
  if (const auto found = gpu_of_device_.find(device); found != gpu_of_device_.end())
    return found->second == gpu;
  return std::count_if(process_.gpu_ids.begin(), process_.gpu_ids.end(),
                       [](int64_t id) { return id >= 0; }) == 1;
}

std::optional<uint64_t> HostWaits::DoneBy(int64_t gpu, std::optional<uint64_t> stream,
                                          uint64_t submit) const {
  std::optional<uint64_t> done;
  for (const Wait& wait : waits_) {
    if (wait.before < submit || (done && *done <= wait.end)) continue;
    if (wait.stream && (!stream || *wait.stream != *stream)) continue;
    // A stream of its own is on one device; every device has a default stream.
    if ((!wait.stream || *wait.stream == 0) && !IsOn(wait.device, gpu)) continue;
    done = wait.end;
  }
  return done;
}

}  // namespace rochound::store
