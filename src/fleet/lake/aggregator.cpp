// SPDX-License-Identifier: MIT
#include "fleet/lake/aggregator.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <stdexcept>

#include "base/log.h"
#include "fleet/bus/names.h"

namespace rochound::fleet {
namespace {

using base::Result;
using nlohmann::json;

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

void Aggregator::Take(const StoredMessage& message) {
  const json content = json::parse(message.text, nullptr, false);
  try {
    const std::string host = content.at("host"), epoch = content.at("epoch");
    const uint64_t number = content.at("nth");
    // Whoever may write to this tenant's subjects may write anything: the tenant is the stream's.
    if (content.at("tenant") != options_.tenant) throw std::runtime_error("another tenant's name");
    auto& last = numbers_[{host, epoch}];
    if (number <= last) {
      ++duplicates_;
      return;
    }
    auto rows = LakeRows(content, message.sequence);
    if (number > last + 1) {
      json gap = content;
      gap["rows"] = json::array();
      gap["losses"] = json::array();
      gap["losses"].push_back({{"rank", -1},
                               {"pid", 0},
                               {"what", "messages that never came"},
                               {"count", number - last - 1}});
      const auto more = LakeRows(gap, message.sequence);
      rows.insert(rows.end(), more.begin(), more.end());
    }
    last = number;
    // Written in one file or not at all.
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    ++stored_;
  } catch (const std::exception& error) {
    base::LogWarning(fmt::format("message {} of {} is none of ours: {}", message.sequence,
                                 stream_.name, error.what()));
  }
}

Result<void> Aggregator::Write() {
  if (!rows_.empty()) {
    if (auto written = lake_->Write(stretch_, rows_); !written.ok()) {
      // The storage may be away for a while: what was collected is kept and tried again.
      return written;
    }
  }
  rows_.clear();
  messages_ = 0;
  return {};
}

}  // namespace rochound::fleet
