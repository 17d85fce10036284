// SPDX-License-Identifier: MIT
#include "softgpu/counters/dispatch_counters.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/mutex.h"
#include "contract/variables.h"

namespace rochound::softgpu {
namespace {

constexpr const char* kFileVariable = contract::variables::kSoftgpuCounters;

void Complain(const char* doing, const char* path, int error_number) {
  char line[1024];
  const int length =
      std::snprintf(line, sizeof(line),
                    "rochound softgpu: counters: cannot %s %s: %s; nothing more is counted there\n",
                    doing, path, std::strerror(error_number));
  const auto size = std::min<size_t>(static_cast<size_t>(std::max(length, 0)), sizeof(line) - 1);
  if (write(STDERR_FILENO, line, size) < 0) return;  // nobody to tell
}

}  // namespace

DispatchCounters::DispatchCounters(DispatchIdentity identity, bool by_address,
                                   const CacheShapes* caches)
    : rules_(RulesFor(*identity.architecture)),
      identity_(std::move(identity)),
      by_address_(by_address),
      caches_(caches == nullptr ? nullptr : std::make_unique<CacheModel>(*caches)) {}

void DispatchCounters::Add(const Sums& sums) {
  const base::Lock lock(mutex_);
  sums_.by_address = by_address_;
  sums_.Add(sums);
}

DispatchRecord DispatchCounters::Finish(bool completed) {
  const base::Lock lock(mutex_);
  DispatchRecord record;
  record.modelled = ModelTime(identity_, sums_);
  record.footprint = sums_.footprint.Count();
  sums_.footprint.Clear();
  if (caches_ != nullptr) {
    caches_->Finish();
    record.caches = CacheRecord{caches_->l1(),
                                caches_->scalar(),
                                caches_->l2(),
                                caches_->mall(),
                                caches_->has_mall(),
                                caches_->memory_read_bytes(),
                                caches_->memory_written_bytes(),
                                caches_->left_in_mall_bytes()};
  }
  record.identity = std::move(identity_);
  record.completed = completed;
  record.sums = std::move(sums_);
  return record;
}

CounterRecorder& CounterRecorder::Instance() {
  static auto* recorder = new CounterRecorder;
  return *recorder;
}

CounterRecorder::CounterRecorder() {
  const char* path = std::getenv(kFileVariable);
  if (path == nullptr || *path == '\0') return;
  // Appending by one write keeps the lines of several processes whole.
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) {
    Complain("open", path, errno);
    return;
  }
  file_.store(file, std::memory_order_relaxed);
  users_.store(1, std::memory_order_relaxed);
  const char* code = std::getenv(contract::variables::kSoftgpuCountersCode);
  by_address_ = code != nullptr && std::string_view(code) == "1";
  const char* caches = std::getenv(contract::variables::kSoftgpuCaches);
  if (caches == nullptr || *caches == '\0') return;
  caches_ = ParseCacheShapes(caches);
  if (!caches_) Complain("understand ROCHOUND_SOFTGPU_CACHES, which is", caches, EINVAL);
}

std::unique_ptr<DispatchCounters> CounterRecorder::Begin(DispatchIdentity identity) {
  identity.process = static_cast<uint32_t>(getpid());
  identity.order = order_.fetch_add(1, std::memory_order_relaxed);
  const bool by_address = by_address_ && IsCountedByAddress(identity);
  return std::make_unique<DispatchCounters>(std::move(identity), by_address,
                                            caches_ ? &*caches_ : nullptr);
}

bool CounterRecorder::IsCountedByAddress(const DispatchIdentity& identity) {
  std::string shape = identity.kernel;
  for (const auto& sizes : {identity.grid, identity.group})
    for (int i = 0; i < 3; ++i) shape += ' ' + std::to_string(sizes[i]);
  const base::Lock lock(mutex_);
  return by_address_seen_.insert(std::move(shape)).second;
}

void CounterRecorder::End(DispatchCounters& counters, bool completed) {
  DispatchRecord record = counters.Finish(completed);
  if (file_.load(std::memory_order_relaxed) >= 0) Append(record);
  if (readers_.load(std::memory_order_relaxed) == 0) return;
  const base::Lock lock(mutex_);
  if (kept_.size() == kMostKept) {
    kept_.pop_front();
    lost_.fetch_add(1, std::memory_order_relaxed);
  }
  kept_.push_back(std::move(record));
}

void CounterRecorder::Append(const DispatchRecord& record) {
  const std::string line = ToJson(record) + '\n';
  const ssize_t written = write(file_.load(std::memory_order_relaxed), line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return;
  const int error_number = written < 0 ? errno : ENOSPC;
  if (file_.exchange(-1) < 0) return;
  users_.fetch_sub(1, std::memory_order_relaxed);
  Complain("write", std::getenv(kFileVariable) == nullptr ? "" : std::getenv(kFileVariable),
           error_number);
}

void CounterRecorder::Start() {
  users_.fetch_add(1, std::memory_order_relaxed);
  readers_.fetch_add(1, std::memory_order_relaxed);
}

void CounterRecorder::Stop() {
  unsigned readers = readers_.load(std::memory_order_relaxed);
  do {
    if (readers == 0) return;
  } while (!readers_.compare_exchange_weak(readers, readers - 1, std::memory_order_relaxed));
  users_.fetch_sub(1, std::memory_order_relaxed);
}

std::optional<DispatchRecord> CounterRecorder::Front() {
  const base::Lock lock(mutex_);
  if (kept_.empty()) return std::nullopt;
  return kept_.front();
}

void CounterRecorder::Pop() {
  const base::Lock lock(mutex_);
  if (!kept_.empty()) kept_.pop_front();
}

void CounterRecorder::AbandonAfterFork() {
  new (&mutex_) base::Mutex;
  new (&kept_) std::deque<DispatchRecord>;
  new (&by_address_seen_) std::set<std::string>;
  order_.store(0, std::memory_order_relaxed);
  AbandonFactsAfterFork();
}

}  // namespace rochound::softgpu
