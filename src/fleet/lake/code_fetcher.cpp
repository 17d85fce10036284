// SPDX-License-Identifier: MIT
#include "fleet/lake/code_fetcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/log.h"
#include "base/sha256.h"
#include "fleet/bus/names.h"

namespace rochound::fleet {
namespace {

using base::Error;
using base::Result;
using nlohmann::json;

constexpr size_t kMostWanted = 10000;
constexpr std::chrono::milliseconds kPatience{2000};

}  // namespace

Result<void> CodeFetcher::Start() {
  ROCHOUND_TRY(const auto hashes, lake_->CodeHashes(SubjectToken(tenant_)));
  kept_ = {hashes.begin(), hashes.end()};
  return {};
}

void CodeFetcher::See(const std::string& host, const std::string& hash) {
  if (hash.empty() || kept_.contains(hash)) return;
  const auto known = wanted_.find(hash);
  if (known != wanted_.end())
    known->second.host = host;
  else if (wanted_.size() < kMostWanted)
    wanted_[hash].host = host;
}

Result<bool> CodeFetcher::Step() {
  const auto now = Clock::now();
  const auto due = std::find_if(wanted_.begin(), wanted_.end(),
                                [&](const auto& one) { return one.second.next <= now; });
  if (due == wanted_.end()) return false;
  const std::string hash = due->first;
  auto code = Fetch(due->second.host, hash);
  if (!code.ok()) {
    // It may have come from a host that is away by now: another one may run it later.
    due->second.next = Clock::now() + due->second.pause;
    due->second.pause = std::min(due->second.pause * 2, std::chrono::seconds(600));
    return true;
  }
  ROCHOUND_CHECK(lake_->WriteCode(SubjectToken(tenant_), code.value()));
  ++fetched_;
  kept_.insert(hash);
  wanted_.erase(hash);
  return true;
}

Result<Lake::Code> CodeFetcher::Fetch(const std::string& host, const std::string& hash) {
  Lake::Code code;
  code.hash = hash;
  code.host = host;
  for (;;) {
    const json request = {{"hash", hash}, {"offset", code.bytes.size()}};
    ROCHOUND_TRY(const auto answers,
                 bus_->Gather(CodeSubject(tenant_, host), request.dump(), kPatience,
                              [](std::string_view) { return true; }));  // one host answers
    if (answers.empty()) return Error{"no answer"};
    const std::string& answer = answers.front();
    const size_t line = answer.find('\n');
    const json head = json::parse(std::string_view(answer).substr(0, std::min(line, answer.size())),
                                  nullptr, false);
    if (line == std::string::npos || !head.is_object() || !head.contains("size") ||
        !head["size"].is_number_unsigned() || head["size"].get<uint64_t>() > kMostBytes)
      return Error{"not understood"};
    code.origin = head.contains("origin") && head["origin"].is_string()
                      ? head["origin"].get<std::string>()
                      : "";
    const size_t before = code.bytes.size();
    code.bytes.append(answer, line + 1);
    if (code.bytes.size() >= head["size"].get<uint64_t>()) break;
    if (code.bytes.size() == before) return Error{"incomplete"};
  }
  if (base::Sha256(code.bytes).substr(0, 32) != hash) {
    base::LogWarning(fmt::format("{} gave other bytes for code object {}", host, hash));
    return Error{"other bytes"};
  }
  code.stored_ns = base::ClockNs(CLOCK_REALTIME);
  return code;
}

}  // namespace rochound::fleet
