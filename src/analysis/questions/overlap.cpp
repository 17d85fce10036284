// SPDX-License-Identifier: MIT
#include "analysis/overlap.h"

#include <algorithm>
#include <string>
#include <utility>

#include "analysis/table_builder.h"
#include "analysis/trace_rows.h"

namespace rochound::analysis {
namespace {

using base::Result;
using store::duck::Connection;
using store::duck::Rows;

std::string StateName(size_t state) {
  static constexpr std::string_view kNames[kWorks] = {"compute", "copy", "communication"};
  std::string name;
  for (size_t i = 0; i < kWorks; ++i) {
    if ((state >> i & 1) == 0) continue;
    if (!name.empty()) name += " + ";
    name += kNames[i];
  }
  return name.empty() ? "idle" : name;
}

// The time of all states in which `one` goes on, and `others` does if there is any.
int64_t Sum(const OverlapSweep::Gpu& gpu, size_t one, size_t others) {
  int64_t sum = 0;
  for (size_t state = 0; state < gpu.ns.size(); ++state)
    if ((state & one) != 0 && (others == 0 || (state & others) != 0)) sum += gpu.ns[state];
  return sum;
}

constexpr size_t Bit(Work work) { return size_t{1} << static_cast<size_t>(work); }

}  // namespace

Work WorkOf(std::string_view name, std::string_view type) {
  const auto has = [](std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
  };
  // RCCL has kept NCCL's names; mscclpp and rocSHMEM have their own.
  for (const std::string_view part : {"ncclDevKernel", "ncclKernel", "ncclDev", "rcclKernel",
                                      "rccl_", "mscclKernel", "rocshmem_"})
    if (has(name, part)) return Work::kCommunication;
  for (const std::string_view part : {"Copy", "Fill", "Memcpy", "Memset", "memcpy", "memset"})
    if (type.substr(0, part.size()) == part) return Work::kCopy;
  return Work::kCompute;
}

void OverlapSweep::Advance(int64_t time) {
  std::array<int64_t, size_t{1} << kWorks>& ns = gpus_.back().ns;
  while (now_ < time) {
    size_t state = 0;
    int64_t next = time;
    for (size_t i = 0; i < kWorks; ++i) {
      if (until_[i] <= now_) continue;
      state |= size_t{1} << i;
      next = std::min(next, until_[i]);
    }
    ns[state] += window_.Recorded(now_, next);
    now_ = next;
  }
}

void OverlapSweep::Add(int64_t gpu, int64_t start, int64_t end, Work work) {
  if (gpus_.empty() || gpus_.back().gpu != gpu) {
    Finish();
    gpus_.push_back({.gpu = gpu});
    now_ = window_.begin;
    until_.fill(window_.begin);
  }
  Advance(start);
  int64_t& until = until_[static_cast<size_t>(work)];
  until = std::max(until, end);
}

void OverlapSweep::Finish() {
  if (!gpus_.empty()) Advance(window_.end);
}

Result<Overlap> AnalyzeOverlap(Connection& connection) {
  ROCHOUND_TRY(const Names names, Names::Load(connection));
  Overlap overlap;
  ROCHOUND_TRY(overlap.window, LoadWindow(connection, names));
  OverlapSweep sweep(overlap.window);
  {
    ROCHOUND_TRY(Rows rows,
                 connection.Query("SELECT gpuId, start, \"end\", description_id, opType_id"
                                  " FROM rocpd_op ORDER BY gpuId, start"));
    for (;;) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      sweep.Add(rows.Int(0), rows.Int(1), rows.Int(2),
                WorkOf(names.text(names.Of(rows.Int(3))), names.text(names.Of(rows.Int(4)))));
    }
  }
  sweep.Finish();
  overlap.gpus = sweep.gpus();
  return overlap;
}

Result<Answer> AskOverlap(store::TraceDatabase& trace, const AskOptions& options) {
  ROCHOUND_TRY(const Overlap overlap, AnalyzeOverlap(trace.connection()));
  const int64_t wall = overlap.window.length();
  Answer answer;
  answer.notes = {
      "A GPU's states add up to the time from the trace's first event to its last.",
      "Hidden is time in which something else went on too. Communication is recognised by kernel names "
      "(RCCL)."};
  TableBuilder gpus("gpus", "GPUs",
                    {"#gpu", "#compute_ns", "#copy_ns", "#communication_ns", "#idle_ns",
                     "#copy_hidden_percent", "#communication_hidden_percent"},
                    options.limit);
  TableBuilder states("states", "What went on at the same time",
                      {"#gpu", "state", "#total_ns", "#share_percent"}, options.limit);
  for (const OverlapSweep::Gpu& gpu : overlap.gpus) {
    const size_t compute = Bit(Work::kCompute), copy = Bit(Work::kCopy),
                 communication = Bit(Work::kCommunication);
    const auto hidden = [&](size_t one, size_t others) -> Value {
      const int64_t all = Sum(gpu, one, 0);
      if (all == 0) return {};
      return Percent(Sum(gpu, one, others), all);
    };
    gpus.Row({gpu.gpu, Sum(gpu, compute, 0), Sum(gpu, copy, 0), Sum(gpu, communication, 0),
              gpu.ns[0], hidden(copy, compute | communication), hidden(communication, compute)});
    for (size_t state = gpu.ns.size(); state-- > 0;) {
      if (gpu.ns[state] == 0) continue;
      states.Row({gpu.gpu, StateName(state), gpu.ns[state], Percent(gpu.ns[state], wall)});
    }
  }
  answer.tables.push_back(gpus.Take());
  answer.tables.push_back(states.Take());
  return answer;
}

}  // namespace rochound::analysis
