// SPDX-License-Identifier: MIT
#include "analysis/findings/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>

#include "analysis/idle_sweep.h"
#include "analysis/table_builder.h"
#include "base/units.h"

namespace rochound::analysis {
namespace {

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool IsCause(const IdleReason& reason, IdleCause cause) {
  return reason.cause == IdleCauseName(cause);
}

// Times outside HIP up to this between one launch and the next are what a launch costs the program.
constexpr int64_t kShortNs = 2'000'000;
// Between a synchronization and the next launch: what a loop around both costs.
constexpr int64_t kVeryShortNs = 50'000;
constexpr int64_t kOften = 100;

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
  picture.ReadPath();
  picture.MakeSplit();
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

void Picture::ReadGpus() {
  ForEach("busy", "gpus", [&](const RowView& row) {
    if (row.Int("busy_ns") <= busy_ns_) return;
    busy_ns_ = row.Int("busy_ns");
    gpu_ = row.Int("gpu");
  });
}

double Picture::busy_percent() const { return Percent(busy_ns_, wall()); }

void Picture::ReadReasons() {
  ForEach("idle", "reasons", [&](const RowView& row) {
    if (row.Int("gpu") != gpu_) return;
    reasons_.push_back({row.Text("cause"), row.Text("what"), row.Int("gaps"), row.Int("total_ns")});
  });
}

Picture::Sum Picture::Idle(const std::function<bool(const IdleReason&)>& fits) const {
  Sum sum;
  int64_t longest = -1;
  for (const IdleReason& reason : reasons_) {
    if (!fits(reason)) continue;
    sum.ns += reason.ns;
    sum.gaps += reason.gaps;
    if (reason.ns <= longest) continue;
    longest = reason.ns;
    sum.most = reason.what;
  }
  return sum;
}

// The time of a launch belongs to the synchronization before it where the queue was empty because
// of that, and to launches otherwise. Gaps are counted by cause, so it is divided by their numbers.
void Picture::MakeSplit() {
  const Sum sync = Idle([](const IdleReason& reason) {
    return IsCause(reason, IdleCause::kSync) && !IsCopyCall(reason.what) &&
           !IsAllocationCall(reason.what);
  });
  int64_t latency_gaps = 0, latency_ns = 0;
  for (const IdleReason& reason : reasons_) {
    if (!IsCause(reason, IdleCause::kLaunchLatency) || IsCopy(reason.what)) continue;
    latency_ns += reason.ns;
    latency_gaps = std::max(latency_gaps, reason.gaps);
  }
  const Sum shorts =
      Idle([](const IdleReason& r) { return IsCause(r, IdleCause::kKernelTooShort); });
  const Sum outside = Idle([](const IdleReason& r) { return IsCause(r, IdleCause::kOutsideHip); });
  const double after_sync =
      latency_gaps == 0
          ? 0
          : std::min(1.0, static_cast<double>(sync.gaps) / static_cast<double>(latency_gaps));
  const int64_t mean_outside = outside.gaps == 0 ? 0 : outside.ns / outside.gaps;
  split_.sync_bound = after_sync >= 0.5 && sync.gaps >= kOften && mean_outside <= kVeryShortNs;
  split_.launch_bound =
      !split_.sync_bound && after_sync < 0.2 && outside.gaps >= kOften && mean_outside <= kShortNs;
  const auto latency_after_sync = std::llround(after_sync * static_cast<double>(latency_ns));
  split_.sync_ns = sync.ns + latency_after_sync + (split_.sync_bound ? outside.ns : 0);
  split_.sync_gaps = sync.gaps;
  split_.sync_call = sync.most;
  split_.launch_outside_ns = split_.launch_bound ? outside.ns : 0;
  split_.launch_ns = shorts.ns + latency_ns - latency_after_sync + split_.launch_outside_ns;
  int64_t launching = split_.launch_bound ? PathPart("outside HIP") : 0;
  for (const auto& [call, ns] : path_calls_)
    if (Contains(call, "Launch")) launching += ns;
  split_.gpu_bound = PathPart("start after another operation") > launching;
  split_.launch_gaps =
      std::max({shorts.gaps, latency_gaps, split_.launch_bound ? outside.gaps : 0});
}

bool Picture::InSplit(const IdleReason& reason) const {
  return IsCause(reason, IdleCause::kOutsideHip) && (split_.sync_bound || split_.launch_bound);
}

void Picture::ReadPath() {
  ForEach("critical-path", "attribution",
          [&](const RowView& row) { path_parts_[row.Text("what")] += row.Int("total_ns"); });
  ForEach("critical-path", "kernels",
          [&](const RowView& row) { path_ops_[row.Text("name")] += row.Int("path_ns"); });
  ForEach("critical-path", "calls",
          [&](const RowView& row) { path_calls_[row.Text("call")] += row.Int("total_ns"); });
}

int64_t Picture::PathPart(const std::string& part) const {
  const auto found = path_parts_.find(part);
  return found == path_parts_.end() ? 0 : found->second;
}

std::string Bytes(double bytes) { return base::SizeText(static_cast<uint64_t>(bytes)); }

std::string Share(int64_t ns, int64_t all) { return fmt::format("{:.1f}%", Percent(ns, all)); }

std::string Counted(int64_t number, const char* one, const char* many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

std::string BriefKernel(const std::string& name) {
  constexpr size_t kLongest = 60;
  std::string brief = name.starts_with("void ") ? name.substr(5) : name;
  if (const size_t parameters = brief.rfind('('); parameters != std::string::npos && parameters > 0)
    brief.resize(parameters);
  if (brief.size() > kLongest)
    brief = brief.substr(0, kLongest / 2) + "..." + brief.substr(brief.size() - kLongest / 2);
  return brief;
}

bool IsCopyCall(std::string_view call) { return Contains(call, "Memcpy"); }

bool IsAllocationCall(std::string_view call) {
  if (!call.starts_with("hip") && !call.starts_with("cu")) return false;
  return Contains(call, "Malloc") || Contains(call, "Free") || Contains(call, "HostAlloc") ||
         Contains(call, "HostRegister") || Contains(call, "HostUnregister") ||
         Contains(call, "MemAlloc") || Contains(call, "MemCreate") || Contains(call, "MemRelease");
}

bool IsCopyOp(std::string_view name) {
  return name.starts_with("Copy") || Contains(name, "rocclr_copy");
}

}  // namespace rochound::analysis
