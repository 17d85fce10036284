// SPDX-License-Identifier: MIT
#include "capture/pack.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/files.h"
#include "base/mutex.h"
#include "capture/bundle.h"
#include "capture/bundle_directory.h"
#include "capture/checksum.h"
#include "capture/describe.h"

namespace rochound::capture {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;

// What is compressed before the next lot is written, per thread; two lots are in memory at once.
constexpr uint64_t kLotBytes = 4 * kChunkBytes;
constexpr size_t kLotExtents = 4096;

// Runs work(index) for all indexes on several threads. Start returns at once, Wait with the first
// error.
class Crew {
 public:
  explicit Crew(unsigned threads) : threads_(threads) {}
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew() { (void)Wait(); }

  void Start(size_t count, std::function<Result<void>(size_t)> work) {
    ROCHOUND_DCHECK(running_.empty());
    next_ = 0;
    count_ = count;
    work_ = std::move(work);
    for (size_t i = 0; i < std::min<size_t>(threads_, count); ++i)
      running_.emplace_back([this] { Run(); });
  }

  Result<void> Wait() {
    for (std::thread& thread : running_) thread.join();
    running_.clear();
    const base::Lock lock(mutex_);
    return std::exchange(result_, {});
  }

 private:
  void Run() {
    for (size_t i = next_++; i < count_; i = next_++) {
      Result<void> done = work_(i);
      if (done.ok()) continue;
      const base::Lock lock(mutex_);
      if (result_.ok()) result_ = std::move(done);
      next_ = count_;
    }
  }

  const unsigned threads_;
  std::function<Result<void>(size_t)> work_;
  std::atomic<size_t> next_{0};
  size_t count_ = 0;
  std::vector<std::thread> running_;
  base::Mutex mutex_;
  Result<void> result_ ROCHOUND_GUARDED_BY(mutex_);
};

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

// An extent on its way from one bundle to the other.
struct Item {
  Extent extent;
  std::vector<std::byte> stored;
};

Result<Item> Compress(const Bundle& bundle, Phase phase, const Extent& extent, int level) {
  Item item{extent, {}};
  if (extent.encoding == Encoding::kZeros) return item;
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(ZSTD_createCCtx());
  thread_local std::vector<std::byte> bytes;
  bytes.resize(extent.bytes);
  ROCHOUND_CHECK(bundle.ReadExtent(phase, extent, bytes));
  // Room for less than the extent's bytes: what would not fit stays raw.
  item.stored.resize(bytes.size() - 1);
  if (context == nullptr) return Error{"not enough memory to compress"};
  const size_t made = ZSTD_compressCCtx(context.get(), item.stored.data(), item.stored.size(),
                                        bytes.data(), bytes.size(), level);
  const bool smaller = ZSTD_isError(made) == 0;
  if (smaller) {
    item.stored.resize(made);
    item.stored.shrink_to_fit();
  } else {
    item.stored = bytes;
  }
  item.extent.encoding = smaller ? Encoding::kZstd : Encoding::kRaw;
  item.extent.stored = item.stored.size();
  item.extent.checksum = Checksum(item.stored);
  return item;
}

class Packer {
 public:
  Packer(const Bundle& from, const PackOptions& options,
         const std::function<void(uint64_t, uint64_t)>& progress)
      : from_(from),
        options_(options),
        threads_(
            std::clamp(options.threads != 0 ? options.threads : std::thread::hardware_concurrency(),
                       1u, 128u)),
        progress_(progress) {
    for (const Phase phase : {Phase::kBefore, Phase::kAfter}) {
      for (const Extent& extent : from.extents(phase)) {
        if (extent.encoding != Encoding::kZeros) raw_bytes_ += extent.bytes;
      }
    }
  }

  uint64_t raw_bytes() const { return raw_bytes_; }

  Result<void> Write(const fs::path& to) {
    if (!directory_.Make(to.string())) return Failed();
    for (const Phase phase : {Phase::kBefore, Phase::kAfter}) ROCHOUND_CHECK(WriteMemory(phase));
    Manifest manifest = from_.manifest();
    DescribeLaunch(manifest, from_.kernarg(), from_.code_object());
    const bool good = directory_.WriteManifest(ToJson(manifest)) &&
                      directory_.WriteKernarg(from_.kernarg()) &&
                      directory_.WriteCodeObject(from_.code_object()) &&
                      directory_.WriteIndex(Phase::kBefore, made_[0]) &&
                      directory_.WriteIndex(Phase::kAfter, made_[1]) && directory_.Finish();
    if (!good) return Failed();
    return {};
  }

  // Each extent of the one against the same of the other.
  Result<void> Compare(const Bundle& packed) {
    for (const Phase phase : {Phase::kBefore, Phase::kAfter}) {
      const std::span<const Extent> ours = from_.extents(phase);
      const std::span<const Extent> theirs = packed.extents(phase);
      if (ours.size() != theirs.size()) return Error{"the packed bundle has lost memory"};
      size_t end = 0;
      for (size_t begin = 0; begin < ours.size(); begin = end) {
        end = LotEnd(ours, begin);
        Crew crew(threads_);
        crew.Start(end - begin, [&](size_t i) -> Result<void> {
          thread_local std::vector<std::byte> one;
          thread_local std::vector<std::byte> other;
          one.resize(ours[begin + i].bytes);
          other.resize(theirs[begin + i].bytes);
          ROCHOUND_CHECK(from_.ReadExtent(phase, ours[begin + i], one));
          ROCHOUND_CHECK(packed.ReadExtent(phase, theirs[begin + i], other));
          if (one != other) return Error{"the packed bundle holds other memory"};
          return {};
        });
        ROCHOUND_CHECK(crew.Wait());
        for (size_t i = begin; i < end; ++i) Advance(ours[i]);
      }
    }
    return {};
  }

 private:
  Error Failed() const { return Error{directory_.error()}; }

  size_t LotEnd(std::span<const Extent> extents, size_t begin) const {
    uint64_t bytes = 0;
    size_t end = begin;
    while (end < extents.size() && end - begin < kLotExtents * threads_ &&
           bytes < kLotBytes * threads_)
      bytes += extents[end++].bytes;
    return end;
  }

  // Every extent counts twice: written, compared.
  void Advance(const Extent& extent) {
    if (extent.encoding == Encoding::kZeros) return;
    done_ += extent.bytes;
    if (progress_) progress_(done_, 2 * raw_bytes_);
  }

  Result<void> WriteMemory(Phase phase) {
    const std::span<const Extent> extents = from_.extents(phase);
    std::vector<Item> lot;
    std::vector<Item> next;
    size_t end = 0;
    for (size_t begin = 0; begin < extents.size() || !lot.empty(); begin = end) {
      end = LotEnd(extents, begin);
      next.clear();
      next.resize(end - begin);
      Crew crew(threads_);
      crew.Start(end - begin, [&](size_t i) -> Result<void> {
        ROCHOUND_TRY(next[i], Compress(from_, phase, extents[begin + i], options_.level));
        return {};
      });
      for (Item& item : lot) ROCHOUND_CHECK(WriteItem(phase, item));
      ROCHOUND_CHECK(crew.Wait());
      lot.swap(next);
    }
    return {};
  }

  Result<void> WriteItem(Phase phase, Item& item) {
    if (item.extent.encoding != Encoding::kZeros) item.extent.place = directory_.DataBytes(phase);
    if (!directory_.AppendData(phase, item.stored)) return Failed();
    made_[static_cast<size_t>(phase)].push_back(item.extent);
    Advance(item.extent);
    return {};
  }

  const Bundle& from_;
  const PackOptions options_;
  const unsigned threads_;
  const std::function<void(uint64_t, uint64_t)>& progress_;
  BundleDirectory directory_;
  std::vector<Extent> made_[2];
  uint64_t raw_bytes_ = 0;
  uint64_t done_ = 0;
};

// Puts the finished bundle where the other one is, and the other one where it was.
Result<void> Exchange(const fs::path& packed, const fs::path& place) {
  if (renameat2(AT_FDCWD, packed.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) == 0) return {};
  // A file system that cannot: there is a moment without the bundle, under its name.
  const fs::path aside = place.string() + ".unpacked";
  if (rename(place.c_str(), aside.c_str()) != 0 || rename(packed.c_str(), place.c_str()) != 0 ||
      rename(aside.c_str(), packed.c_str()) != 0)
    return base::ErrnoError("cannot replace", place, errno);
  return {};
}

}  // namespace

Result<void> RemoveBundle(const fs::path& path) {
  // The file that makes it a bundle goes first.
  std::vector<const char*> names = {kChecksumsName};
  names.insert(names.end(), kFileNames.begin(), kFileNames.end());
  for (const char* name : names) {
    const fs::path file = path / name;
    if (unlink(file.c_str()) != 0 && errno != ENOENT)
      return base::ErrnoError("cannot remove", file, errno);
  }
  if (rmdir(path.c_str()) != 0 && errno != ENOENT)
    return base::ErrnoError("cannot remove", path, errno);
  return {};
}

Result<PackSummary> Pack(const fs::path& from, const fs::path& to, const PackOptions& options,
                         const std::function<void(uint64_t, uint64_t)>& progress) {
  ROCHOUND_TRY(const Bundle bundle, Bundle::Open(from));
  std::error_code ignored;
  const bool in_place = fs::equivalent(from, to, ignored);
  fs::path fresh = to;
  if (in_place) {
    fresh = from.lexically_normal();
    if (!fresh.has_filename()) fresh = fresh.parent_path();  // "bundle/"
    fresh += ".packing";
    ROCHOUND_CHECK(RemoveBundle(fresh));  // what an earlier attempt that was killed has left
    ROCHOUND_CHECK(RemoveBundle(fresh.string() + ".partial"));
  }
  Packer packer(bundle, options, progress);
  ROCHOUND_CHECK(packer.Write(fresh));

  PackSummary summary;
  const auto check = [&]() -> Result<void> {
    ROCHOUND_TRY(const Bundle packed, Bundle::Open(fresh));
    ROCHOUND_CHECK(packer.Compare(packed));
    for (const Region& region : bundle.manifest().regions) {
      if (region.taken) summary.taken_bytes += region.size;
    }
    summary.raw_bytes = packer.raw_bytes();
    summary.stored_bytes = packed.stored_bytes();
    for (const auto& entry : fs::directory_iterator(fresh))
      summary.bundle_bytes += entry.file_size();
    if (in_place) return Exchange(fresh, from);
    return {};
  };
  const Result<void> checked = check();
  if (!checked.ok()) {
    (void)RemoveBundle(fresh).ok();
    return checked.error();
  }
  ROCHOUND_CHECK(RemoveBundle(in_place ? fresh : from));
  return summary;
}

}  // namespace rochound::capture
