// SPDX-License-Identifier: MIT
//
// Writes a Perfetto trace (.pftrace: protobuf messages of perfetto.dev/docs/reference/trace-packet-
// proto) packet by packet, in the same memory for any number of events. Called by export_perfetto,
// one thread. All packets are one sequence; names are interned in it, and when too many have
// gathered the sequence's state is cleared and begins anew, as the format provides for. On one
// track the caller begins and ends slices in order and properly nested; between tracks any order is
// good, the viewer sorts. A failed write is remembered and told by Finish.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "store/export/output_file.h"

namespace rochound::store {

class PerfettoWriter {
 public:
  // A detail of an event, shown when it is clicked on. `name` is interned.
  struct Detail {
    std::string_view name;
    std::string_view text;  // used when it is not empty
    int64_t number = 0;
  };

  explicit PerfettoWriter(OutputFile output);

  // Tracks. What is returned stands for the track in all other calls; zero is no parent.
  uint64_t AddProcess(int64_t pid, std::string_view name);
  uint64_t AddThread(int64_t pid, int64_t tid, std::string_view name);
  uint64_t AddTrack(uint64_t parent, std::string_view name, int rank);
  uint64_t AddCounter(uint64_t parent, std::string_view name, std::string_view unit, int rank);

  // `flows` lead from the earliest event that names one to the others that name it.
  void Begin(uint64_t track, int64_t time, std::string_view category, std::string_view name,
             std::span<const uint64_t> flows, std::span<const Detail> details);
  void End(uint64_t track, int64_t time);
  void Instant(uint64_t track, int64_t time, std::string_view category, std::string_view name,
               std::span<const uint64_t> flows, std::span<const Detail> details);
  void Count(uint64_t track, int64_t time, int64_t value);
  void Count(uint64_t track, int64_t time, double value);

  bool broken() const { return output_.broken(); }
  base::Result<void> Finish() { return output_.Finish(); }

  // For the test: how many bytes of names may gather before the state is cleared.
  void set_name_budget(size_t bytes) { name_budget_ = bytes; }

 private:
  // Names of one kind, and those that the next packet has to bring along.
  struct Interned {
    std::unordered_map<std::string, uint64_t> ids;
    std::vector<std::pair<uint64_t, std::string_view>> fresh;
  };

  void Event(uint64_t track, int64_t time, int type, std::string_view category,
             std::string_view name, std::span<const uint64_t> flows,
             std::span<const Detail> details, const int64_t* integer, const double* real);
  void Packet(const int64_t* time, bool uses_names);
  uint64_t Intern(Interned* names, std::string_view name);
  void ForgetNames();

  OutputFile output_;
  std::string body_;    // of the packet in flight: its event or its descriptor
  std::string packet_;  // scratch
  int body_field_ = 0;  // what of a packet the body is
  Interned categories_, names_, detail_names_;
  size_t name_bytes_ = 0;
  size_t name_budget_ = 32 << 20;
  bool state_cleared_ = false;
  uint64_t last_track_ = 0;
};

}  // namespace rochound::store
