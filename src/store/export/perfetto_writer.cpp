// SPDX-License-Identifier: MIT
#include "store/export/perfetto_writer.h"

#include <protozero/pbf_writer.hpp>
#include <utility>

namespace rochound::store {
namespace {

// Field numbers of Perfetto's messages, by message.
namespace trace {
constexpr int kPacket = 1;
}
namespace packet {
constexpr int kTimestamp = 8;
constexpr int kSequenceId = 10;
constexpr int kTrackEvent = 11;
constexpr int kInternedData = 12;
constexpr int kSequenceFlags = 13;
constexpr int kTrackDescriptor = 60;
constexpr uint32_t kStateCleared = 1;
constexpr uint32_t kNeedsState = 2;
}  // namespace packet
namespace descriptor {
constexpr int kUuid = 1;
constexpr int kName = 2;
constexpr int kProcess = 3;
constexpr int kThread = 4;
constexpr int kParent = 5;
constexpr int kCounter = 8;
constexpr int kChildOrdering = 11;
constexpr int kRank = 12;
constexpr int kOrderedByRank = 3;
}  // namespace descriptor
namespace process {
constexpr int kPid = 1;
constexpr int kName = 6;
}  // namespace process
namespace thread {
constexpr int kPid = 1;
constexpr int kTid = 2;
constexpr int kName = 5;
}  // namespace thread
namespace counter {
constexpr int kUnitName = 6;
}
namespace event {
constexpr int kCategoryIds = 3;
constexpr int kDetails = 4;
constexpr int kType = 9;
constexpr int kNameId = 10;
constexpr int kTrack = 11;
constexpr int kInteger = 30;
constexpr int kReal = 44;
constexpr int kFlows = 47;  // fixed64
constexpr int kBegin = 1;
constexpr int kEnd = 2;
constexpr int kInstant = 3;
constexpr int kCount = 4;
}  // namespace event
namespace detail {
constexpr int kNameId = 1;
constexpr int kInteger = 4;
constexpr int kText = 6;
}  // namespace detail
namespace interned {
constexpr int kCategories = 1;
constexpr int kNames = 2;
constexpr int kDetailNames = 3;
constexpr int kId = 1;
constexpr int kName = 2;
}  // namespace interned

constexpr uint32_t kSequence = 1;

// Perfetto's process and thread ids have 32 bits; ours carry a node in their upper digits.
int32_t Narrow(int64_t id) { return static_cast<int32_t>(id & INT32_MAX); }

}  // namespace

PerfettoWriter::PerfettoWriter(OutputFile output) : output_(std::move(output)) {}

uint64_t PerfettoWriter::AddProcess(int64_t pid, std::string_view name) {
  const uint64_t uuid = ++last_track_;
  protozero::pbf_writer track(body_);
  track.add_uint64(descriptor::kUuid, uuid);
  {
    protozero::pbf_writer inner(track, descriptor::kProcess);
    inner.add_int32(process::kPid, Narrow(pid));
    inner.add_string(process::kName, name.data(), name.size());
  }
  track.add_int32(descriptor::kChildOrdering, descriptor::kOrderedByRank);
  body_field_ = packet::kTrackDescriptor;
  Packet(nullptr, false);
  return uuid;
}

uint64_t PerfettoWriter::AddThread(int64_t pid, int64_t tid, std::string_view name) {
  const uint64_t uuid = ++last_track_;
  protozero::pbf_writer track(body_);
  track.add_uint64(descriptor::kUuid, uuid);
  {
    protozero::pbf_writer inner(track, descriptor::kThread);
    inner.add_int32(thread::kPid, Narrow(pid));
    inner.add_int32(thread::kTid, Narrow(tid));
    inner.add_string(thread::kName, name.data(), name.size());
  }
  body_field_ = packet::kTrackDescriptor;
  Packet(nullptr, false);
  return uuid;
}

uint64_t PerfettoWriter::AddTrack(uint64_t parent, std::string_view name, int rank) {
  const uint64_t uuid = ++last_track_;
  protozero::pbf_writer track(body_);
  track.add_uint64(descriptor::kUuid, uuid);
  track.add_string(descriptor::kName, name.data(), name.size());
  if (parent != 0) track.add_uint64(descriptor::kParent, parent);
  track.add_int32(descriptor::kChildOrdering, descriptor::kOrderedByRank);
  track.add_int32(descriptor::kRank, rank);
  body_field_ = packet::kTrackDescriptor;
  Packet(nullptr, false);
  return uuid;
}

uint64_t PerfettoWriter::AddCounter(uint64_t parent, std::string_view name, std::string_view unit,
                                    int rank) {
  const uint64_t uuid = ++last_track_;
  protozero::pbf_writer track(body_);
  track.add_uint64(descriptor::kUuid, uuid);
  track.add_string(descriptor::kName, name.data(), name.size());
  if (parent != 0) track.add_uint64(descriptor::kParent, parent);
  {
    protozero::pbf_writer inner(track, descriptor::kCounter);
    inner.add_string(counter::kUnitName, unit.data(), unit.size());
  }
  track.add_int32(descriptor::kRank, rank);
  body_field_ = packet::kTrackDescriptor;
  Packet(nullptr, false);
  return uuid;
}

void PerfettoWriter::Begin(uint64_t track, int64_t time, std::string_view category,
                           std::string_view name, std::span<const uint64_t> flows,
                           std::span<const Detail> details) {
  Event(track, time, event::kBegin, category, name, flows, details, nullptr, nullptr);
}

void PerfettoWriter::End(uint64_t track, int64_t time) {
  Event(track, time, event::kEnd, {}, {}, {}, {}, nullptr, nullptr);
}

void PerfettoWriter::Instant(uint64_t track, int64_t time, std::string_view category,
                             std::string_view name, std::span<const uint64_t> flows,
                             std::span<const Detail> details) {
  Event(track, time, event::kInstant, category, name, flows, details, nullptr, nullptr);
}

void PerfettoWriter::Count(uint64_t track, int64_t time, int64_t value) {
  Event(track, time, event::kCount, {}, {}, {}, {}, &value, nullptr);
}

void PerfettoWriter::Count(uint64_t track, int64_t time, double value) {
  Event(track, time, event::kCount, {}, {}, {}, {}, nullptr, &value);
}

void PerfettoWriter::Event(uint64_t track, int64_t time, int type, std::string_view category,
                           std::string_view name, std::span<const uint64_t> flows,
                           std::span<const Detail> details, const int64_t* integer,
                           const double* real) {
  if (name_bytes_ > name_budget_) ForgetNames();
  protozero::pbf_writer writer(body_);
  writer.add_enum(event::kType, type);
  writer.add_uint64(event::kTrack, track);
  if (!category.empty()) writer.add_uint64(event::kCategoryIds, Intern(&categories_, category));
  if (!name.empty()) writer.add_uint64(event::kNameId, Intern(&names_, name));
  for (const uint64_t flow : flows) writer.add_fixed64(event::kFlows, flow);
  for (const Detail& item : details) {
    const uint64_t id = Intern(&detail_names_, item.name);
    protozero::pbf_writer inner(writer, event::kDetails);
    inner.add_uint64(detail::kNameId, id);
    if (item.text.empty()) {
      inner.add_int64(detail::kInteger, item.number);
    } else {
      inner.add_string(detail::kText, item.text.data(), item.text.size());
    }
  }
  if (integer != nullptr) writer.add_int64(event::kInteger, *integer);
  if (real != nullptr) writer.add_double(event::kReal, *real);
  body_field_ = packet::kTrackEvent;
  Packet(&time, true);
}

void PerfettoWriter::Packet(const int64_t* time, bool uses_names) {
  packet_.clear();
  protozero::pbf_writer writer(packet_);
  if (time != nullptr) writer.add_uint64(packet::kTimestamp, static_cast<uint64_t>(*time));
  writer.add_uint32(packet::kSequenceId, kSequence);
  uint32_t flags = uses_names ? packet::kNeedsState : 0;
  if (!state_cleared_) {
    flags |= packet::kStateCleared;
    state_cleared_ = true;
  }
  if (flags != 0) writer.add_uint32(packet::kSequenceFlags, flags);
  if (!categories_.fresh.empty() || !names_.fresh.empty() || !detail_names_.fresh.empty()) {
    protozero::pbf_writer data(writer, packet::kInternedData);
    const std::pair<int, Interned*> kinds[] = {{interned::kCategories, &categories_},
                                               {interned::kNames, &names_},
                                               {interned::kDetailNames, &detail_names_}};
    for (const auto& [field, names] : kinds) {
      for (const auto& [id, name] : names->fresh) {
        protozero::pbf_writer entry(data, static_cast<protozero::pbf_tag_type>(field));
        entry.add_uint64(interned::kId, id);
        entry.add_string(interned::kName, name.data(), name.size());
      }
      names->fresh.clear();
    }
  }
  writer.add_message(static_cast<protozero::pbf_tag_type>(body_field_), body_);
  body_.clear();
  protozero::pbf_writer(*output_.buffer()).add_message(trace::kPacket, packet_);
  output_.Written();
}

uint64_t PerfettoWriter::Intern(Interned* names, std::string_view name) {
  const auto [found, added] = names->ids.try_emplace(std::string(name), names->ids.size() + 1);
  if (added) {
    names->fresh.emplace_back(found->second, found->first);
    name_bytes_ += name.size() + 64;
  }
  return found->second;
}

void PerfettoWriter::ForgetNames() {
  for (Interned* names : {&categories_, &names_, &detail_names_}) names->ids.clear();
  name_bytes_ = 0;
  state_cleared_ = false;
}

}  // namespace rochound::store
