// SPDX-License-Identifier: MIT
#include "base/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace rochound::base {

ProgressBar::ProgressBar(std::string what)
    : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (shown_) fputs("\r\033[K", stderr);
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
  const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
  fprintf(stderr, "\r%s [%s] %3.0f%%\033[K", what_.c_str(), bar.c_str(), 100 * part);
  fflush(stderr);
}

}  // namespace rochound::base
