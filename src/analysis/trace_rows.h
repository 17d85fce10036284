// SPDX-License-Identifier: MIT
//
// Rows of an open trace in the order that sweeps need them, streamed from DuckDB: names, host
// threads, operations by queue, and what the host asked of streams. Used by `callstack`, `idle` and
// `critical-path`; one thread. A query reads until it is done or the visitor's error stops it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/host_threads.h"
#include "analysis/idle_sweep.h"
#include "analysis/stream_order.h"
#include "analysis/thread_order.h"
#include "base/result.h"
#include "store/open/duck.h"

namespace rochound::analysis {

// The trace's strings by small numbers; equal texts have equal numbers.
class Names {
 public:
  static base::Result<Names> Load(store::duck::Connection& connection);

  // kNoName: there is no such row.
  uint32_t Of(int64_t string_id) const {
    const auto found = numbers_.find(string_id);
    return found == numbers_.end() ? kNoName : found->second;
  }
  size_t size() const { return texts_.size(); }
  // Empty for kNoName.
  const std::string& text(uint32_t name) const;

  // Ids of strings whose text fits, as "1, 2, 3"; "NULL" if there is none, which is IN nothing.
  std::string IdsWhere(const std::function<bool(const std::string& text)>& fits) const;

 private:
  std::unordered_map<int64_t, uint32_t> numbers_;
  std::vector<std::string> texts_;
};

// What is not a call into a runtime: marks of the program, operators of frameworks.
bool IsMarkDomain(const std::string& domain);

// SQL for the name of a range whose message is in this column: without what PyTorch adds to it.
std::string RangeName(const std::string& column);

// From the first event of the program to its last: calls and operations, not the recorder's own
// work.
base::Result<Window> LoadWindow(store::duck::Connection& connection, const Names& names);

base::Result<std::vector<HostProcess>> LoadHostProcesses(store::duck::Connection& connection);

base::Result<HostThreads> LoadHostThreads(store::duck::Connection& connection, const Names& names);

enum class OpOrder : uint8_t {
  kQueue,  // by gpu, queue, start, end, id
  kGpu,    // by gpu, start, end, id
};
// What only some operations have (`ready`, `host_function`) is left out.
base::Result<void> ForEachQueuedOp(
    store::duck::Connection& connection, const Names& names, const HostThreads& threads,
    OpOrder order, const std::function<void(const QueuedOp&, uint32_t type)>& visit);

// As StreamOrder wants them. Waiting calls are given if they are outermost ones of their thread, and
// only if asked for.
base::Result<void> ForEachStep(store::duck::Connection& connection, const Names& names,
                               const HostThreads& threads, bool waiting,
                               const std::function<void(const Step&)>& visit);

}  // namespace rochound::analysis
