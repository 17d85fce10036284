// SPDX-License-Identifier: MIT
//
// What the rules look at: the answers to questions about one trace, asked once and kept, and sums
// over them that several rules need. Made by FindFindings, used on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
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

// Why a GPU was idle: a row of the question `idle`, table `origins`.
struct IdleReason {
  std::string origin, call;  // what emptied the GPU, and the call that waited for it then
  std::string cause, what;
  int64_t gaps = 0;    // of which it is most
  int64_t pieces = 0;  // gaps that it is in
  int64_t ns = 0;

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
  // What the run left under this tag; empty: nothing.
  std::string Metadata(const char* tag) const;

  // The GPU that worked longest. Whatever keeps it idle costs wall time; that others are idle
  // meanwhile may not. -1: there was no work.
  int64_t gpu() const { return gpu_; }
  int64_t busy_ns() const { return busy_ns_; }
  double busy_percent() const;
  // On the path there is more of what the GPU needs between kernels that are in its queue than of
  // launching them.
  bool gpu_bound() const;
  // Its idle time.
  const std::vector<IdleReason>& reasons() const { return reasons_; }
  // Sums over the reasons that fit.
  struct Sum {
    int64_t ns = 0, gaps = 0, pieces = 0;
    std::string most;  // what the longest of them is
  };
  Sum Idle(const std::function<bool(const IdleReason&)>& fits) const;

  // Whose time a piece of a gap is, if it is not that of the call that it lies in: each piece is
  // one rule's, so that no time is promised twice.
  enum class Owner : uint8_t {
    kNobody,    // the GPU's own pauses, and what was not recorded
    kEdges,     // before the first operation and after the last
    kReadBack,  // the host looked at a result
    kFree,      // it waited because memory was given back
    kSync,      // it waited otherwise
    kLaunch,    // it launched too slowly
    kHost,      // it did something else
  };
  Owner OwnerOf(const IdleReason& reason) const;
  Sum Idle(Owner owner) const;
  // The gaps of one owner.
  struct Gaps {
    int64_t ns = 0, gaps = 0;
    int64_t outside_ns = 0;  // of that: outside HIP
    int64_t unknown_ns = 0;  // of that: in no operator of PyTorch, which would be launching
    std::string call;        // that waited, most of the time
    std::string outside;     // the range with most time outside HIP
  };
  Gaps GapsOf(Owner owner) const;
  // Threads that launch, from one call that does not wait to the next: in these calls, and outside
  // HIP for no longer than kLongestLaunch at a time.
  struct Launching {
    int64_t in_calls_ns = 0, outside_ns = 0;
  };
  const Launching& launching() const { return launching_; }
  bool has_operators() const { return !operators_.empty(); }

  // The thread that makes nearly all launches, where the recorder noted its CPU time.
  struct Thread {
    int64_t cpu_ns = 0;       // that it used until then
    int64_t most_cpu_ns = 0;  // and if it computed from then on
    int64_t life_ns = 0;      // of its process
    int64_t starved_ns = -1;  // that it was ready to run and had no CPU; -1: not known
  };
  const std::optional<Thread>& launching_thread() const { return launching_thread_; }

  // Time on the critical path: of operations by name (copies by their type), and of everything by
  // kind.
  const std::map<std::string, int64_t>& path_ops() const { return path_ops_; }
  const std::map<std::string, int64_t>& path_parts() const { return path_parts_; }
  // And of the host, by call.
  const std::map<std::string, int64_t>& path_calls() const { return path_calls_; }
  int64_t PathPart(const std::string& part) const;
  // Time on the critical path by operation, of those whose names fit: id and time.
  std::map<int64_t, int64_t> PathByOp(const std::function<bool(const std::string&)>& fits) const;

  store::TraceDatabase& trace() const { return *trace_; }
  const AskOptions& options() const { return options_; }

 private:
  const Answer* Ask(const std::string& question) const;
  void ReadGpus();
  void ReadReasons();
  void ReadLaunching();
  void ReadLaunchingThread();
  void DivideOutside();
  void ReadPath();

  store::TraceDatabase* trace_ = nullptr;
  AskOptions options_;
  mutable std::map<std::string, Answer> answers_;
  mutable std::map<std::string, Table> rows_;  // by query
  Facts facts_{};
  int64_t gpu_ = -1;
  int64_t busy_ns_ = 0;
  std::vector<IdleReason> reasons_;
  std::set<std::string> operators_;  // of PyTorch, by the names of their ranges
  std::optional<Thread> launching_thread_;
  Launching launching_;
  // Whether the time outside HIP after such a wait belongs to the wait; else it is the host's.
  bool sync_owns_outside_ = false, read_back_owns_outside_ = false, free_owns_outside_ = false;
  // What the host does outside HIP between launches, and the mean time of each.
  std::map<std::string, int64_t> host_means_;
  // Launches are often enough to be a rate, and the thread did not sleep between them.
  bool launches_often_ = false;
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

// An address as arguments and copies have it: 0x7f00. 0: none.
uint64_t AddressOf(const std::string& text);
bool IsCopyCall(std::string_view call);
bool IsAllocationCall(std::string_view call);  // or one that gives memory back
// By an operation's name: a copy's type, or a kernel of the runtime that copies.
bool IsCopyOp(std::string_view name);
// The call or the operation that a GPU waited for.
inline bool IsCopy(std::string_view what) { return IsCopyCall(what) || IsCopyOp(what); }

}  // namespace rochound::analysis
