// SPDX-License-Identifier: MIT
#include "analysis/thread_order.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "store/open/trace_tables.h"

namespace rochound::analysis {
namespace {

struct Process {
  uint32_t main = kNoThread;
  uint32_t last = kNoThread;  // its thread with the last event
  int64_t begin = 0, end = 0;
  const HostProcess* known = nullptr;
};

// A thread or process that another one started.
struct Child {
  uint32_t thread;  // its main one
  uint32_t last;    // and the one that ends last
  int64_t begin, end;
};

class Finder {
 public:
  Finder(const HostThreads& threads, const std::vector<HostProcess>& processes)
      : threads_(threads), all_(threads.threads()) {
    for (const HostProcess& one : processes) known_.emplace(one.pid, &one);
  }

  ThreadOrder Find() {
    FindProcesses();
    for (uint32_t thread = 0; thread < all_.size(); ++thread) {
      const uint32_t main = order_.main_of[thread];
      if (thread != main)
        children_[main].push_back({thread, thread, all_[thread].begin, all_[thread].end});
    }
    FindParents();
    for (auto& [starter, children] : children_) {
      for (const Child& child : children) order_.starts.push_back(StartOf(child, starter));
      FindJoins(starter, children);
    }
    return std::move(order_);
  }

 private:
  void FindProcesses() {
    order_.main_of.resize(all_.size());
    order_.begins.resize(all_.size());
    for (uint32_t first = 0; first < all_.size();) {
      uint32_t next = first;
      Process process{.main = first, .last = first, .begin = all_[first].begin};
      for (; next < all_.size() && all_[next].pid == all_[first].pid; ++next) {
        order_.begins[next] = all_[next].begin;
        if (all_[next].end > all_[process.last].end) process.last = next;
        if (all_[next].begin < process.begin) {
          process.begin = all_[next].begin;
          process.main = next;
        }
      }
      const uint32_t named = threads_.Find(all_[first].pid, all_[first].pid);
      if (named != kNoThread) process.main = named;
      process.end = all_[process.last].end;
      const auto known = known_.find(all_[first].pid);
      if (known != known_.end()) {
        process.known = known->second;
        process.begin = std::min(process.begin, process.known->begin);
      }
      order_.begins[process.main] = process.begin;
      for (uint32_t thread = first; thread < next; ++thread) order_.main_of[thread] = process.main;
      processes_.emplace(all_[first].pid, process);
      first = next;
    }
  }

  void FindParents() {
    for (const auto& [pid, process] : processes_) {
      if (process.known == nullptr) continue;
      const auto parent = processes_.find(process.known->parent);
      if (parent != processes_.end() && parent->first != pid &&
          parent->second.begin <= process.begin) {
        children_[parent->second.main].push_back(
            {process.main, process.last, process.begin, process.end});
        continue;
      }
      const Process* before = nullptr;
      for (const auto& [other_pid, other] : processes_) {
        const bool same_host = other_pid / store::kPidStride == pid / store::kPidStride;
        if (other.known == nullptr || !same_host || other_pid == pid) continue;
        if (other.end > process.begin) continue;
        if (before == nullptr || other.end > before->end) before = &other;
      }
      if (before != nullptr) order_.afters.push_back({process.main, before->last});
    }
  }

  // The first call of the thread that is not over at this time; its `last` if there is none.
  size_t CallAt(uint32_t thread, int64_t time) const {
    return threads_.FirstEndingAfter(thread, time);
  }
  bool IsCall(uint32_t thread, size_t call) const { return call < all_[thread].last; }

  ThreadOrder::Start StartOf(const Child& child, uint32_t starter) const {
    const size_t call = CallAt(starter, child.begin);
    int64_t time = child.begin;
    if (IsCall(starter, call)) time = std::min(time, threads_.start(call));
    return {child.thread, starter, time};
  }

  void FindJoins(uint32_t starter, const std::vector<Child>& children) {
    // By the next call of the starter: its children that began before that and after the call
    // before.
    std::map<size_t, std::vector<const Child*>> gaps;
    for (const Child& child : children) {
      const size_t call = CallAt(starter, child.begin);
      if (IsCall(starter, call) && threads_.start(call) < child.begin) continue;  // within a call
      gaps[call].push_back(&child);
    }
    for (auto& [call, begun] : gaps) {
      std::sort(begun.begin(), begun.end(),
                [](const Child* a, const Child* b) { return a->begin < b->begin; });
      const bool has_call = IsCall(starter, call);
      for (size_t i = 0; i < begun.size(); ++i) {
        const bool is_last = i + 1 == begun.size();
        if (is_last && !has_call) break;  // nothing comes after it
        const int64_t from = begun[i]->begin;
        const int64_t to = is_last ? threads_.start(call) : begun[i + 1]->begin;
        ThreadOrder::Join join{.thread = starter, .begin = from, .end = from, .joined = {}};
        for (size_t j = 0; j <= i; ++j) {
          if (begun[j]->end <= from || begun[j]->end > to) continue;
          join.joined.push_back(begun[j]->last);
          join.end = std::max(join.end, begun[j]->end);
        }
        if (!join.joined.empty() && join.end - from >= to - join.end)
          order_.joins.push_back(std::move(join));
      }
    }
  }

  const HostThreads& threads_;
  const std::vector<HostThread>& all_;
  std::unordered_map<int64_t, const HostProcess*> known_;
  std::map<int64_t, Process> processes_;             // by pid
  std::map<uint32_t, std::vector<Child>> children_;  // by who started them
  ThreadOrder order_;
};

}  // namespace

ThreadOrder FindThreadOrder(const HostThreads& threads, const std::vector<HostProcess>& processes) {
  return Finder(threads, processes).Find();
}

}  // namespace rochound::analysis
