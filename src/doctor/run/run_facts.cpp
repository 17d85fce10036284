// SPDX-License-Identifier: MIT
#include "doctor/run/run_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "base/units.h"
#include "store/rpd/database.h"
#include "store/rpd/gpu_usage.h"
#include "store/rpd/lost_kinds.h"

namespace rochound::doctor {
namespace {

using base::Result;
using store::Database;
using store::Statement;

constexpr int kSessionShift = 32;

int64_t Number(const std::string& text) { return strtoll(text.c_str(), nullptr, 10); }

class Reader {
 public:
  Reader(Database* database, RunFacts* run) : database_(*database), run_(*run) {}

  Result<void> Read() {
    ROCHOUND_CHECK(Metadata());
    ROCHOUND_CHECK(Processes());
    ROCHOUND_CHECK(Facts());
    Measure();
    ROCHOUND_CHECK(Operations());
    ROCHOUND_CHECK(Ranges());
    ROCHOUND_CHECK(Launches());
    ROCHOUND_CHECK(Calls());
    ROCHOUND_CHECK(Failures());
    ROCHOUND_CHECK(Unfinished());
    run_.operators = finder_.Find();
    for (Operator& one : run_.operators) one.first_without_ns -= start_;
    return {};
  }

 private:
  Result<bool> Has(std::string_view table) {
    ROCHOUND_TRY(
        const int64_t found,
        database_.Number(fmt::format(
            "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '{}'", table)));
    return found > 0;
  }

  // visit(row) for each row of the question.
  template <typename Visit>
  Result<void> Each(std::string_view sql, Visit visit) {
    ROCHOUND_TRY(Statement rows, database_.Prepare(sql));
    while (true) {
      ROCHOUND_TRY(const bool any, rows.Step());
      if (!any) return {};
      visit(rows);
    }
  }

  Result<void> Unfinished() {
    ROCHOUND_TRY(const bool has, Has("rochound_unfinished"));
    if (!has) return {};
    ROCHOUND_CHECK(Each(
        "SELECT s.string, o.id, o.gpuId, o.\"end\" - d.submit, o.\"end\" - o.start, ifnull(("
        "SELECT max(p.\"end\" - p.start) FROM rocpd_op p WHERE p.description_id = o.description_id "
        "AND p.id NOT IN (SELECT id FROM rochound_unfinished WHERE what IN ('kernel', 'copy'))), 0) "
        "FROM rochound_unfinished u JOIN rocpd_op o ON o.id = u.id "
        "JOIN rochound_dispatch d ON d.op_id = o.id "
        "JOIN rocpd_string s ON s.id = o.description_id WHERE u.what = 'kernel' ORDER BY d.submit",
        [&](const Statement& row) {
          const RunProcess* const process = ProcessOf(row.Int(1));
          run_.unfinished.push_back({.name = row.Text(0),
                                     .pid = process != nullptr ? process->pid : 0,
                                     .gpu = row.Int(2),
                                     .submitted_ns = row.Int(3),
                                     .running_ns = row.Int(4),
                                     .longest_ns = row.Int(5)});
        }));
    return Each(
        "SELECT n.string, a.\"end\" - a.start FROM rochound_unfinished u "
        "JOIN rocpd_api a ON a.id = u.id JOIN rocpd_string n ON n.id = a.apiName_id "
        "WHERE u.what = 'call' ORDER BY a.start",
        [&](const Statement& row) {
          run_.unreturned.push_back(row.Text(0) + ", " + base::TimeText(row.Int(1)));
        });
  }

  // The process that a row of this id belongs to.
  RunProcess* ProcessOf(int64_t id) {
    const auto found = by_session_.find(id >> kSessionShift);
    return found == by_session_.end() ? nullptr : &run_.processes[found->second];
  }

  Result<void> Metadata() {
    return Each("SELECT tag, value FROM rocpd_metadata", [&](const Statement& row) {
      const std::string tag = row.Text(0), value = row.Text(1);
      if (tag == "rochound_command") run_.command = value;
      if (tag == "rochound_status") run_.status = value;
      if (tag == "rochound_cpu_ns") run_.program_cpu_ns = Number(value);
    });
  }

  Result<void> Processes() {
    ROCHOUND_CHECK(
        Each("SELECT session, pid, executable, note, start, \"end\" FROM rochound_process "
             "ORDER BY session",
             [&](const Statement& row) {
               by_session_[row.Int(0)] = run_.processes.size();
               RunProcess process;
               process.session = row.Int(0);
               process.pid = row.Int(1);
               process.executable = row.Text(2);
               process.note = row.Text(3);
               process.start = row.Int(4);
               process.end = row.Int(5);
               run_.processes.push_back(std::move(process));
             }));
    ROCHOUND_CHECK(Each("SELECT DISTINCT product, name FROM rochound_agent WHERE type = 'gpu'",
                        [&](const Statement& row) {
                          run_.gpus.push_back(row.Text(0) + " (" + row.Text(1) + ")");
                        }));
    return Each("SELECT what, count, note FROM rochound_lost", [&](const Statement& row) {
      if (row.Text(0) == store::lost_kinds::kProcess)
        run_.unrecorded.push_back(row.Text(2));
      else
        run_.lost.push_back(fmt::format("{} ({}): {}", row.Text(0), row.Int(1), row.Text(2)));
    });
  }

  Result<void> Facts() {
    ROCHOUND_TRY(run_.has_failures, Has("rochound_failure"));
    ROCHOUND_TRY(const bool facts, Has("rochound_fact"));
    if (!facts) return {};
    std::map<int64_t, int64_t> before;
    ROCHOUND_CHECK(Each("SELECT session, name, value FROM rochound_fact", [&](Statement& row) {
      const auto found = by_session_.find(row.Int(0));
      if (found == by_session_.end()) return;
      RunProcess& process = run_.processes[found->second];
      const std::string name = row.Text(1), value = row.Text(2);
      if (name == "library") process.libraries.push_back(value);
      if (name == "start_ns") process.start = std::min<int64_t>(process.start, Number(value));
      if (name == "end_ns") process.end = std::max<int64_t>(process.end, Number(value));
      if (name == "cpu_ns") process.cpu_ns = Number(value);
      if (name == "cpu_start_ns") before[found->first] = Number(value);
      if (name != "thread") return;  // tid,ns,name
      const size_t first = value.find(','), second = value.find(',', first + 1);
      if (second == std::string::npos) return;
      const std::string thread = value.substr(second + 1);
      if (thread == "softgpu" || thread.rfind("rochound-", 0) == 0)
        process.gpu_cpu_ns += Number(value.substr(first + 1));
    }));
    for (RunProcess& process : run_.processes) {
      if (process.cpu_ns >= 0)
        process.cpu_ns = std::max<int64_t>(0, process.cpu_ns - before[process.session]);
      if (!process.libraries.empty())
        process.layers = FindLayers(process.executable, process.libraries);
    }
    return {};
  }

  void Measure() {
    if (run_.processes.empty()) return;
    start_ = INT64_MAX;
    int64_t end = INT64_MIN;
    for (const RunProcess& process : run_.processes) {
      start_ = std::min(start_, process.start);
      end = std::max(end, process.end);
    }
    run_.length_ns = end - start_;
  }

  Result<void> Operations() {
    store::CoveredTime kernels, all;
    store::GpusBusy gpus;
    ROCHOUND_CHECK(
        Each("SELECT o.id, o.start, o.\"end\", t.string, d.op_id IS NOT NULL, o.gpuId "
             "FROM rocpd_op o JOIN rocpd_string t ON t.id = o.opType_id "
             "LEFT JOIN rochound_dispatch d ON d.op_id = o.id",
             [&](const Statement& row) {
               const bool kernel = row.Int(4) != 0;
               if (kernel && row.Text(3) == "KernelExecution") {
                 ++run_.dispatches;
                 if (RunProcess* const process = ProcessOf(row.Int(0))) ++process->dispatches;
               } else {
                 // A copy by a kernel of the runtime is both.
                 if (kernel) ++run_.runtime_kernels;
                 if (!kernel || row.Text(3).starts_with("Copy")) ++run_.copies;
               }
               all.Add(row.Int(1), row.Int(2));
               if (kernel) kernels.Add(row.Int(1), row.Int(2));
               gpus[row.Int(5)].Add(row.Int(1), row.Int(2));
             }));
    run_.busy_ns = kernels.ns();
    run_.busy_copying_ns = all.ns();
    ROCHOUND_TRY(const int64_t recorded, Recorded());
    run_.usage = store::UsageSentence(gpus, recorded);
    return {};
  }

  // From the first event to the last, without what was not recorded.
  Result<int64_t> Recorded() {
    int64_t first = 0, last = 0;
    ROCHOUND_CHECK(
        Each("SELECT min(start), max(\"end\") FROM (SELECT start, \"end\" FROM rocpd_op UNION ALL "
             "SELECT start, \"end\" FROM rocpd_api WHERE domain_id NOT IN "
             "(SELECT id FROM rocpd_string WHERE string = 'rochound'))",
             [&](const Statement& row) {
               first = row.Int(0);
               last = row.Int(1);
             }));
    store::CoveredTime pauses;
    ROCHOUND_TRY(const bool has, Has("rochound_unrecorded"));
    if (has)
      ROCHOUND_CHECK(
          Each("SELECT start, \"end\" FROM rochound_unrecorded", [&](const Statement& row) {
            pauses.Add(std::max(first, row.Int(0)), std::min(last, row.Int(1)));
          }));
    return last - first - pauses.ns();
  }

  Result<void> Ranges() {
    ROCHOUND_CHECK(
        Each("SELECT a.pid, a.tid, a.start, a.\"end\", u.string FROM rocpd_api a "
             "JOIN rocpd_ustring u ON u.id = a.args_id "
             "WHERE a.domain_id IN (SELECT id FROM rocpd_string WHERE string = 'roctx') "
             "AND a.apiName_id IN (SELECT id FROM rocpd_string WHERE string = 'UserMarker') "
             "AND a.category_id IN (SELECT id FROM rocpd_string WHERE string = 'range')",
             [&](const Statement& row) {
               finder_.AddRange(row.Int(0), row.Int(1), row.Int(2), row.Int(3), row.Text(4));
             }));
    finder_.Arrange();
    return {};
  }

  // The launches of the program's kernels and of the runtime's: a fill is work of the GPU, too, but
  // a copy by a kernel is a copy.
  Result<void> Launches() {
    if (finder_.empty()) return {};
    const std::string kernels =
        "FROM rochound_dispatch d JOIN rocpd_op o ON o.id = d.op_id "
        "JOIN rocpd_string t ON t.id = o.opType_id AND t.string NOT LIKE 'Copy%' ";
    ROCHOUND_CHECK(
        Each("SELECT a.pid, a.tid, a.start " + kernels + "JOIN rocpd_api a ON a.id = d.api_id",
             [&](const Statement& row) { finder_.AddLaunch(row.Int(0), row.Int(1), row.Int(2)); }));
    ROCHOUND_CHECK(Each("SELECT d.op_id, d.submit " + kernels + "WHERE d.api_id IS NULL",
                        [&](const Statement& row) {
                          if (const RunProcess* const process = ProcessOf(row.Int(0)))
                            finder_.AddStrayLaunch(process->pid, row.Int(1));
                        }));
    constexpr int kToHost = 2;  // hipMemcpyDeviceToHost; 1 is the way back
    return Each(
        "SELECT a.pid, a.tid, a.start, c.kind FROM rocpd_copyapi c "
        "JOIN rocpd_api a ON a.id = c.api_ptr_id WHERE c.kind IN (1, 2) ORDER BY a.start",
        [&](const Statement& row) {
          finder_.AddCopy(row.Int(0), row.Int(1), row.Int(2), row.Int(3) == kToHost);
        });
  }

  // HIP's; HSA's where there are none of HIP, since otherwise these are inside of those.
  Result<void> Calls() {
    const auto count = [&](const char* domain) {
      return database_.Number(
          fmt::format("SELECT count(*) FROM rocpd_api WHERE domain_id IN "
                      "(SELECT id FROM rocpd_string WHERE string = '{}')",
                      domain));
    };
    ROCHOUND_TRY(const int64_t hip, count("hip"));
    ROCHOUND_TRY(const int64_t hsa, count("hsa"));
    run_.calls = hip + hsa;
    return Each(fmt::format("SELECT id, pid, tid, start, \"end\" FROM rocpd_api WHERE domain_id IN "
                            "(SELECT id FROM rocpd_string WHERE string = '{}')",
                            hip > 0 ? "hip" : "hsa"),
                [&](const Statement& row) {
                  if (RunProcess* const process = ProcessOf(row.Int(0)))
                    process->in_calls_ns += row.Int(4) - row.Int(3);
                  if (!finder_.empty())
                    finder_.AddCall(row.Int(1), row.Int(2), row.Int(3), row.Int(4));
                });
  }

  Result<void> Failures() {
    if (!run_.has_failures) return {};
    struct Place {
      size_t index;
      int64_t api, start, end, session;
    };
    std::map<std::tuple<int64_t, std::string, int64_t>, Place> groups;
    ROCHOUND_CHECK(Each(
        "SELECT f.api_id, ifnull(f.result, -1), a.start, a.\"end\", n.string, d.string, c.string, "
        "u.string "
        "FROM rochound_failure f JOIN rocpd_api a ON a.id = f.api_id "
        "JOIN rocpd_string n ON n.id = a.apiName_id JOIN rocpd_string d ON d.id = a.domain_id "
        "JOIN rocpd_string c ON c.id = a.category_id JOIN rocpd_ustring u ON u.id = a.args_id "
        // HIP does not tell the result of a process's first call. Memory that came of it is seen.
        "WHERE f.result IS NOT NULL OR (n.string LIKE 'hip%Malloc%' AND NOT EXISTS (SELECT 1 FROM "
        "rochound_allocation m WHERE m.pid = a.pid AND m.start BETWEEN a.start AND a.\"end\"))",
        [&](const Statement& row) {
          const int64_t session = row.Int(0) >> kSessionShift;
          const auto [found, fresh] = groups.try_emplace(
              {session, row.Text(4), row.Int(1)},
              Place{run_.failures.size(), row.Int(0), row.Int(2), row.Int(3), session});
          if (fresh) run_.failures.emplace_back();
          FailedCall& call = run_.failures[found->second.index];
          ++call.count;
          if (!fresh && row.Int(2) >= found->second.start) return;
          found->second = {found->second.index, row.Int(0), row.Int(2), row.Int(3), session};
          call.function = row.Text(4);
          call.domain = row.Text(5);
          call.category = row.Text(6);
          call.arguments = row.Text(7);
          call.result = row.Int(1);
          call.first_ns = row.Int(2) - start_;
        }));
    for (const auto& [key, place] : groups)
      ROCHOUND_CHECK(After(place.session, place.end, &run_.failures[place.index]));
    std::stable_sort(run_.failures.begin(), run_.failures.end(),
                     [](const auto& a, const auto& b) { return a.first_ns < b.first_ns; });
    return {};
  }

  // What the process did once the call had failed.
  Result<void> After(int64_t session, int64_t end, FailedCall* call) {
    const int64_t first = session << kSessionShift, last = first + (int64_t{1} << kSessionShift);
    ROCHOUND_TRY(Statement calls,
                 database_.Prepare(
                     "SELECT count(*), sum(n.string = ?3 AND f.api_id IS NULL) FROM rocpd_api a "
                     "JOIN rocpd_string n ON n.id = a.apiName_id "
                     "JOIN rocpd_string d ON d.id = a.domain_id AND d.string = 'hip' "
                     "LEFT JOIN rochound_failure f ON f.api_id = a.id "
                     "WHERE a.id BETWEEN ?1 AND ?2 AND a.start >= ?4"));
    calls.BindAll(first, last - 1, std::string_view(call->function), end);
    ROCHOUND_TRY(const bool any, calls.Step());
    if (any) {
      call->calls_after = calls.Int(0);
      call->same_after = calls.Int(1);
    }
    ROCHOUND_TRY(call->dispatches_after,
                 database_.Number(fmt::format(
                     "SELECT count(*) FROM rochound_dispatch d JOIN rocpd_op o ON o.id = d.op_id "
                     "JOIN rocpd_string t ON t.id = o.opType_id AND t.string = 'KernelExecution' "
                     "WHERE d.op_id BETWEEN {} AND {} AND d.submit >= {}",
                     first, last - 1, end)));
    if (const RunProcess* const process = ProcessOf(first))
      call->time_after_ns = std::max<int64_t>(0, process->end - end);
    return {};
  }

  Database& database_;
  RunFacts& run_;
  OperatorFinder finder_;
  std::map<int64_t, size_t> by_session_;
  int64_t start_ = 0;
};

}  // namespace

Result<RunFacts> ReadRun(const std::filesystem::path& trace) {
  ROCHOUND_TRY(Database database, Database::Open(trace, Database::Mode::kRead));
  const auto ours =
      database.Number("SELECT count(*) FROM sqlite_master WHERE name = 'rochound_process'");
  if (!ours.ok() || ours.value() == 0) {
    return base::Error{
        fmt::format("'{}' is no trace of rochound run, so what the program did on the host is not "
                    "in it; record "
                    "it with rochound run -o trace.rpd -- PROGRAM",
                    trace.string())};
  }
  RunFacts run;
  if (auto read = Reader(&database, &run).Read(); !read.ok())
    return read.error().In("'" + trace.string() + "'");
  return run;
}

int64_t HostWork(const RunFacts& run) {
  int64_t sum = -1;
  for (const RunProcess& process : run.processes) {
    if (process.cpu_ns < 0) continue;
    // A thread that waits for the GPU may burn, too: that is not counted.
    const int64_t outside = process.cpu_ns - process.gpu_cpu_ns - process.in_calls_ns - run.busy_ns;
    sum = std::max<int64_t>(sum, 0) + std::max<int64_t>(outside, 0);
  }
  return sum;
}

}  // namespace rochound::doctor
