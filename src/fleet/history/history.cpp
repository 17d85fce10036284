// SPDX-License-Identifier: MIT
#include "fleet/history/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>

#include "codeobj/demangle.h"
#include "fleet/lake/sketch_rows.h"

namespace rochound::fleet {
namespace {

using base::Error;
using base::Result;
using store::duck::Literal;

constexpr const char* kDay = "strftime(from_time, '%Y-%m-%d')";

// Whether a kernel is meant, each name looked at once.
class KernelFilter {
 public:
  explicit KernelFilter(std::string part) : part_(std::move(part)) {}
  bool Takes(const std::string& symbol) {
    if (part_.empty()) return true;
    const auto known = known_.find(symbol);
    if (known != known_.end()) return known->second;
    const bool takes = symbol.find(part_) != std::string::npos ||
                       codeobj::Demangle(symbol).find(part_) != std::string::npos;
    return known_[symbol] = takes;
  }

 private:
  std::string part_;
  std::map<std::string, bool> known_;
};

// A condition on rows: of kernels that are meant.
Result<std::string> OfKernels(Lake& lake, const std::string& part) {
  ROCHOUND_TRY(auto rows, lake.database().Query(
                              "SELECT DISTINCT kernel FROM sketches WHERE kernel IS NOT NULL"));
  KernelFilter wanted(part);
  std::string list = "NULL";
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) return "kernel IN (" + list + ")";
    const std::string kernel(rows.Text(0));
    if (wanted.Takes(kernel)) list += ", " + Literal(kernel);
  }
}

}  // namespace

const std::vector<HistoryKey> kHistoryKeys = {
    {"build", "code_object"},
    {"host", "host"},
    {"rocm", "coalesce(rocm, '')"},
    {"day", kDay},
    {"job", "job"},
    {"rank", "rank::VARCHAR"},
    {"gpu", "gpu::VARCHAR"},
};

std::string Condition(const HistoryFilter& filter) {
  std::string condition = "loss IS NULL";
  if (!filter.job.empty()) condition += " AND job = " + Literal(filter.job);
  if (!filter.since.empty()) condition += fmt::format(" AND {} >= {}", kDay, Literal(filter.since));
  if (!filter.until.empty()) condition += fmt::format(" AND {} <= {}", kDay, Literal(filter.until));
  return condition;
}

Result<std::vector<KernelHistory>> LoadKernels(Lake& lake, const HistoryFilter& filter,
                                               const std::vector<std::string>& by) {
  std::vector<std::string> keys = {"kernel"};
  for (const std::string& word : by) {
    const auto key = std::find_if(kHistoryKeys.begin(), kHistoryKeys.end(),
                                  [&](const HistoryKey& one) { return word == one.word; });
    if (key == kHistoryKeys.end()) return Error{fmt::format("'{}' is nothing to go by", word)};
    keys.emplace_back(key->sql);
  }
  ROCHOUND_TRY(auto merged, MergeSketches(lake.database(), keys, Condition(filter)));
  KernelFilter wanted(filter.kernel);
  std::vector<KernelHistory> sorted;
  for (auto& [parts, sketch] : merged) {
    if (!wanted.Takes(parts[0])) continue;
    KernelHistory one;
    one.kernel = parts[0];
    one.keys.assign(parts.begin() + 1, parts.end());
    one.ns = std::move(sketch.ns);
    one.launches = sketch.launches;
    one.untimed = sketch.untimed;
    sorted.push_back(std::move(one));
  }
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const KernelHistory& a, const KernelHistory& b) { return a.ns.sum() > b.ns.sum(); });
  return sorted;
}

Result<std::vector<Observation>> LoadObservations(Lake& lake, const HistoryFilter& filter) {
  // What one process did with one kernel comes in one message per interval. Sizes are told apart
  // as SizeClass does it.
  const std::vector<std::string> keys = {
      "kernel",
      "code_object",
      "host",
      "epoch || '.' || pid || '.' || start",
      "coalesce(rocm, '')",
      "job",
      "gpu",
      "CASE WHEN work_items = 0 OR launches = 0 THEN -1 ELSE "
      "round(log2(greatest(work_items / launches, 1)) * 4)::INTEGER END"};
  ROCHOUND_TRY(const auto merged,
               MergeSketches(lake.database(), keys, Condition(filter) + " AND code_object <> ''"));
  std::vector<Observation> observations;
  KernelFilter wanted(filter.kernel);
  for (const auto& [parts, sketch] : merged) {
    Observation one;
    one.kernel = parts[0];
    one.code_object = parts[1];
    one.host = parts[2];
    one.process = parts[3];
    one.rocm = parts[4];
    one.job = parts[5];
    one.gpu = std::atoi(parts[6].c_str());
    one.size_class = std::atoi(parts[7].c_str());
    one.median_ns = sketch.ns.Quantile(0.5);
    one.launches = sketch.ns.count();
    one.first_ns = sketch.first_ns;
    if (one.median_ns > 0 && wanted.Takes(one.kernel)) observations.push_back(std::move(one));
  }
  return observations;
}

Result<std::vector<JobHistory>> LoadJobs(Lake& lake, const HistoryFilter& filter) {
  // Losses count, too: a job may have nothing else. Whose they are is not known.
  std::string condition = Condition(filter), having = "true";
  condition.replace(0, std::string_view("loss IS NULL").size(), "true");
  if (!filter.kernel.empty()) {
    ROCHOUND_TRY(const std::string of_kernels, OfKernels(lake, filter.kernel));
    condition += " AND (loss IS NOT NULL OR " + of_kernels + ")";
    having = "count(*) FILTER (loss IS NULL) > 0";
  }
  ROCHOUND_TRY(auto rows,
               lake.database().Query(fmt::format(
                   "SELECT job, count(DISTINCT rank) FILTER (rank >= 0), count(DISTINCT host), "
                   "count(DISTINCT (epoch, pid, start)) FILTER (loss IS NULL), "
                   "count(DISTINCT (epoch, pid, start, gpu)) FILTER (loss IS NULL), "
                   "count(DISTINCT kernel), coalesce(sum(launches), 0), "
                   "coalesce(sum(sum), 0), coalesce(sum(lost), 0), min(from_ns), "
                   "max(from_ns + interval_ns) FROM sketches WHERE {} GROUP BY job "
                   "HAVING {} ORDER BY max(from_ns) DESC, job",
                   condition, having)));
  std::vector<JobHistory> jobs;
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) return jobs;
    JobHistory one;
    one.job = rows.Text(0);
    uint64_t* const numbers[] = {&one.ranks,    &one.hosts,    &one.processes, &one.gpus,
                                 &one.kernels,  &one.launches, &one.busy_ns,   &one.lost,
                                 &one.first_ns, &one.last_ns};
    for (size_t i = 0; i < std::size(numbers); ++i)
      *numbers[i] = static_cast<uint64_t>(rows.Int(i + 1));
    jobs.push_back(std::move(one));
  }
}

}  // namespace rochound::fleet
