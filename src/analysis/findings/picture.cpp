// SPDX-License-Identifier: MIT
#include "analysis/findings/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>

#include "analysis/idle_sweep.h"
#include "analysis/table_builder.h"
#include "analysis/trace_rows.h"
#include "base/units.h"
#include "codeobj/kernel_name.h"

namespace rochound::analysis {
namespace {

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool IsCause(const IdleReason& reason, IdleCause cause) {
  return reason.cause == IdleCauseName(cause);
}

bool IsOrigin(const IdleReason& reason, GapOrigin origin) {
  return reason.origin == GapOriginName(origin);
}

std::string Most(const std::map<std::string, int64_t>& times) {
  const auto most = std::max_element(
      times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == times.end() ? std::string() : most->first;
}

// Between a synchronization and the next launch: what a loop around both costs.
constexpr int64_t kVeryShortNs = 50'000;
// Fewer slow launches are no rate.
constexpr int64_t kOften = 30;

}  // namespace

const Value* RowView::At(std::string_view column) const {
  for (size_t i = 0; i < table_.columns.size(); ++i)
    if (table_.columns[i].name == column) return &table_.rows[row_][i];
  return nullptr;
}

double RowView::Real(std::string_view column) const {
  const Value* const value = At(column);
  if (value == nullptr) return 0;
  if (const auto* integer = std::get_if<int64_t>(value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(value)) return *real;
  return 0;
}

std::string RowView::Text(std::string_view column) const {
  const Value* const value = At(column);
  if (value == nullptr) return {};
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  if (const auto* integer = std::get_if<int64_t>(value)) return std::to_string(*integer);
  return {};
}

base::Result<Picture> Picture::Make(store::TraceDatabase& trace, const AskOptions& options,
                                    std::span<const Answer> answered) {
  Picture picture;
  picture.trace_ = &trace;
  picture.options_ = options;
  picture.options_.limit = 0;
  for (const Answer& answer : answered) picture.answers_[answer.question] = answer;
  ROCHOUND_TRY(picture.facts_, ReadFacts(trace));
  picture.ReadGpus();
  picture.ReadReasons();
  picture.ReadLaunching();
  picture.ReadLaunchingThread();
  picture.ReadPath();
  picture.DivideOutside();
  return picture;
}

const Answer* Picture::Ask(const std::string& question) const {
  const auto found = answers_.find(question);
  if (found != answers_.end()) return &found->second;
  Answer& answer = answers_[question];
  if (const Question* const known = FindQuestion(question)) {
    auto asked = known->ask(*trace_, options_);
    if (asked.ok()) answer = std::move(asked).value();
  }
  return &answer;
}

const Table* Picture::Find(const std::string& question, const std::string& table) const {
  for (const Table& one : Ask(question)->tables)
    if (one.id == table) return &one;
  return nullptr;
}

void Picture::ForEach(const std::string& question, const std::string& table,
                      const std::function<void(const RowView&)>& visit) const {
  const Table* const found = Find(question, table);
  if (found == nullptr) return;
  for (size_t i = 0; i < found->rows.size(); ++i) visit(RowView(*found, i));
}

const Table& Picture::Rows(const std::string& sql) const {
  const auto [found, is_new] = rows_.try_emplace(sql);
  if (is_new) {
    auto table = ReadTable(trace_->connection(), sql, "rows", "", 0);
    if (table.ok()) found->second = std::move(table).value();
  }
  return found->second;
}

std::string Picture::Metadata(const char* tag) const {
  const Table& table = Rows(fmt::format("SELECT value FROM rocpd_metadata WHERE tag = '{}'", tag));
  return table.rows.empty() ? std::string() : RowView(table, 0).Text("value");
}

void Picture::ReadGpus() {
  ForEach("busy", "gpus", [&](const RowView& row) {
    if (row.Int("busy_ns") <= busy_ns_) return;
    busy_ns_ = row.Int("busy_ns");
    gpu_ = row.Int("gpu");
  });
}

double Picture::busy_percent() const { return Percent(busy_ns_, wall()); }

void Picture::ReadReasons() {
  ForEach("idle", "origins", [&](const RowView& row) {
    if (row.Int("gpu") != gpu_) return;
    reasons_.push_back({row.Text("origin"), row.Text("call"), row.Text("cause"), row.Text("what"),
                        row.Int("gaps"), row.Int("pieces"), row.Int("total_ns")});
  });
  const Table& operators = Rows(
      "SELECT DISTINCT " + RangeName("u.string") +
      " AS name FROM rocpd_api a JOIN rocpd_string c ON c.id = a.category_id AND c.string = 'cpu_op'"
      " JOIN rocpd_ustring u ON u.id = a.args_id");
  for (size_t i = 0; i < operators.rows.size(); ++i)
    operators_.insert(RowView(operators, i).Text("name"));
}

void Picture::ReadLaunching() {
  const Table& table = Rows(fmt::format(
      R"(WITH launching AS (
        SELECT DISTINCT a.pid, a.tid FROM rochound_dispatch d JOIN rocpd_api a ON a.id = d.api_id
      ), call AS (
        SELECT a.start, a."end", n.string AS name, lag(n.string) OVER turn AS name_before,
          max(a."end") OVER (turn ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
        FROM rocpd_api a JOIN launching USING (pid, tid)
        JOIN rocpd_string n ON n.id = a."apiName_id" JOIN rocpd_string d ON d.id = a.domain_id
        WHERE d.string NOT IN ('roctx', 'torch', 'python')
        WINDOW turn AS (PARTITION BY a.pid, a.tid ORDER BY a.start, a.id)
      )
      SELECT coalesce(sum("end" - greatest(start, before)) FILTER ("end" > before), 0)::BIGINT AS in_calls_ns,
        coalesce(sum(start - before) FILTER (start > before AND start - before <= {}), 0)::BIGINT AS outside_ns
      FROM call WHERE NOT regexp_matches(name || name_before, 'Synchronize|Memcpy'))",
      kLongestLaunch));
  if (!table.rows.empty())
    launching_ = {RowView(table, 0).Int("in_calls_ns"), RowView(table, 0).Int("outside_ns")};
}

void Picture::ReadLaunchingThread() {
  const Table& table = Rows(R"(
      WITH thread AS (
        SELECT session, try_cast(split_part(value, ',', 1) AS BIGINT) AS tid,
          try_cast(split_part(value, ',', 2) AS BIGINT) AS cpu_ns
        FROM rochound_fact WHERE name IN ('thread', 'ended_thread')
      ), launched AS (
        SELECT a.id >> 32 AS session, a.tid % 10000000 AS tid, count(*) AS launches,
          sum(count(*)) OVER () AS all_launches
        FROM rochound_dispatch d JOIN rocpd_api a ON a.id = d.api_id GROUP BY ALL
      ), starved AS (
        SELECT session, try_cast(split_part(value, ',', 1) AS BIGINT) AS tid,
          try_cast(split_part(value, ',', 2) AS BIGINT) AS starved_ns
        FROM rochound_fact WHERE name = 'starved_thread'
      ), noted AS (
        SELECT session, try_cast(value AS BIGINT) AS time FROM rochound_fact WHERE name = 'end_ns'
      )
      SELECT t.cpu_ns, t.cpu_ns + greatest(0, p."end" - coalesce(n.time, p.start)) AS most_cpu_ns,
        p."end" - p.start AS life_ns, coalesce(s.starved_ns, -1) AS starved_ns
      FROM thread t JOIN launched l USING (session, tid) JOIN rochound_process p USING (session)
      LEFT JOIN starved s USING (session, tid)
      LEFT JOIN noted n USING (session) WHERE l.launches * 10 >= l.all_launches * 9)");
  if (table.rows.size() != 1) return;
  const RowView row(table, 0);
  launching_thread_ = {row.Int("cpu_ns"), row.Int("most_cpu_ns"), row.Int("life_ns"),
                       row.Int("starved_ns")};
}

Picture::Sum Picture::Idle(Owner owner) const {
  return Idle([&](const IdleReason& reason) { return OwnerOf(reason) == owner; });
}

Picture::Sum Picture::Idle(const std::function<bool(const IdleReason&)>& fits) const {
  Sum sum;
  std::map<std::string, int64_t> by_what;
  for (const IdleReason& reason : reasons_) {
    if (!fits(reason)) continue;
    sum.ns += reason.ns;
    sum.gaps += reason.gaps;
    sum.pieces += reason.pieces;
    by_what[reason.what] += reason.ns;
  }
  sum.most = Most(by_what);
  return sum;
}

// Without the wait the host would have gone on to the next launch while the GPU worked, so what it
// did meanwhile would be hidden as far as there is work to hide it. After a plain synchronization
// only what any loop costs counts so: that the program waits there is plain to see, and what it
// does then is the better thing to name.
void Picture::DivideOutside() {
  int64_t sync_ns = 0, sync_gaps = 0, read_ns = 0, free_ns = 0, launches = 0;
  for (const IdleReason& reason : reasons_) {
    if (IsOrigin(reason, GapOrigin::kLaunching)) launches += reason.gaps;
    const bool outside = IsCause(reason, IdleCause::kOutsideHip);
    if (IsOrigin(reason, GapOrigin::kReadBack)) {
      if (outside) read_ns += reason.ns;
    } else if (IsOrigin(reason, GapOrigin::kDrained) && IsAllocationCall(reason.call)) {
      if (outside) free_ns += reason.ns;
    } else if (IsOrigin(reason, GapOrigin::kDrained) && !IsCopyCall(reason.call)) {
      sync_gaps += reason.gaps;
      if (outside) sync_ns += reason.ns;
    }
  }
  read_back_owns_outside_ = read_ns <= busy_ns_;
  free_owns_outside_ = free_ns <= busy_ns_;
  sync_owns_outside_ = sync_gaps >= kOften && sync_ns / sync_gaps <= kVeryShortNs;
  const bool sleeps =
      launching_thread_ && launching_thread_->most_cpu_ns * 2 < launching_.outside_ns;
  launches_often_ = launches >= kOften && !sleeps;
  std::map<std::string, std::pair<int64_t, int64_t>> hosts;  // time, pieces
  for (const IdleReason& reason : reasons_) {
    if (OwnerOf(reason) != Owner::kHost) continue;
    hosts[reason.what].first += reason.ns;
    hosts[reason.what].second += reason.pieces;
  }
  for (const auto& [what, sum] : hosts) host_means_[what] = sum.first / sum.second;
}

Picture::Owner Picture::OwnerOf(const IdleReason& reason) const {
  const bool outside = IsCause(reason, IdleCause::kOutsideHip);
  const bool launch = (IsCause(reason, IdleCause::kLaunchLatency) && !IsCopy(reason.what)) ||
                      IsCause(reason, IdleCause::kKernelTooShort);
  const bool wait = IsCause(reason, IdleCause::kSync) && !IsCopyCall(reason.what);
  // What the host does after the last operation as it did between others is no end of the work.
  const auto mean = host_means_.find(reason.what);
  if (IsOrigin(reason, GapOrigin::kLast) && outside && mean != host_means_.end() &&
      reason.ns <= 2 * mean->second)
    return Owner::kHost;
  if (IsOrigin(reason, GapOrigin::kFirst) || IsOrigin(reason, GapOrigin::kLast))
    return outside || launch || wait ? Owner::kEdges : Owner::kNobody;
  if (IsOrigin(reason, GapOrigin::kReadBack)) {
    if (outside) return read_back_owns_outside_ ? Owner::kReadBack : Owner::kHost;
    const bool copy = IsCopyCall(reason.what) && !reason.one_time();
    return launch || wait || copy ? Owner::kReadBack : Owner::kNobody;
  }
  if (IsOrigin(reason, GapOrigin::kDrained)) {
    // After a copy that the host waited for: the copy's time is that of the rules about copies.
    if (IsCopyCall(reason.call)) return outside ? Owner::kHost : Owner::kNobody;
    const bool free = IsAllocationCall(reason.call);
    if (outside && !(free ? free_owns_outside_ : sync_owns_outside_)) return Owner::kHost;
    if (outside || launch || wait) return free ? Owner::kFree : Owner::kSync;
    return Owner::kNobody;
  }
  if (launches_often_ && IsOrigin(reason, GapOrigin::kLaunching))
    return outside || launch ? Owner::kLaunch : Owner::kNobody;
  // Where the GPU is quicker than the host otherwise, its start of what is queued is part of that.
  if (launches_often_ && launch && IsOrigin(reason, GapOrigin::kQueued) && !gpu_bound())
    return Owner::kLaunch;
  return outside ? Owner::kHost : Owner::kNobody;
}

Picture::Gaps Picture::GapsOf(Owner owner) const {
  Gaps gaps;
  std::map<std::string, int64_t> calls, outside;
  for (const IdleReason& reason : reasons_) {
    if (OwnerOf(reason) != owner) continue;
    gaps.ns += reason.ns;
    gaps.gaps += reason.gaps;
    calls[reason.call] += reason.ns;
    if (!IsCause(reason, IdleCause::kOutsideHip)) continue;
    gaps.outside_ns += reason.ns;
    outside[reason.what] += reason.ns;
    if (!operators_.contains(reason.what)) gaps.unknown_ns += reason.ns;
  }
  gaps.call = Most(calls);
  gaps.outside = Most(outside);
  return gaps;
}

void Picture::ReadPath() {
  ForEach("critical-path", "attribution",
          [&](const RowView& row) { path_parts_[row.Text("what")] += row.Int("total_ns"); });
  ForEach("critical-path", "kernels",
          [&](const RowView& row) { path_ops_[row.Text("name")] += row.Int("path_ns"); });
  ForEach("critical-path", "calls",
          [&](const RowView& row) { path_calls_[row.Text("call")] += row.Int("total_ns"); });
}

bool Picture::gpu_bound() const {
  int64_t launching = launches_often_ ? PathPart("outside HIP") : 0;
  for (const auto& [call, ns] : path_calls_)
    if (Contains(call, "Launch")) launching += ns;
  return PathPart("start after another operation") > launching;
}

int64_t Picture::PathPart(const std::string& part) const {
  const auto found = path_parts_.find(part);
  return found == path_parts_.end() ? 0 : found->second;
}

// The path tells operations by name and time: of those by the name that were running then the one
// that ended when the piece did. Where the path is too long to be listed, the pieces that are not
// there go to the others of their name.
std::map<int64_t, int64_t> Picture::PathByOp(
    const std::function<bool(const std::string&)>& fits) const {
  std::map<int64_t, int64_t> times;
  std::string names;
  for (const auto& [name, ns] : path_ops_) {
    if (!fits(name)) continue;
    if (!names.empty()) names += ", ";
    names += store::duck::Literal(name);
  }
  if (names.empty()) return times;
  const Table& ops = Rows(fmt::format(
      R"(SELECT o.id, o.start, o."end", coalesce(nullif(n.string, ''), t.string) AS name
         FROM rocpd_op o JOIN rocpd_string n ON n.id = o.description_id
         JOIN rocpd_string t ON t.id = o."opType_id"
         WHERE coalesce(nullif(n.string, ''), t.string) IN ({}) ORDER BY o.start, o.id)",
      names));
  struct Op {
    int64_t id, start, end;
  };
  std::map<std::string, std::vector<Op>> by_name;
  std::map<std::string, int64_t> longest, listed;
  for (size_t i = 0; i < ops.rows.size(); ++i) {
    const RowView row(ops, i);
    const Op op{row.Int("id"), row.Int("start"), row.Int("end")};
    by_name[row.Text("name")].push_back(op);
    longest[row.Text("name")] = std::max(longest[row.Text("name")], op.end - op.start);
  }
  std::vector<std::pair<const std::string*, std::pair<int64_t, int64_t>>> found;  // name, op, ns
  ForEach("critical-path", "longest", [&](const RowView& row) {
    const auto named = by_name.find(row.Text("name"));
    const std::string what = row.Text("what");
    if (named == by_name.end() || (what != "kernels" && what != "copies" && what != "fills"))
      return;
    const int64_t begin = facts_.begin + row.Int("at_ns"), end = begin + row.Int("piece_ns");
    const std::vector<Op>& candidates = named->second;
    auto after = std::upper_bound(candidates.begin(), candidates.end(), begin,
                                  [](int64_t at, const Op& op) { return at < op.start; });
    const Op* best = nullptr;
    while (after != candidates.begin()) {
      const Op& op = *--after;
      if (op.start < begin - longest[named->first]) break;
      if (op.end <= begin) continue;
      if (best == nullptr || std::abs(op.end - end) < std::abs(best->end - end)) best = &op;
    }
    if (best == nullptr) return;
    listed[named->first] += end - begin;
    found.push_back({&named->first, {best->id, end - begin}});
  });
  for (const auto& [name, op] : found) {
    const double scale = static_cast<double>(path_ops_.at(*name)) /
                         static_cast<double>(std::max<int64_t>(1, listed[*name]));
    times[op.first] += std::llround(scale * static_cast<double>(op.second));
  }
  return times;
}

std::string Bytes(double bytes) { return base::SizeText(static_cast<uint64_t>(bytes)); }

std::string Share(int64_t ns, int64_t all) { return fmt::format("{:.1f}%", Percent(ns, all)); }

std::string Counted(int64_t number, const char* one, const char* many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

std::string BriefKernel(const std::string& name) {
  constexpr size_t kLongest = 60;
  return codeobj::ShortKernelName(codeobj::BriefKernelName(name), kLongest);
}

uint64_t AddressOf(const std::string& text) { return strtoull(text.c_str(), nullptr, 16); }

bool IsCopyCall(std::string_view call) { return Contains(call, "Memcpy"); }

bool IsAllocationCall(std::string_view call) {
  if (!call.starts_with("hip") && !call.starts_with("cu")) return false;
  return Contains(call, "Malloc") || Contains(call, "Free") || Contains(call, "HostAlloc") ||
         Contains(call, "HostRegister") || Contains(call, "HostUnregister") ||
         Contains(call, "MemAlloc") || Contains(call, "MemCreate") || Contains(call, "MemRelease");
}

bool IsCopyOp(std::string_view name) {
  return name.starts_with("Copy") || name.starts_with("Memcpy") || Contains(name, "rocclr_copy");
}

}  // namespace rochound::analysis
