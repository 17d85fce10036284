// SPDX-License-Identifier: MIT
#include "fleet/lake/aggregator.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/log.h"
#include "fleet/bus/names.h"
#include "fleet/bus/packed.h"

namespace rochound::fleet {
namespace {

using base::Result;
using nlohmann::json;

constexpr const char* kRefused = "messages refused: not understood, or not from the host they name";

std::string DayOf(int64_t time_ns) {
  const time_t seconds = time_ns / 1000000000;
  tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

}  // namespace

Result<void> Aggregator::Start() {
  stream_ = SketchStream(options_.tenant, options_.shard, options_.replicas);
  ROCHOUND_TRY(const StreamFacts facts, bus_->MakeStream(stream_));
  created_ = static_cast<uint64_t>(facts.created_ns);
  ROCHOUND_TRY(const auto files, lake_->Files(SubjectToken(options_.tenant)));
  next_ = 1;
  for (const LakeFile& file : files)
    if (file.stretch.shard == options_.shard && file.stretch.created == created_)
      next_ = std::max(next_, file.stretch.last + 1);
  ROCHOUND_TRY(numbers_, lake_->LastNumbers(SubjectToken(options_.tenant), options_.shard));
  rows_.clear();
  messages_ = 0;
  return {};
}

Result<bool> Aggregator::Step(bool flush) {
  // A stream that was made anew counts from one again.
  if (messages_ == 0) {
    ROCHOUND_TRY(const StreamFacts facts, bus_->DescribeStream(stream_.name));
    if (static_cast<uint64_t>(facts.created_ns) != created_) ROCHOUND_CHECK(Start());
  }
  // The storage was away when this was enough already.
  if (messages_ >= options_.most_messages) ROCHOUND_CHECK(Write());
  bool more = false;
  for (;;) {
    ROCHOUND_TRY(const auto message, bus_->Next(stream_.name, stream_.subject, next_));
    if (!message) break;
    const std::string day = DayOf(message->time_ns);
    if (messages_ != 0 && day != stretch_.day) ROCHOUND_CHECK(Write());
    if (messages_ == 0) {
      stretch_ = {
          SubjectToken(options_.tenant), day, options_.shard, created_, message->sequence, 0};
      since_ = std::chrono::steady_clock::now();
    }
    Take(*message);
    stretch_.last = message->sequence;
    next_ = message->sequence + 1;
    if (++messages_ >= options_.most_messages) {
      more = true;
      flush = true;
      break;
    }
  }
  const bool waited = std::chrono::steady_clock::now() - since_ >= options_.longest;
  if (messages_ != 0 && (flush || waited)) ROCHOUND_CHECK(Write());
  return more;
}

// Whoever may write to the stream may write anything. What is not understood, or is not from the
// host that it names, becomes a row that says so, and nothing else.
void Aggregator::Take(const StoredMessage& message) {
  const auto text = Unpack(message.text);
  const json content = json::parse(text.ok() ? text.value() : "", nullptr, false);
  auto rows = LakeRows(content, message.sequence);
  std::string problem = rows.ok() ? "" : rows.error().message;
  if (problem.empty()) {
    const std::string host = content.at("host"), job = content.at("job");
    if (content.at("tenant") != options_.tenant)
      problem = "it names another tenant";
    else if (content.at("shard") != options_.shard ||
             SketchSubject(options_.tenant, options_.shard, job, host) != message.subject)
      problem = "its subject is another host's or job's";
  }
  if (!problem.empty()) {
    base::LogWarning(
        fmt::format("message {} of {} is refused: {}", message.sequence, stream_.name, problem));
    ++refused_;
    AddLoss(message, kRefused, 1);
    return;
  }
  const std::string host = content.at("host");
  const uint64_t number = content.at("nth");
  auto& last = numbers_[{host, content.at("epoch")}];
  if (number <= last) {
    ++duplicates_;
    return;
  }
  if (number > last + 1) {
    json gap = content;
    gap["rows"] = json::array();
    gap["losses"] = json::array();
    gap["losses"].push_back({{"rank", -1},
                             {"pid", 0},
                             {"what", "messages that never came"},
                             {"count", number - last - 1}});
    const auto more = LakeRows(gap, message.sequence);
    if (more.ok()) rows_.insert(rows_.end(), more.value().begin(), more.value().end());
  }
  last = number;
  // Written in one file or not at all.
  rows_.insert(rows_.end(), rows.value().begin(), rows.value().end());
  ++stored_;
  if (code_seen_)
    for (const json& row : rows.value())
      if (row.contains("code_object")) code_seen_(host, row["code_object"]);
}

// A loss of which nothing is known but the message that it is about. The subject is the server's
// word: whoever sent the message may send to it.
void Aggregator::AddLoss(const StoredMessage& message, const char* what, uint64_t count) {
  const size_t dot = message.subject.rfind('.');
  rows_.push_back({{"sequence", message.sequence},
                   {"tenant", options_.tenant},
                   {"host", message.subject.substr(dot == std::string::npos ? 0 : dot + 1)},
                   {"epoch", ""},
                   {"number", 0},
                   {"shard", options_.shard},
                   {"nth", 0},
                   {"job", "none"},
                   {"from_ns", message.time_ns},
                   {"interval_ns", 0},
                   {"rank", -1},
                   {"pid", 0},
                   {"loss", what},
                   {"lost", count}});
}

Result<void> Aggregator::Write() {
  if (!rows_.empty()) {
    if (auto written = lake_->Write(stretch_, rows_); !written.ok()) {
      // The storage may be away for a while: what was collected is kept and tried again.
      return written;
    }
  }
  if (on_stored_) on_stored_(rows_);
  rows_.clear();
  messages_ = 0;
  return {};
}

}  // namespace rochound::fleet
