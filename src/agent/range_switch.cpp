// SPDX-License-Identifier: MIT
#include "agent/range_switch.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <string>
#include <vector>

#include "agent/session.h"
#include "agent/state.h"
#include "base/check.h"
#include "base/mutex.h"

namespace rochound::agent {
namespace {

// Everything that exists only when a range is named.
struct Switch {
  std::string name;
  bool any_rest = false;  // the name is a beginning
  pthread_key_t thread_ends{};
  base::Mutex lock;
  uint32_t open ROCHOUND_GUARDED_BY(lock) = 0;  // ranges that count: threads inside one, and ids
  std::vector<uint64_t> ids ROCHOUND_GUARDED_BY(lock);  // of those

  bool Counts(std::string_view other) const {
    return any_rest ? other.substr(0, name.size()) == name : other == name;
  }
};

constinit std::atomic<Switch*> the_switch{nullptr};

// How deep this thread is in ranges, counted from the outermost one that counts.
__thread uint32_t depth __attribute__((tls_model("initial-exec"))) = 0;

// Two ranges that begin and end at once leave the right answer.
void Count(Switch& one, int change) ROCHOUND_REQUIRES(one.lock) {
  ROCHOUND_DCHECK(change > 0 || one.open != 0);
  one.open = static_cast<uint32_t>(static_cast<int>(one.open) + change);
  ROCHOUND_DCHECK(one.open >= one.ids.size());
  AllowByRange(one.open != 0);
}

void ThreadEndsInRange(void*) {
  Switch* one = the_switch.load(std::memory_order_acquire);
  if (one == nullptr || depth == 0) return;
  depth = 0;
  const base::Lock lock(one->lock);
  Count(*one, -1);
}

}  // namespace

void RecordOnlyInRange(std::string_view name) {
  if (name.empty() || the_switch.load() != nullptr) return;
  auto* one = new Switch;  // lives as long as the process
  one->any_rest = name.back() == '*';
  one->name = name.substr(0, name.size() - (one->any_rest ? 1 : 0));
  if (pthread_key_create(&one->thread_ends, ThreadEndsInRange) != 0) {
    delete one;
    Disable("ROCHOUND_RANGE cannot be obeyed: the program has no thread key left");
    return;
  }
  the_switch.store(one, std::memory_order_release);
  AllowByRange(false);
}

void RangeBegins(std::string_view name) {
  Switch* one = the_switch.load(std::memory_order_acquire);
  if (one == nullptr) return;
  if (depth != 0) {
    ++depth;
  } else if (one->Counts(name)) {
    depth = 1;
    pthread_setspecific(one->thread_ends, one);  // failure: a thread that ends inside stays inside
    const base::Lock lock(one->lock);
    Count(*one, 1);
  }
}

void RangeEnds() {
  Switch* one = the_switch.load(std::memory_order_acquire);
  if (one == nullptr || depth == 0 || --depth != 0) return;
  const base::Lock lock(one->lock);
  Count(*one, -1);
}

void RangeBegins(std::string_view name, uint64_t id) {
  Switch* one = the_switch.load(std::memory_order_acquire);
  if (one == nullptr || !one->Counts(name)) return;
  Guarded("no memory for a range", [&] {
    const base::Lock lock(one->lock);
    one->ids.push_back(id);
    Count(*one, 1);
  });
}

void RangeEnds(uint64_t id) {
  Switch* one = the_switch.load(std::memory_order_acquire);
  if (one == nullptr) return;
  const base::Lock lock(one->lock);
  const auto found = std::find(one->ids.begin(), one->ids.end(), id);
  if (found == one->ids.end()) return;
  one->ids.erase(found);
  Count(*one, -1);
}

void ForgetRangesAfterFork() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  Switch* one = the_switch.load(std::memory_order_acquire);
  if (one == nullptr) return;
  new (&one->lock) base::Mutex;
  one->ids.clear();
  one->open = depth != 0 ? 1 : 0;
  AllowByRange(one->open != 0, /*forked=*/true);
}

}  // namespace rochound::agent
