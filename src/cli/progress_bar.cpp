// SPDX-License-Identifier: MIT
#include "cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace rochound::cli {

ProgressBar::ProgressBar(std::string what)
    : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void ProgressBar::Show(double part) {
  if (!terminal_) return;
  const auto now = Clock::now();
  if (now - start_ < std::chrono::seconds(2) || now - last_ < std::chrono::milliseconds(100))
    return;
  last_ = now;
  shown_ = true;
  constexpr size_t kWidth = 30;
  part = std::clamp(part, 0.0, 1.0);
  const auto filled = static_cast<size_t>(part * kWidth);
  fmt::print(stderr, "\r{} [{:#<{}}{:.<{}}] {:3.0f}%\033[K", what_, "", filled, "", kWidth - filled,
             100 * part);
  fflush(stderr);
}

}  // namespace rochound::cli
