// SPDX-License-Identifier: MIT
#include "agent/calls/hip_table_finder.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>

#include "agent/calls/table_finder.h"

namespace rochound::agent {

namespace {

// HIP 6.0 had over 400 functions in its runtime table, and nine in the compiler's; up to HIP 7
// there were no more of the latter.
constexpr size_t kLeastRuntimeEntries = 300;
constexpr size_t kMostRuntimeEntries = 4000;
constexpr size_t kLeastCompilerEntries = 9;
constexpr size_t kMostCompilerEntries = 100;

}  // namespace

std::vector<const HipTableEntry*> CheckedEntries(const Library& library, void* handle,
                                                 HipTable kind, size_t size) {
  std::vector<const HipTableEntry*> checked;
  size_t differ = 0;
  for (const HipTableEntry& entry : KnownHipEntries()) {
    if (entry.table != kind || entry.offset + sizeof(void*) > size) continue;
    const EntryCheck check = CheckTableEntry(library, handle, entry.function, entry.offset);
    if (check == EntryCheck::kAgrees) checked.push_back(&entry);
    if (check == EntryCheck::kDiffers) ++differ;
  }
  // Another order than our headers': what agreed then agreed by chance.
  if (differ * 50 > checked.size()) checked.clear();
  return checked;
}

namespace {

struct Place {
  const HipTableEntry* entry;  // null: a new function
  const char* name;
  size_t offset;
};

// Functions that look the same offset up are none of them certain.
std::vector<Place> Unambiguous(const std::vector<Place>& places) {
  std::map<size_t, size_t> users;
  for (const Place& place : places) ++users[place.offset];
  std::vector<Place> kept;
  for (const Place& place : places)
    if (users[place.offset] == 1) kept.push_back(place);
  return kept;
}

}  // namespace

HipTableLayout ReadHipTable(const Library& library, void* handle, HipTable kind, size_t size) {
  HipTableLayout layout;
  std::map<std::string_view, const HipTableEntry*> known;
  std::set<std::string_view> names;
  for (const HipTableEntry& entry : KnownHipEntries()) {
    names.insert(entry.function);
    if (entry.table == kind) known[entry.function] = &entry;
  }
  std::vector<Place> places, fresh;
  size_t exported = 0;
  for (const ExportedFunction& function : ExportedFunctions(handle)) {
    const std::string_view name(function.name);
    const auto found = known.find(name);
    exported += found != known.end();
    if (found == known.end() && (names.count(name) != 0 || !name.starts_with("hip"))) continue;
    const size_t offset = LookedUpOffset(function.code, function.bytes, size);
    if (offset == 0) continue;
    if (found != known.end())
      places.push_back({found->second, function.name, offset});
    else
      fresh.push_back({nullptr, function.name, offset});
  }
  layout.readable = exported != 0;
  const std::vector<const HipTableEntry*> agree = CheckedEntries(library, handle, kind, size);
  const std::vector<Place> clear = Unambiguous(places);
  // Another order than our headers' is believed if nearly all functions say where they are.
  if (agree.empty() && clear.size() * 10 < exported * 9) return layout;
  std::set<size_t> taken;
  for (const HipTableEntry* entry : agree) {
    layout.known.push_back({entry, 0});
    taken.insert(entry->offset);
    known.erase(entry->function);
  }
  size_t first_moved = SIZE_MAX;
  for (const Place& place : clear) {
    if (known.count(place.name) == 0 || !taken.insert(place.offset).second) continue;
    known.erase(place.name);
    const size_t before = place.entry->offset;
    layout.known.push_back(
        {place.entry, static_cast<ptrdiff_t>(place.offset) - static_cast<ptrdiff_t>(before)});
    if (place.offset != before) first_moved = std::min({first_moved, place.offset, before});
  }
  // A few are there under another name.
  for (const auto& [name, entry] : known)
    if (entry->offset < first_moved) taken.insert(entry->offset);
  // Of the compiler's table we want few functions, and know what the others are.
  if (kind != HipTable::kRuntime || layout.known.empty()) return layout;
  for (const Place& place : Unambiguous(fresh))
    if (taken.insert(place.offset).second) layout.unknown.push_back({place.name, place.offset});
  for (size_t offset = sizeof(size_t); offset + sizeof(void*) <= size; offset += sizeof(void*))
    if (taken.count(offset) == 0) layout.unknown.push_back({"", offset});
  return layout;
}

FoundHipTables FindHipTables(const Library& library, const std::vector<Library>& loaded) {
  FoundHipTables found;
  const FoundTable runtime =
      FindTable(library, loaded, {kLeastRuntimeEntries, kMostRuntimeEntries});
  const FoundTable compiler =
      FindTable(library, loaded, {kLeastCompilerEntries, kMostCompilerEntries});
  found.runtime = runtime.in_use ? runtime.table : nullptr;
  found.compiler = compiler.in_use ? compiler.table : nullptr;
  found.has_profiler = runtime.foreign;
  found.being_handed_over = !runtime.in_use;
  return found;
}

}  // namespace rochound::agent
