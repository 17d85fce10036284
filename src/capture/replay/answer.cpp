// SPDX-License-Identifier: MIT
#include "capture/replay/answer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"

namespace rochound::capture::replay {
namespace {

constexpr double kSecondsBetween = 0.1;

}  // namespace

void Answer::AddNote(const std::string& note) {
  if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
}

void Answer::Progress(const std::string& step, double part) {
  const double now = static_cast<double>(base::ClockNs(CLOCK_MONOTONIC)) * 1e-9;
  if (step == last_step_ && now - last_time_ < kSecondsBetween) return;
  last_step_ = step;
  last_time_ = now;
  Line({{"progress", step}, {"part", part}});
}

void Answer::Launching(const std::string& candidate) {
  if (candidate == last_candidate_) return;
  last_candidate_ = candidate;
  Line({{"launching", candidate}});
}

void Answer::End(Verdict verdict, const std::string& message) {
  nlohmann::ordered_json answer = {{"verdict", NameOf(verdict)}};
  if (!message.empty()) answer["message"] = message;
  answer.update(json_);
  answer["notes"] = notes_;
  Line({{"answer", answer}});
  _exit(ExitCode(verdict));
}

void Answer::Line(const nlohmann::ordered_json& line) const {
  const std::string text =
      line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = write(descriptor_, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody listens any more
    at += static_cast<size_t>(written);
  }
}

}  // namespace rochound::capture::replay
