// SPDX-License-Identifier: MIT
#include "agent/calls/hsa_tables.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

#include "agent/calls/libraries.h"
#include "agent/calls/new_functions.h"
#include "agent/calls/table_finder.h"
#include "agent/own_memory.h"

namespace rochound::agent {

namespace {

struct Known {
  const char* function;
  size_t part;    // the table's pointer in HsaApiTable
  size_t offset;  // in the table
};

const Known kKnown[] = {
#define ROCHOUND_HSA_FUNCTION(type, part, function, names, outs) \
  {#function, offsetof(HsaApiTable, part), offsetof(type, function##_fn)},
#include "agent/calls/hsa_functions.inc"
#undef ROCHOUND_HSA_FUNCTION
};

// These two have exported functions that do nothing but call through them.
constexpr size_t kReadable[] = {offsetof(HsaApiTable, core_), offsetof(HsaApiTable, amd_ext_)};

// More than any table of functions has.
constexpr size_t kMostBytes = 65536;

template <typename T = void>
T* At(void* start, size_t offset) {
  return reinterpret_cast<T*>(static_cast<char*>(start) + offset);
}

ApiTableVersion TableVersion(void* table) { return *static_cast<ApiTableVersion*>(table); }

bool IsKnown(std::string_view function) {
  return std::any_of(std::begin(kKnown), std::end(kKnown),
                     [&](const Known& one) { return one.function == function; });
}

// The state of one table's functions.
struct Order {
  bool clear = false;
  std::map<std::string_view, size_t> places;  // of those that are certain
  uintptr_t pointer = 0;  // where the runtime keeps the table's address; 0: not known
};

}  // namespace

class HsaTables::Reader {
 public:
  Reader(HsaApiTable* theirs, HsaTables* to) : theirs_(theirs), to_(to) {}

  bool Read() {
    FindLibrary();
    std::set<size_t> parts;
    for (const Known& one : kKnown) parts.insert(one.part);
    for (const size_t part : parts) {
      void* const table = Table(part);
      const bool main =
          std::find(std::begin(kReadable), std::end(kReadable), part) != std::end(kReadable);
      const Order order = table != nullptr ? OrderOf(part, table, main) : Order{};
      if (main && !order.clear) return false;
      Take(part, table, order);
    }
    for (size_t part = sizeof(HsaApiTable); part < theirs_->version.minor_id; part += sizeof(void*))
      TakeNewTable(*At<void*>(theirs_, part));
    return true;
  }

 private:
  void* Table(size_t part) const {
    return part + sizeof(void*) <= theirs_->version.minor_id ? *At<void*>(theirs_, part) : nullptr;
  }

  void FindLibrary() {
    loaded_ = LoadedLibraries();
    Dl_info where;
    if (dladdr(theirs_, &where) == 0) return;
    for (const Library& library : loaded_) {
      if (library.base != reinterpret_cast<uintptr_t>(where.dli_fbase)) continue;
      void* const handle = HandleOf(library);
      if (handle == nullptr) return;
      for (const ExportedFunction& function : ExportedFunctions(handle))
        exported_[function.name] = function;
      dlclose(handle);
      to_->library_ = library.path;
    }
  }

  Order OrderOf(size_t part, void* table, bool readable) const {
    Order order;
    const ApiTableVersion version = TableVersion(table);
    std::map<size_t, size_t> users;
    std::set<uintptr_t> pointers;
    size_t exported = 0;
    for (const Known& one : kKnown) {
      const auto found = exported_.find(one.function);
      if (!readable || one.part != part || found == exported_.end()) continue;
      ++exported;
      const auto& [name, code, bytes] = found->second;
      const size_t offset = LookedUpOffset(code, bytes, version.minor_id);
      if (offset < sizeof(ApiTableVersion)) continue;
      order.places[one.function] = offset;
      ++users[offset];
      pointers.insert(TablePointer(code, bytes));
    }
    if (pointers.size() == 1) order.pointer = *pointers.begin();
    // Functions that look the same offset up are none of them certain.
    std::erase_if(order.places, [&](const auto& one) { return users[one.second] != 1; });
    const size_t read = order.places.size();
    size_t first_moved = SIZE_MAX, moved = 0;
    if (read * 10 < exported * 9 || exported == 0) {  // the code says nothing
      order.clear = version.major_id == TableVersion(*At<void*>(&to_->ours_.root, part)).major_id;
      order.places.clear();
    } else {
      for (const Known& one : kKnown) {
        const auto found = order.places.find(one.function);
        if (one.part != part || found == order.places.end() || found->second == one.offset)
          continue;
        ++moved;
        first_moved = std::min({first_moved, found->second, one.offset});
      }
      order.clear = moved * 50 <= read || read == exported;
    }
    // Of what no code says: the contract holds up to the first function that moved.
    for (const Known& one : kKnown)
      if (one.part == part && order.clear && one.offset < first_moved)
        order.places.emplace(one.function, one.offset);
    if (!order.clear) order.places.clear();
    return order;
  }

  void Take(size_t part, void* table, const Order& order) {
    const size_t size = table != nullptr ? TableVersion(table).minor_id : 0;
    std::set<size_t> taken;
    for (const Known& one : kKnown) {
      if (one.part != part) continue;
      auto* const ours = At<void*>(*At<void*>(&to_->ours_.root, part), one.offset);
      *ours = nullptr;
      const auto found = order.places.find(one.function);
      if (found == order.places.end() || found->second + sizeof(void*) > size) continue;
      taken.insert(found->second);
      auto* const entry = At<void*>(table, found->second);
      *ours = *entry;
      to_->entries_.push_back({ours, entry, *entry});
    }
    if (size > kMostBytes) return;
    if (order.clear && order.pointer != 0) TakeNewNames(table, size, order.pointer, &taken);
    TakeNameless(table, size, taken);
  }

  // Exported functions that we do not know and that call through this table.
  void TakeNewNames(void* table, size_t size, uintptr_t pointer, std::set<size_t>* taken) {
    for (const auto& [name, function] : exported_) {
      if (IsKnown(name) || TablePointer(function.code, function.bytes) != pointer) continue;
      const size_t offset = LookedUpOffset(function.code, function.bytes, size);
      if (offset < sizeof(ApiTableVersion) || !taken->insert(offset).second) continue;
      to_->unknown_.push_back({static_cast<char*>(table), offset, function.name});
    }
  }

  void TakeNameless(void* table, size_t size, const std::set<size_t>& taken) {
    for (size_t offset = sizeof(ApiTableVersion); offset + sizeof(void*) <= size;
         offset += sizeof(void*))
      if (taken.count(offset) == 0 && IsCode(*At<uintptr_t>(table, offset)))
        to_->unknown_.push_back({static_cast<char*>(table), offset, ""});
  }

  void TakeNewTable(void* table) {
    ApiTableVersion version;
    if (table == nullptr ||
        !ReadOwnMemory(reinterpret_cast<uint64_t>(table), &version, sizeof version))
      return;
    std::vector<char> content(std::min<size_t>(version.minor_id, kMostBytes));
    if (version.minor_id <= kMostBytes &&
        ReadOwnMemory(reinterpret_cast<uint64_t>(table), content.data(), content.size()))
      TakeNameless(table, version.minor_id, {});
  }

  bool IsCode(uintptr_t address) const {
    return std::any_of(loaded_.begin(), loaded_.end(),
                       [&](const Library& one) { return one.HasCode(address); });
  }

  HsaApiTable* theirs_;
  HsaTables* to_;
  std::vector<Library> loaded_;
  std::map<std::string_view, ExportedFunction> exported_;
};

bool HsaTables::Read(HsaApiTable* theirs) {
  entries_.clear();
  unknown_.clear();
  return Reader(theirs, this).Read();
}

void HsaTables::WriteBack() {
  for (const Entry& entry : entries_)
    if (*entry.ours != entry.before) __atomic_store_n(entry.theirs, *entry.ours, __ATOMIC_RELEASE);
  for (const Unknown& one : unknown_)
    CountNewFunctions(NewIn::kHsa, one.table, {{one.name, one.offset}});
}

}  // namespace rochound::agent
