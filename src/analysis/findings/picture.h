// SPDX-License-Identifier: MIT
//
// What the rules look at: the answers to questions about one trace, asked once and kept, and sums
// over them that several rules need. Made by FindFindings, used on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/answer.h"
#include "analysis/questions.h"
#include "analysis/trace_facts.h"
#include "base/result.h"
#include "base/units.h"
#include "store/open/trace_database.h"

namespace rochound::analysis {

// A table's rows by the names of their columns. A column that is not there reads as nothing.
class RowView {
 public:
  RowView(const Table& table, size_t row) : table_(table), row_(row) {}
  int64_t Int(std::string_view column) const { return static_cast<int64_t>(Real(column)); }
  double Real(std::string_view column) const;
  std::string Text(std::string_view column) const;

 private:
  const Value* At(std::string_view column) const;
  const Table& table_;
  size_t row_;
};

// Why a GPU was idle: a row of the question `idle`.
struct IdleReason {
  std::string cause, what;
  int64_t gaps = 0, ns = 0;

  // Paid once, whatever call it falls into.
  bool one_time() const { return cause.starts_with("one-time"); }
};

class Picture {
 public:
  static base::Result<Picture> Make(store::TraceDatabase& trace, const AskOptions& options,
                                    std::span<const Answer> answered);

  const Facts& facts() const { return facts_; }
  int64_t wall() const { return facts_.length; }

  // A question's table; nullptr: it cannot be answered or has no such table.
  const Table* Find(const std::string& question, const std::string& table) const;
  void ForEach(const std::string& question, const std::string& table,
               const std::function<void(const RowView&)>& visit) const;
  // The rows of a query of the rule's own, kept for others that ask the same; none if it fails.
  const Table& Rows(const std::string& sql) const;

  // The GPU that worked longest. Whatever keeps it idle costs wall time; that others are idle
  // meanwhile may not. -1: there was no work.
  int64_t gpu() const { return gpu_; }
  int64_t busy_ns() const { return busy_ns_; }
  double busy_percent() const;
  // Its idle time.
  const std::vector<IdleReason>& reasons() const { return reasons_; }
  // Sums over the reasons that fit.
  struct Sum {
    int64_t ns = 0, gaps = 0;
    std::string most;  // what the longest of them is
  };
  Sum Idle(const std::function<bool(const IdleReason&)>& fits) const;

  // What the GPU was idle for around synchronizations and around launches.
  struct Split {
    int64_t sync_ns = 0, sync_gaps = 0;  // the queue was empty because the host waited for it
    std::string sync_call;
    int64_t launch_ns = 0, launch_gaps = 0;  // launches came too slowly
    int64_t launch_outside_ns = 0;           // of that: outside HIP
    bool launch_bound = false;               // the short times outside HIP belong to launches
    bool sync_bound = false;                 // and here to synchronizations
    // On the path there is more of what the GPU needs between kernels that are in its queue than of
    // launching them.
    bool gpu_bound = false;
  };
  const Split& split() const { return split_; }
  // Whether a reason outside HIP was counted as part of `split`.
  bool InSplit(const IdleReason& reason) const;

  // Time on the critical path: of operations by name (copies by their type), and of everything by
  // kind.
  const std::map<std::string, int64_t>& path_ops() const { return path_ops_; }
  const std::map<std::string, int64_t>& path_parts() const { return path_parts_; }
  // And of the host, by call.
  const std::map<std::string, int64_t>& path_calls() const { return path_calls_; }
  int64_t PathPart(const std::string& part) const;

  store::TraceDatabase& trace() const { return *trace_; }
  const AskOptions& options() const { return options_; }

 private:
  const Answer* Ask(const std::string& question) const;
  void ReadGpus();
  void ReadReasons();
  void MakeSplit();
  void ReadPath();

  store::TraceDatabase* trace_ = nullptr;
  AskOptions options_;
  mutable std::map<std::string, Answer> answers_;
  mutable std::map<std::string, Table> rows_;  // by query
  Facts facts_{};
  int64_t gpu_ = -1;
  int64_t busy_ns_ = 0;
  std::vector<IdleReason> reasons_;
  Split split_;
  std::map<std::string, int64_t> path_ops_, path_parts_, path_calls_;
};

// --- words for sentences

inline std::string Duration(int64_t ns) { return base::TimeText(ns); }
std::string Bytes(double bytes);             // 4.0 MiB
std::string Share(int64_t ns, int64_t all);  // 12.3%
std::string Counted(int64_t number, const char* one, const char* many);
// A kernel's name without `void` and parameters, cut where it is long.
std::string BriefKernel(const std::string& name);

// --- kinds of calls, by name

bool IsCopyCall(std::string_view call);
bool IsAllocationCall(std::string_view call);  // or one that gives memory back
// By an operation's name: a copy's type, or a kernel of the runtime that copies.
bool IsCopyOp(std::string_view name);
// The call or the operation that a GPU waited for.
inline bool IsCopy(std::string_view what) { return IsCopyCall(what) || IsCopyOp(what); }

}  // namespace rochound::analysis
