// SPDX-License-Identifier: MIT
#include "optimize/clock_watch.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "base/files.h"

namespace rochound::optimize {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kInterval(5);
constexpr const char* kAmd = "0x1002";

std::string TextOf(const fs::path& file) {
  const auto text = base::ReadFile(file, 4096);
  return text.ok() ? text.value() : std::string();
}

}  // namespace

ClockWatch::ClockWatch(const fs::path& machine) {
  std::error_code error;
  for (const auto& card : fs::directory_iterator(machine / "sys/class/drm", error)) {
    const fs::path device = card.path() / "device";
    // card0, not its connectors.
    if (card.path().filename().string().find('-') != std::string::npos) continue;
    if (!card.path().filename().string().starts_with("card")) continue;
    if (!TextOf(device / "vendor").starts_with(kAmd)) continue;
    std::error_code none;
    for (const auto& monitor : fs::directory_iterator(device / "hwmon", none)) {
      const fs::path file = monitor.path() / "freq1_input";
      if (strtod(TextOf(file).c_str(), nullptr) > 0) files_.push_back(file);
    }
  }
  ranges_.resize(files_.size());
  if (!files_.empty()) thread_ = std::thread([this] { Watch(); });
}

void ClockWatch::Watch() {
  do {
    for (size_t i = 0; i < files_.size(); ++i) {
      const double clock = strtod(TextOf(files_[i]).c_str(), nullptr) * 1e-6;
      if (!(clock > 0)) continue;
      ClockRange& range = ranges_[i];
      range.least = range.samples == 0 ? clock : std::min(range.least, clock);
      range.most = std::max(range.most, clock);
      ++range.samples;
    }
    std::this_thread::sleep_for(kInterval);
  } while (!stop_.load(std::memory_order_relaxed));
}

std::optional<ClockRange> ClockWatch::Stop() {
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
  const auto busy = std::max_element(
      ranges_.begin(), ranges_.end(),
      [](const ClockRange& one, const ClockRange& other) { return one.most < other.most; });
  if (busy == ranges_.end() || busy->samples == 0) return std::nullopt;
  return *busy;
}

}  // namespace rochound::optimize
