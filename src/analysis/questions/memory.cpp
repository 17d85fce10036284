// SPDX-License-Identifier: MIT
#include "analysis/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/table_builder.h"
#include "analysis/timeline.h"
#include "analysis/trace_facts.h"
#include "analysis/trace_rows.h"
#include "base/units.h"

namespace rochound::analysis {
namespace {

using base::Result;
using store::duck::Rows;

constexpr int64_t kBuckets = 200;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
// What keeps growing got memory in each of the last three quarters of the time since it began, this
// often at least.
constexpr int64_t kQuarters = 4, kFewestGrowing = 4;

struct Held {
  int64_t start = 0, end = kNever;  // ns since the trace's begin
  int64_t bytes = 0;
  size_t device = 0;
  uint32_t call = kNoName;
};

struct Change {
  int64_t time, bytes;
};

// What one call got on one device.
struct Share {
  int64_t allocations = 0, bytes = 0, largest = 0;
  int64_t first = kNever, last = 0;
  int64_t by_quarter[kQuarters] = {};  // allocations

  // In the order of their starts; end: of the trace.
  void Add(const Held& held, int64_t end) {
    ++allocations;
    bytes += held.bytes;
    largest = std::max(largest, held.bytes);
    first = std::min(first, held.start);
    last = std::max(last, held.start);
    const int64_t quarter = (held.start - first) * kQuarters / std::max<int64_t>(end - first, 1);
    ++by_quarter[std::clamp<int64_t>(quarter, 0, kQuarters - 1)];
  }
  bool Grows() const {
    return allocations >= kFewestGrowing && by_quarter[1] > 0 && by_quarter[2] > 0 &&
           by_quarter[3] > 0;
  }
};

struct Device {
  std::string name;
  std::vector<Change> changes{};
  int64_t peak = 0, peak_at = 0, at_end = 0;
  int64_t allocations = 0, freed = 0;
};

bool Allocates(const std::string& call) {
  return call.find("lloc") != std::string::npos;  // hipMalloc, hsa_amd_memory_pool_allocate
}

class Memory {
 public:
  Memory(store::TraceDatabase& trace, uint64_t limit) : trace_(trace), limit_(limit) {}

  Result<Answer> Ask() {
    ROCHOUND_TRY(names_, Names::Load(trace_.connection()));
    ROCHOUND_TRY(threads_, LoadHostThreads(trace_.connection(), names_));
    ROCHOUND_TRY(const Facts facts, ReadFacts(trace_));
    length_ = facts.length;  // pauses are no part of it, so times may lie after it
    for (uint32_t i = 0; i < threads_.threads().size(); ++i)
      threads_of_[threads_.threads()[i].pid].push_back(i);
    ROCHOUND_CHECK(Read(facts.begin));
    for (Device& device : devices_) Sweep(device);
    Answer answer;
    answer.notes = {
        "Memory that the HSA runtime gave out: hipMalloc, hipHostMalloc, and the runtime's own. Of "
        "an allocator that divides large pieces (PyTorch's, memory pools), the pieces.",
        "A call keeps growing when it got memory that was never freed in each of the last three "
        "quarters of the time since its first such allocation."};
    AddDevices(answer);
    AddPeak(answer);
    AddGrowth(answer);
    AddOverTime(answer);
    return answer;
  }

 private:
  Result<void> Read(int64_t begin) {
    ROCHOUND_TRY(Rows rows, trace_.connection().Query(R"(
        SELECT a.pid, a.start, a."end", a.size, coalesce(g."gpuId", -1),
               g.agent IS NULL AS unknown
        FROM rochound_allocation a
        LEFT JOIN rochound_agent g ON g.session = a.id >> 32 AND g.agent = a.agent
        ORDER BY a.start, a.id)"));
    std::map<std::pair<bool, int64_t>, size_t> places;
    for (;;) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      const bool unknown = rows.Int(5) != 0;
      const int64_t gpu = rows.Int(4);
      const auto [place, is_new] = places.emplace(std::pair(unknown, gpu), devices_.size());
      if (is_new)
        devices_.push_back({.name = unknown   ? "device not recorded"
                                    : gpu < 0 ? "host"
                                              : GpuName(gpu)});
      // The runtime has memory before the program's first recorded call.
      Held held{.start = std::max<int64_t>(0, rows.Int(1) - begin),
                .bytes = rows.Int(3),
                .device = place->second};
      if (!rows.IsNull(2)) held.end = std::max(held.start, rows.Int(2) - begin);
      held.call = CallAt(rows.Int(0), rows.Int(1));
      Device& device = devices_[held.device];
      ++device.allocations;
      device.changes.push_back({held.start, held.bytes});
      if (held.end != kNever) {
        ++device.freed;
        device.changes.push_back({held.end, -held.bytes});
      }
      length_ = std::max(length_, held.end == kNever ? held.start : held.end);
      held_.push_back(held);
    }
    return {};
  }

  // The outermost call of the process that was in flight then: one that allocates, if there are
  // several.
  uint32_t CallAt(int64_t pid, int64_t time) const {
    const auto threads = threads_of_.find(pid);
    if (threads == threads_of_.end()) return kNoName;
    uint32_t found = kNoName;
    for (const uint32_t thread : threads->second) {
      const size_t call = threads_.FirstEndingAfter(thread, time - 1);
      if (call == threads_.threads()[thread].last || threads_.start(call) > time) continue;
      const uint32_t name = threads_.name(call);
      if (found == kNoName || (!Allocates(names_.text(found)) && Allocates(names_.text(name))))
        found = name;
    }
    return found;
  }

  std::string CallName(uint32_t call) const {
    return call == kNoName ? "(outside of recorded calls)" : names_.text(call);
  }

  // What is freed at a time makes room before something is allocated at that time.
  static void Sweep(Device& device) {
    std::sort(device.changes.begin(), device.changes.end(), [](const Change& a, const Change& b) {
      return std::pair(a.time, a.bytes) < std::pair(b.time, b.bytes);
    });
    for (const Change& change : device.changes) {
      device.at_end += change.bytes;
      if (device.at_end <= device.peak) continue;
      device.peak = device.at_end;
      device.peak_at = change.time;
    }
  }

  // Devices with the most memory first.
  std::vector<size_t> Order() const {
    std::vector<size_t> order;
    for (size_t i = 0; i < devices_.size(); ++i) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return devices_[a].peak > devices_[b].peak; });
    return order;
  }

  void AddDevices(Answer& answer) const {
    TableBuilder table(
        "devices", "Memory by device",
        {"device", "#peak_bytes", "#peak_at_ns", "#end_bytes", "#allocations", "#freed"}, limit_);
    for (const size_t i : Order()) {
      const Device& device = devices_[i];
      table.Row({device.name, device.peak, device.peak_at, device.at_end, device.allocations,
                 device.freed});
    }
    answer.tables.push_back(table.Take());
  }

  using Shares = std::vector<std::pair<uint32_t, Share>>;  // by call, the most bytes first

  template <typename Wanted>
  Shares SharesOf(size_t device, const Wanted& wanted) const {
    std::map<uint32_t, Share> shares;
    for (const Held& held : held_)
      if (held.device == device && wanted(held)) shares[held.call].Add(held, length_);
    Shares sorted(shares.begin(), shares.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
    return sorted;
  }

  void AddPeak(Answer& answer) const {
    TableBuilder table("peak", "Held at the peak, by allocating call",
                       {"device", "call", "#allocations", "#held_bytes", "#share_percent",
                        "#largest_bytes", "#oldest_at_ns"},
                       limit_);
    for (const size_t i : Order()) {
      const Device& device = devices_[i];
      const auto at_peak = [&](const Held& held) {
        return held.start <= device.peak_at && held.end > device.peak_at;
      };
      for (const auto& [call, share] : SharesOf(i, at_peak))
        table.Row({device.name, CallName(call), share.allocations, share.bytes,
                   Percent(share.bytes, device.peak), share.largest, share.first});
    }
    answer.tables.push_back(table.Take());
  }

  void AddGrowth(Answer& answer) const {
    TableBuilder table("never_freed", "Never freed, by allocating call",
                       {"device", "call", "keeps_growing", "#allocations", "#held_bytes",
                        "#growth_bytes_per_s", "#first_at_ns", "#last_at_ns"},
                       limit_);
    std::string growing;
    for (const size_t i : Order()) {
      const auto never = [](const Held& held) { return held.end == kNever; };
      for (const auto& [call, share] : SharesOf(i, never)) {
        Value rate;
        if (share.Grows()) {
          rate = static_cast<double>(share.bytes) * 1e9 /
                 static_cast<double>(std::max<int64_t>(share.last - share.first, 1));
          growing +=
              fmt::format("{}{} on {} ({} in {} allocations)", growing.empty() ? "" : ", ",
                          CallName(call), devices_[i].name,
                          base::SizeText(static_cast<uint64_t>(share.bytes)), share.allocations);
        }
        table.Row({devices_[i].name, CallName(call), std::string(share.Grows() ? "yes" : "no"),
                   share.allocations, share.bytes, std::move(rate), share.first, share.last});
      }
    }
    answer.tables.push_back(table.Take());
    Conclude(answer, growing);
  }

  // The answer in a sentence, before how to read it.
  void Conclude(Answer& answer, const std::string& growing) const {
    if (devices_.empty()) {
      answer.notes = {"No allocations are in this trace."};
      return;
    }
    std::string text;
    for (const size_t i : Order())
      text +=
          fmt::format("{}{} on {}", text.empty() ? "Peak: " : ", ",
                      base::SizeText(static_cast<uint64_t>(devices_[i].peak)), devices_[i].name);
    text += growing.empty() ? ". Nothing keeps growing." : ". Keeps growing: " + growing + ".";
    answer.notes.insert(answer.notes.begin(), text);
  }

  // The most that was held within each piece of the time, where it changed.
  void AddOverTime(Answer& answer) const {
    TableBuilder table("over_time", "Memory held over time",
                       {"device", "#since_start_ns", "#held_bytes"}, limit_);
    const int64_t bucket = std::max<int64_t>(1, (length_ + kBuckets - 1) / kBuckets);
    for (const size_t i : Order()) {
      const std::vector<Change>& changes = devices_[i].changes;
      int64_t now = 0;
      size_t next = 0;
      for (int64_t begin = 0; begin < std::max<int64_t>(length_, 1); begin += bucket) {
        int64_t most = now;
        for (; next < changes.size() && changes[next].time < begin + bucket; ++next) {
          now += changes[next].bytes;
          most = std::max(most, now);
        }
        table.Row({devices_[i].name, begin, most});
      }
    }
    answer.tables.push_back(table.Take());
  }

  store::TraceDatabase& trace_;
  const uint64_t limit_;
  int64_t length_ = 0;
  Names names_;
  HostThreads threads_;
  std::map<int64_t, std::vector<uint32_t>> threads_of_;  // by pid
  std::vector<Held> held_;
  std::vector<Device> devices_;
};

}  // namespace

Result<Answer> AskMemory(store::TraceDatabase& trace, const AskOptions& options) {
  return Memory(trace, options.limit).Ask();
}

}  // namespace rochound::analysis
