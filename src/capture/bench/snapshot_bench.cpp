// SPDX-License-Identifier: MIT
#include "capture/bench/snapshot_bench.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <string>

#include "base/clock.h"
#include "capture/bundle_writer.h"
#include "capture/pack.h"

namespace rochound::capture {
namespace {

using base::Error;
using base::Result;

constexpr size_t kPiece = 4 << 20;  // as the agent gives it

// Pages from the system, so that "fresh" is fresh.
class Pages {
 public:
  explicit Pages(size_t bytes) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() {
    if (good()) munmap(data_, bytes_);
  }
  bool good() const { return data_ != MAP_FAILED; }
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(data_), bytes_}; }

 private:
  size_t bytes_;
  void* data_;
};

struct Took {
  double core = 0;  // seconds of this thread's own time
  double wall = 0;
};

template <typename Work>
Took Seconds(Work work) {
  const uint64_t core = base::ClockNs(CLOCK_THREAD_CPUTIME_ID);
  const uint64_t wall = base::ClockNs(CLOCK_MONOTONIC);
  work();
  return {static_cast<double>(base::ClockNs(CLOCK_THREAD_CPUTIME_ID) - core) * 1e-9,
          static_cast<double>(base::ClockNs(CLOCK_MONOTONIC) - wall) * 1e-9};
}

void CopyInPieces(std::span<std::byte> to, std::span<const std::byte> from) {
  for (size_t at = 0; at < from.size(); at += kPiece)
    memcpy(to.data() + at, from.data() + at, std::min(kPiece, from.size() - at));
}

void AddInPieces(BundleWriter& writer, Phase phase, uint32_t region,
                 std::span<const std::byte> bytes) {
  for (size_t at = 0; at < bytes.size(); at += kPiece)
    writer.AddRegionBytes(phase, region, at,
                          bytes.subspan(at, std::min(kPiece, bytes.size() - at)));
}

Manifest BenchManifest(uint64_t bytes, size_t regions) {
  Manifest manifest;
  manifest.memory = "all";
  manifest.agents.resize(1);
  manifest.launch.setup = 1;
  manifest.launch.grid = manifest.launch.workgroup = {1, 1, 1};
  for (size_t i = 0; i < regions; ++i) {
    Region region;
    region.base = (i + 1) << 40;
    region.size = bytes;
    region.kind = "pool";
    region.taken = true;
    manifest.regions.push_back(region);
  }
  return manifest;
}

}  // namespace

Result<SnapshotRates> MeasureSnapshot(const std::filesystem::path& folder, uint64_t bytes,
                                      int turns) {
  const Pages source(bytes);
  const Pages other(bytes);
  const Pages zeros(bytes);
  const Pages touched(bytes);
  if (!source.good() || !other.good() || !zeros.good() || !touched.good())
    return Error{"not enough memory for the benchmark"};
  std::mt19937_64 random(1);
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = random() | 1;
    const uint64_t changed = word + 2;
    memcpy(source.bytes().data() + at, &word, sizeof word);
    memcpy(other.bytes().data() + at, &changed, sizeof changed);
  }
  CopyInPieces(touched.bytes(), source.bytes());
  memset(zeros.bytes().data(), 0, bytes);

  SnapshotRates best;
  const auto keep = [bytes](double& rate, const Took& took) {
    rate = std::max(rate, static_cast<double>(bytes) / took.core);
    return took.wall;
  };
  for (int turn = 0; turn < turns; ++turn) {
    {
      const Pages fresh(bytes);
      if (!fresh.good()) return Error{"not enough memory for the benchmark"};
      keep(best.memcpy_fresh, Seconds([&] { CopyInPieces(fresh.bytes(), source.bytes()); }));
    }
    keep(best.memcpy_touched, Seconds([&] { CopyInPieces(touched.bytes(), source.bytes()); }));
    const std::string path = (folder / ("bench" + std::to_string(turn))).string();
    std::string error;
    const auto writer = BundleWriter::Create(path, &error);
    if (writer == nullptr) return Error{error};
    const auto add = [&](double& rate, Phase phase, uint32_t region, const Pages& memory) {
      return keep(rate, Seconds([&] { AddInPieces(*writer, phase, region, memory.bytes()); }));
    };
    const double wall = add(best.before, Phase::kBefore, 0, source);
    add(best.zeros, Phase::kBefore, 1, zeros);
    add(turn % 2 == 0 ? best.after_same : best.after_other, Phase::kAfter, 0,
        turn % 2 == 0 ? source : other);
    bool good = false;
    const double finish =
        Seconds([&] { good = writer->Finish(BenchManifest(bytes, 2), {}, {}); }).wall;
    if (!good) return Error{writer->error()};
    // Turns that store nothing after the launch show how long it takes until all is on the disk.
    if (turn % 2 == 0)
      best.kept_wall = std::max(best.kept_wall, static_cast<double>(bytes) / (wall + finish));
    ROCHOUND_CHECK(RemoveBundle(path));
  }
  return best;
}

Result<PackRates> MeasurePacking(const std::filesystem::path& folder, uint64_t bytes) {
  const Pages memory(bytes);
  if (!memory.good()) return Error{"not enough memory for the benchmark"};
  std::mt19937 random(2);
  for (size_t at = 0; at < bytes; at += sizeof(float)) {
    const uint64_t third = at * 3 / bytes;
    if (third == 0) {
      const float value = std::sin(static_cast<float>(at) * 1e-6F);
      memcpy(memory.bytes().data() + at, &value, sizeof value);
    } else if (third == 2) {
      const uint32_t value = random() % 1000;
      memcpy(memory.bytes().data() + at, &value, sizeof value);
    }
  }
  const std::string path = (folder / "pack").string();
  std::string error;
  const auto writer = BundleWriter::Create(path, &error);
  if (writer == nullptr) return Error{error};
  AddInPieces(*writer, Phase::kBefore, 0, memory.bytes());
  if (!writer->Finish(BenchManifest(bytes, 1), {}, {})) return Error{writer->error()};
  PackSummary summary;
  Result<void> packed;
  const Took took = Seconds([&] {
    auto done = Pack(path, path);
    if (done.ok()) {
      summary = done.value();
    } else {
      packed = done.error();
    }
  });
  if (!packed.ok()) return packed.error();
  ROCHOUND_CHECK(RemoveBundle(path));
  return PackRates{static_cast<double>(summary.bundle_bytes) / static_cast<double>(bytes),
                   static_cast<double>(summary.raw_bytes) / took.wall};
}

}  // namespace rochound::capture
