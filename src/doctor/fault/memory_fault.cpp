// SPDX-License-Identifier: MIT
//
// Who touched a page that is not there. Each kernel in flight is weighed: has it started, can its
// code reach the page (reach.h), through which pointer, and what is wrong with that pointer.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>

#include "base/count.h"
#include "doctor/fault/judge.h"
#include "store/convert/symbolizer.h"

namespace rochound::doctor {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kNear = 1 << 20;          // what an index that is off by a little reaches
constexpr uint64_t kFirstMapped = 65536;     // nothing is ever mapped below
constexpr uint64_t kTight = 256ull << 20;    // a range that says something about a page in it
constexpr uint64_t kMostElements = 1 << 16;  // that are looked through for the one that leads there

// How much speaks for a suspect.
constexpr double kReaches = 30;    // its code computes such an address from its arguments
constexpr double kProven = 30;     // a value in memory leads there
constexpr double kNearby = 6;      // it can compute any address, and its pointer is close
constexpr double kPossible = 2;    // it can compute any address
constexpr double kImpossible = 1;  // nothing speaks for it; only where that is true of all

std::string Size(uint64_t bytes) {
  if (bytes >= 1ull << 30)
    return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1ull << 30));
  if (bytes >= 1 << 20) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
  return fmt::format("{} bytes", bytes);
}

std::string Describe(const FaultMemory& memory) {
  return fmt::format("{:#x} to {:#x} ({}, {})", memory.base, memory.end(), Size(memory.size),
                     memory.kind);
}

const FaultMemory* Find(const std::vector<FaultMemory>& list, uint64_t address) {
  for (const FaultMemory& memory : list)
    if (memory.Has(address)) return &memory;
  return nullptr;
}

// A mapping of the process, by /proc/self/maps: its name.
std::optional<std::string> FindMapping(const std::string& maps, uint64_t address) {
  std::istringstream lines(maps);
  for (std::string line; std::getline(lines, line);) {
    char* dash = nullptr;
    const uint64_t begin = strtoull(line.c_str(), &dash, 16);
    if (*dash != '-') continue;
    const uint64_t end = strtoull(dash + 1, nullptr, 16);
    if (address < begin || address >= end) continue;
    // An address range that is only reserved is no memory.
    if (line.find(" ---p ") != std::string::npos) return std::nullopt;
    // Nor are those of GPUs ordinary memory of the host.
    for (const char* const gpu : {"/dev/dri/", "/dev/kfd", "/memfd:rochound-softgpu"})
      if (line.find(gpu) != std::string::npos) return std::nullopt;
    const size_t name = line.find_first_of("/[");
    return name != std::string::npos ? line.substr(name) : "anonymous memory";
  }
  return std::nullopt;
}

// The pointer that an address was made from.
struct Pointer {
  std::string name;       // "argument 0 (int*)"
  int argument = -1;      // whose value it is
  int reached_from = -1;  // the argument that leads to the memory where it is
  std::optional<uint64_t> value;
};

// What one kernel in flight may have done.
struct Theory {
  InFlight who{};
  double weight = 0;
  FaultExplanation explanation;
  std::string reason;
  size_t instruction = 0;
  bool has_instruction = false;
};

class MemoryJudge {
 public:
  explicit MemoryJudge(const FaultRecord& record) : record_(record), page_(record.address) {
    const auto told = [&](const char* reason) {
      return std::count(record.reasons.begin(), record.reasons.end(), reason) != 0;
    };
    read_only_ = told("read only");
    not_executable_ = told("not executable");
  }

  FaultExplanation Judge() {
    std::vector<Theory> theories;
    std::vector<Theory> innocent;
    std::vector<std::string> cleared;
    for (const FaultQueue& queue : record_.queues) {
      if (queue.agent != record_.agent && record_.agent >= 0) continue;
      size_t waiting = 0;
      for (const FaultDispatch& dispatch : queue.under_way) {
        if (!dispatch.started) {
          if (++waiting <= 2)
            cleared.push_back(fmt::format("{} had not started: it is after {} on the same queue",
                                          dispatch.readable, queue.under_way.front().readable));
          continue;
        }
        Theory theory = Weigh({&queue, &dispatch});
        (theory.weight > 0 ? theories : innocent).push_back(std::move(theory));
      }
    }
    // Where nobody can have done it, something is not as the code says; all stay in doubt.
    const bool contradiction = theories.empty() && !innocent.empty();
    if (contradiction) {
      theories.swap(innocent);
      for (Theory& theory : theories) theory.weight = kImpossible;
    }
    for (const Theory& theory : innocent) cleared.push_back(theory.reason);
    return Conclude(std::move(theories), std::move(cleared), contradiction);
  }

 private:
  bool OnPage(uint64_t address) const { return address - page_ < kPage; }

  std::string Reasons() const {
    std::string text;
    for (const std::string& reason : record_.reasons) text += (text.empty() ? " (" : ", ") + reason;
    return text.empty() ? text : text + ")";
  }

  FaultExplanation Conclude(std::vector<Theory> theories, std::vector<std::string> cleared,
                            bool contradiction) {
    std::stable_sort(theories.begin(), theories.end(),
                     [](const Theory& a, const Theory& b) { return a.weight > b.weight; });
    FaultExplanation explanation = theories.empty() ? Unknown() : theories.front().explanation;
    double sum = 0;
    for (const Theory& theory : theories) sum += theory.weight;
    for (const Theory& theory : theories)
      explanation.suspects.push_back(SuspectOf(theory.who, theory.weight / sum, theory.reason));
    explanation.kernel_sure = theories.size() == 1 && !contradiction;
    explanation.sure = explanation.sure && explanation.kernel_sure;
    explanation.cleared = std::move(cleared);
    if (!theories.empty() && theories.front().has_instruction)
      explanation.place = PlaceOf(*theories.front().who.dispatch, theories.front().instruction);
    explanation.evidence.insert(
        explanation.evidence.begin(),
        fmt::format("the GPU faulted in the page at {:#x}{}", page_, Reasons()));
    NameGpu(record_, record_.agent, &explanation);
    AddNeighbours(&explanation);
    return explanation;
  }

  FaultExplanation About(const FaultDispatch& dispatch, const char* cause) const {
    FaultExplanation explanation;
    explanation.cause = cause;
    explanation.kernel = dispatch.kernel;
    explanation.evidence.push_back("in flight: " + Sentence(dispatch));
    return explanation;
  }

  // --- one kernel

  Theory Weigh(const InFlight& who) const {
    const FaultDispatch& dispatch = *who.dispatch;
    Theory theory;
    theory.who = who;
    if (OnPage(dispatch.kernarg)) {
      theory.weight = kReaches;
      theory.reason = "its arguments are on the page";
      theory.explanation = About(dispatch, "bad_kernarg");
      theory.explanation.sure = true;
      theory.explanation.headline = fmt::format(
          "{} could not read its own arguments: the packet's kernarg address {:#x} is not memory "
          "that this GPU sees",
          dispatch.readable, dispatch.kernarg);
      theory.explanation.advice.push_back(
          "Allocate arguments from a kernarg pool and allow the GPU access to them "
          "(hsa_amd_agents_allow_access).");
      return theory;
    }
    std::vector<Theory> ways;
    for (const Access& access : dispatch.reach.accesses)
      if (Fits(access) && access.Touches(page_, kPage)) ways.push_back(WeighAccess(who, access));
    if (ways.empty() && dispatch.reach.complete) {
      theory.reason = fmt::format(
          "{} cannot reach the page: its code, with these arguments, touches other "
          "memory only",
          dispatch.readable);
      theory.explanation = WithoutCode(who).explanation;
      return theory;
    }
    if (ways.empty() || dispatch.code.empty()) ways.push_back(WithoutCode(who));
    // Of equal ways the one that names a pointer.
    Theory best = *std::max_element(ways.begin(), ways.end(), [](const Theory& a, const Theory& b) {
      return std::pair(a.weight, a.explanation.sure) < std::pair(b.weight, b.explanation.sure);
    });
    if (best.explanation.sure) return best;
    // The code was not understood so far that it names a pointer, but the arguments may. Which
    // instruction it was is known only where the code leads to the page.
    Theory by_arguments = WithoutCode(who);
    if (!by_arguments.explanation.sure) return best;
    by_arguments.weight = std::max(by_arguments.weight, best.weight);
    by_arguments.instruction = best.instruction;
    by_arguments.has_instruction = best.has_instruction && best.weight >= kReaches;
    return by_arguments;
  }

  bool Fits(const Access& access) const {
    if (not_executable_) return access.kind == Access::Kind::kCall;
    return !read_only_ || access.kind == Access::Kind::kWrite;
  }

  Theory WeighAccess(const InFlight& who, const Access& access) const {
    const FaultDispatch& dispatch = *who.dispatch;
    Theory theory;
    theory.who = who;
    theory.instruction = access.instruction;
    theory.has_instruction = true;
    std::string leads;
    const Pointer pointer = PointerOf(dispatch, access, &leads);
    if (access.kind == Access::Kind::kCall) {
      theory.explanation = BadCall(dispatch, pointer);
      theory.weight = access.bounded || not_executable_ ? kReaches : kPossible;
      theory.explanation.sure = theory.weight == kReaches;
      theory.reason = "it jumps through a pointer";
      return theory;
    }
    const bool tight = access.bounded && access.last - access.first < kTight;
    bool convincing = tight || !leads.empty();
    theory.explanation = Classify(dispatch, pointer, &convincing);
    if (!leads.empty()) theory.explanation.evidence.push_back(leads);
    const char* const verb = access.kind == Access::Kind::kWrite ? "writes" : "reads";
    if (tight) {
      theory.weight = kReaches;
      theory.reason =
          fmt::format("its code {} from {:#x} to {:#x}", verb, access.first, access.last);
    } else if (!leads.empty()) {
      theory.weight = kProven;
      theory.reason = leads;
    } else {
      theory.weight = convincing ? kNearby : kPossible;
      theory.reason = fmt::format("its code {} at addresses that cannot be told in advance{}", verb,
                                  convincing ? ", from a pointer that is close" : "");
    }
    theory.explanation.sure = convincing && (pointer.value || pointer.argument >= 0);
    return theory;
  }

  // --- the pointer

  const FaultArgument* ArgumentAt(const FaultDispatch& dispatch, uint64_t offset) const {
    const FaultArgument* found = nullptr;
    for (const FaultArgument& argument : dispatch.arguments)
      if (argument.offset == offset && argument.index >= 0 &&
          (found == nullptr || argument.pointer))
        found = &argument;
    return found;
  }

  // The explicit argument that a value was reached from, through any number of loads.
  int RootOf(const FaultDispatch& dispatch, uint64_t origins, int depth = 0) const {
    for (size_t i = 0; i < dispatch.reach.origins.size() && depth < 16; ++i) {
      if ((origins >> i & 1) == 0) continue;
      const Origin& origin = dispatch.reach.origins[i];
      if (origin.kind == Origin::Kind::kMemory) {
        const int root = RootOf(dispatch, origin.parents, depth + 1);
        if (root >= 0) return root;
      } else if (const FaultArgument* argument = ArgumentAt(dispatch, origin.offset);
                 argument != nullptr && argument->value >= kFirstMapped) {
        return argument->index;
      }
    }
    return -1;
  }

  template <typename Visit>  // false ends it
  void ForEachElement(const Origin& origin, Visit visit) const {
    if (origin.first == 0 || (origin.bytes != 4 && origin.bytes != 8)) return;
    uint64_t index = 0;
    for (uint64_t at = origin.first; at <= origin.last && index < kMostElements;
         at += origin.bytes, ++index) {
      uint64_t value = 0;
      if (!record_.saved.Read(at, &value, origin.bytes)) return;
      if (!visit(index, at, value)) return;
    }
  }

  // A number, among the arguments or in memory, that as an index leads from the pointer to the
  // page; in words.
  std::string IndexFrom(const FaultDispatch& dispatch, uint64_t base, uint64_t origins) const {
    const auto fits = [&](uint64_t value) -> uint64_t {
      // Small ones lead next to any pointer.
      if (base < kFirstMapped || std::min(value, ~value) < kPage / 16) return 0;
      for (const uint64_t bytes : {4, 8, 2, 1, 16})
        if (OnPage(base + value * bytes)) return bytes;
      return 0;
    };
    std::string words;
    for (const FaultArgument& number : dispatch.numbers)
      if (const uint64_t bytes = fits(number.value); bytes != 0 && words.empty())
        words =
            fmt::format("{} is {}, and so many elements of {} lead there", number.name,
                        static_cast<int64_t>(number.value), base::Count(bytes, "byte", "bytes"));
    for (size_t i = 0; i < dispatch.reach.origins.size() && words.empty(); ++i) {
      const Origin& origin = dispatch.reach.origins[i];
      if ((origins >> i & 1) == 0 || origin.kind != Origin::Kind::kMemory) continue;
      ForEachElement(origin, [&](uint64_t index, uint64_t at, uint64_t value) {
        if (origin.bytes == 4)
          value = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(value)));
        const uint64_t bytes = fits(value);
        if (bytes == 0) return true;
        const int root = RootOf(dispatch, 1ull << i);
        words = fmt::format(
            "the index {} at {:#x}{} leads there with elements of {}", static_cast<int64_t>(value),
            at,
            root >= 0 ? fmt::format(" (element {} of what argument {} points to)", index, root)
                      : "",
            base::Count(bytes, "byte", "bytes"));
        return false;
      });
    }
    return words;
  }

  // `leads`: what in memory or among the arguments leads to the page; empty: nothing was found.
  Pointer PointerOf(const FaultDispatch& dispatch, const Access& access, std::string* leads) const {
    const FaultArgument* best = nullptr;  // a pointer among the arguments
    const FaultArgument* part = nullptr;  // eight bytes of a structure, or a number
    const Origin* loaded = nullptr;
    for (size_t i = 0; i < dispatch.reach.origins.size(); ++i) {
      if ((access.origins >> i & 1) == 0) continue;
      const Origin& origin = dispatch.reach.origins[i];
      if (origin.kind == Origin::Kind::kMemory) {
        if (origin.bytes == 8 && (loaded == nullptr || (origin.exact && !loaded->exact)))
          loaded = &origin;
        continue;
      }
      const FaultArgument* argument = ArgumentAt(dispatch, origin.offset);
      if (argument == nullptr) continue;
      if (argument->pointer && (best == nullptr || Closer(*argument, *best))) best = argument;
      if (!argument->pointer && (part == nullptr || argument->value > part->value)) part = argument;
    }
    Pointer pointer;
    // In a loop over a list the address comes from an argument at first, and from memory later.
    const bool loop = best != nullptr && loaded != nullptr && !access.bounded;
    if (loop) {
      *leads = IndexFrom(dispatch, best->value, access.origins);
      if (leads->empty()) {
        if (std::optional<Pointer> found = PointerInMemory(dispatch, access.origins, leads))
          return *found;
      }
    }
    if (best == nullptr && loaded == nullptr) best = part;
    if (best != nullptr) {
      pointer.name = best->name;
      pointer.argument = best->index;
      pointer.value = best->value;
      if (leads->empty()) *leads = IndexFrom(dispatch, best->value, access.origins);
      return pointer;
    }
    if (loaded == nullptr) return pointer;
    pointer.reached_from = RootOf(dispatch, loaded->parents);
    uint64_t value = 0;
    if (loaded->exact && record_.saved.Read(loaded->first, &value, 8)) {
      pointer.value = value;
      pointer.name = Place(loaded->first, pointer.reached_from);
      return pointer;
    }
    if (std::optional<Pointer> found = PointerInMemory(dispatch, access.origins, leads))
      return *found;
    pointer.name =
        pointer.reached_from >= 0
            ? fmt::format("a pointer in the memory that argument {} leads to", pointer.reached_from)
            : "a pointer in memory";
    return pointer;
  }

  static std::string Place(uint64_t at, int root) {
    return root >= 0 ? fmt::format("the pointer at {:#x} (reached from argument {})", at, root)
                     : fmt::format("the pointer at {:#x}", at);
  }

  // A sentence begins with it.
  static std::string Subject(const FaultDispatch& dispatch, const Pointer& pointer) {
    return pointer.argument >= 0 ? fmt::format("{} of {}", pointer.name, dispatch.readable)
                                 : fmt::format("in {}, {}", dispatch.readable, pointer.name);
  }

  bool Closer(const FaultArgument& one, const FaultArgument& other) const {
    const auto distance = [&](uint64_t value) {
      return value > page_ ? value - page_ : page_ - value;
    };
    return distance(one.value) < distance(other.value);
  }

  // A saved word that leads to the page, in memory that these origins lead to.
  std::optional<Pointer> PointerInMemory(const FaultDispatch& dispatch, uint64_t origins,
                                         std::string* leads) const {
    const int root = RootOf(dispatch, origins);
    std::vector<uint64_t> todo;
    for (size_t i = 0; i < dispatch.reach.origins.size(); ++i) {
      if ((AllOrigins(dispatch, origins) >> i & 1) == 0) continue;
      const Origin& origin = dispatch.reach.origins[i];
      if (origin.kind == Origin::Kind::kArgument) {
        if (const FaultArgument* argument = ArgumentAt(dispatch, origin.offset))
          todo.push_back(argument->value);
      } else if (origin.first != 0) {
        todo.push_back(origin.first);
      }
    }
    std::vector<uint64_t> seen;
    while (!todo.empty() && seen.size() < 256) {
      const uint64_t start = todo.back();
      todo.pop_back();
      if (std::count(seen.begin(), seen.end(), start) != 0) continue;
      seen.push_back(start);
      for (uint64_t at = start & ~7ull; at < start + kPage; at += 8) {
        uint64_t value = 0;
        if (!record_.saved.Read(at, &value, 8)) break;
        if (value < kFirstMapped) continue;
        if (OnPage(value)) {
          *leads = fmt::format("the pointer {:#x} is at {:#x}", value, at);
          return Pointer{Place(at, root), -1, root, value};
        }
        uint64_t word = 0;
        if (record_.saved.Read(value, &word, 8)) todo.push_back(value);
      }
    }
    return std::nullopt;
  }

  static uint64_t AllOrigins(const FaultDispatch& dispatch, uint64_t origins) {
    for (int pass = 0; pass < 8; ++pass)
      for (size_t i = 0; i < dispatch.reach.origins.size(); ++i)
        if ((origins >> i & 1) != 0) origins |= dispatch.reach.origins[i].parents;
    return origins;
  }

  // --- what is wrong with it

  // `convincing`: already is, or becomes so by what is found out about the pointer.
  FaultExplanation Classify(const FaultDispatch& dispatch, const Pointer& pointer,
                            bool* convincing) const {
    if (!pointer.value) return Vague(dispatch, pointer);
    const uint64_t value = *pointer.value;
    FaultExplanation explanation;
    if (value < kFirstMapped) {
      explanation = Null(dispatch, pointer);
      *convincing |= page_ < kFirstMapped;
    } else if (const FaultMemory* live = Find(record_.live, value)) {
      explanation = Bounds(dispatch, pointer, *live, convincing);
      AddStacks(*live, &explanation);
    } else if (const FaultMemory* freed = Find(record_.freed, value)) {
      explanation = Freed(dispatch, pointer, *freed);
      AddStacks(*freed, &explanation);
      *convincing |= page_ + kPage > freed->base && page_ < freed->end();
    } else {
      explanation = Stranger(dispatch, pointer);
      *convincing |= OnPage(value);
    }
    explanation.argument = pointer.argument;
    explanation.reached_from = pointer.reached_from;
    return explanation;
  }

  // Names of the program's functions, without those of the runtimes and of the recorder inside.
  std::vector<std::string> Names(const std::vector<uint64_t>& stack) const {
    constexpr size_t kMost = 12;
    const auto of_program = [&](uint64_t address) {
      const auto mapping = FindMapping(record_.maps, address);
      return mapping && mapping->find("/libamdhip64.so") == std::string::npos &&
             mapping->find("/libhsa-runtime64.so") == std::string::npos &&
             mapping->find("/librochound_agent.so") == std::string::npos;
    };
    const auto first =
        static_cast<size_t>(std::find_if(stack.begin(), stack.end(), of_program) - stack.begin());
    store::Symbolizer symbolizer(record_.maps);
    std::vector<std::string> names;
    for (size_t i = first; i < stack.size() && names.size() < kMost; ++i) {
      names.push_back(symbolizer.Name(stack[i]));
      if (names.back() == "main" || names.back().starts_with("main ("))
        break;  // then the C library
    }
    return names;
  }

  void AddStacks(const FaultMemory& memory, FaultExplanation* explanation) const {
    if (!memory.freed_stack.empty())
      explanation->stacks.push_back({"freed", Names(memory.freed_stack)});
    if (!memory.stack.empty()) explanation->stacks.push_back({"allocated", Names(memory.stack)});
  }

  FaultExplanation AboutPointer(const FaultDispatch& dispatch, const Pointer& pointer,
                                const char* cause) const {
    FaultExplanation explanation = About(dispatch, cause);
    if (pointer.value)
      explanation.evidence.push_back(fmt::format("{} is {:#x}", pointer.name, *pointer.value));
    return explanation;
  }

  // Without the pointer's value: what is on the page.
  FaultExplanation Vague(const FaultDispatch& dispatch, const Pointer& pointer) const {
    const FaultMemory* freed = Find(record_.freed, page_);
    FaultExplanation explanation = About(dispatch, freed != nullptr ? "use_after_free" : "unknown");
    explanation.argument = pointer.argument;
    explanation.reached_from = pointer.reached_from;
    const std::string through = pointer.name.empty() ? "" : " through " + pointer.name;
    if (page_ < kFirstMapped) {
      explanation.cause = "null_pointer";
      explanation.headline =
          fmt::format("{} followed a null pointer{}", dispatch.readable, through);
    } else if (freed != nullptr) {
      explanation.headline = fmt::format("{} touched memory that had been freed{}: {}",
                                         dispatch.readable, through, Describe(*freed));
    } else {
      explanation.headline = fmt::format("{} touched {:#x}{}, which belongs to nothing we know",
                                         dispatch.readable, page_, through);
    }
    explanation.advice.push_back("Look at the pointers in the memory that the arguments lead to.");
    return explanation;
  }

  FaultExplanation Null(const FaultDispatch& dispatch, const Pointer& pointer) const {
    FaultExplanation explanation = AboutPointer(dispatch, pointer, "null_pointer");
    if (pointer.argument >= 0) {
      explanation.headline =
          fmt::format("{} of {} is a null pointer", pointer.name, dispatch.readable);
      explanation.advice.push_back(
          "Look where this argument comes from: an allocation that failed and was not checked, or "
          "a pointer that was never set.");
    } else {
      explanation.headline =
          fmt::format("{} followed a null pointer that is not one of its arguments: {} is null",
                      dispatch.readable, pointer.name);
      explanation.advice.push_back("Look where this field, element or variable is set.");
    }
    return explanation;
  }

  FaultExplanation Freed(const FaultDispatch& dispatch, const Pointer& pointer,
                         const FaultMemory& memory) const {
    FaultExplanation explanation = AboutPointer(dispatch, pointer, "use_after_free");
    explanation.headline = fmt::format("{} points into memory that had been freed: {}",
                                       Subject(dispatch, pointer), Describe(memory));
    explanation.evidence.push_back(fmt::format(
        "it was freed by thread {}, {:.3f} ms before the fault, and allocated by thread {}",
        memory.freed_by, static_cast<double>(record_.when_ns - memory.freed_ns) * 1e-6,
        memory.thread));
    explanation.advice.push_back(
        "If it was launched before that: wait for the kernels that use memory before freeing it "
        "(hipStreamSynchronize), or free it in stream order (hipFreeAsync). If it was launched "
        "after: look where the program keeps this pointer, and who still uses it.");
    if (memory.stack.empty() && memory.freed_stack.empty())
      explanation.advice.push_back("rochound run --stacks records who allocated and freed it.");
    return explanation;
  }

  FaultExplanation Bounds(const FaultDispatch& dispatch, const Pointer& pointer,
                          const FaultMemory& memory, bool* convincing) const {
    if (page_ + kPage > memory.base && page_ < memory.end()) {
      *convincing = true;
      return Inside(dispatch, pointer, memory);
    }
    const bool behind = page_ >= memory.end();
    const uint64_t distance = behind ? page_ - memory.end() : memory.base - (page_ + kPage);
    *convincing |= distance < kPage;
    FaultExplanation explanation = AboutPointer(dispatch, pointer, "out_of_bounds");
    explanation.headline = fmt::format(
        "{} goes out of bounds of {}: {} of the memory that it points into", dispatch.readable,
        pointer.name,
        distance < kPage
            ? (behind ? "just past the end" : "just before the start")
            : fmt::format("{} {}", Size(distance), behind ? "past the end" : "before the start"));
    explanation.evidence.push_back("it points into " + Describe(memory));
    explanation.advice.push_back(
        distance < kNear
            ? "Compare the kernel's bounds check with the size that was allocated; grids are "
              "usually larger than the data."
            : "An index this far off is usually not initialised, negative, or overflowed: look at "
              "how it is computed, and whether 32 bits are enough for it.");
    return explanation;
  }

  // The address is in live memory: it is not this GPU's to touch, or not in that way.
  FaultExplanation Inside(const FaultDispatch& dispatch, const Pointer& pointer,
                          const FaultMemory& memory) const {
    FaultExplanation explanation = AboutPointer(dispatch, pointer, "no_access");
    explanation.evidence.push_back("it points into " + Describe(memory));
    if (read_only_) {
      explanation.headline = fmt::format("{} writes to {}, whose memory is mapped read-only",
                                         dispatch.readable, pointer.name);
      explanation.advice.push_back(
          "Do not write there, or allow it (hipMemAccessFlagsProtReadWrite).");
    } else if (memory.kind == "locked" || memory.kind == "managed") {
      explanation.cause = "host_memory";
      explanation.headline = fmt::format(
          "{} is host memory that was given back to the system while the GPU still used it",
          Subject(dispatch, pointer));
      explanation.advice.push_back("Unregister host memory (hipHostUnregister) before freeing it.");
    } else {
      explanation.headline =
          fmt::format("{} is memory that this GPU may not see", Subject(dispatch, pointer));
      explanation.advice.push_back(
          "Allow it: hipDeviceEnablePeerAccess between GPUs, hipMemSetAccess for virtual memory.");
    }
    return explanation;
  }

  // A pointer to nothing that the runtime knows.
  FaultExplanation Stranger(const FaultDispatch& dispatch, const Pointer& pointer) const {
    const uint64_t value = *pointer.value;
    for (const FaultMemory& memory : record_.live) {
      if (memory.end() != value) continue;
      FaultExplanation explanation = AboutPointer(dispatch, pointer, "out_of_bounds");
      explanation.headline = fmt::format("{} points just past the end of the memory from {}",
                                         Subject(dispatch, pointer), Describe(memory));
      explanation.advice.push_back("Look at the offset that was added to this pointer.");
      return explanation;
    }
    if (const auto mapping = FindMapping(record_.maps, value)) {
      FaultExplanation explanation = AboutPointer(dispatch, pointer, "host_memory");
      explanation.headline =
          fmt::format("{} is ordinary host memory ({}), which this GPU does not see",
                      Subject(dispatch, pointer), *mapping);
      explanation.advice.push_back(
          "Copy it to memory from hipMalloc, or allocate it with hipHostMalloc or "
          "hipMallocManaged; hipHostRegister makes existing memory visible, at the address that "
          "hipHostGetDevicePointer tells.");
      return explanation;
    }
    FaultExplanation explanation = AboutPointer(dispatch, pointer, "bad_pointer");
    explanation.headline =
        fmt::format("{} points to no memory at all: it was never allocated, or freed long ago",
                    Subject(dispatch, pointer));
    explanation.advice.push_back("Look where this pointer comes from.");
    return explanation;
  }

  FaultExplanation BadCall(const FaultDispatch& dispatch, const Pointer& pointer) const {
    FaultExplanation explanation = AboutPointer(dispatch, pointer, "bad_call");
    explanation.argument = pointer.argument;
    explanation.reached_from = pointer.reached_from;
    explanation.headline = fmt::format(
        "{} jumped to {:#x}, which is not code{}", dispatch.readable,
        pointer.value ? *pointer.value : page_,
        pointer.name.empty() ? "" : fmt::format(": {} is no function's address", pointer.name));
    explanation.advice.push_back(
        "Look where this function pointer comes from: the address of a __device__ function has to "
        "be taken on the GPU, or copied from there.");
    return explanation;
  }

  // --- without its code: arguments and what they point to

  Theory WithoutCode(const InFlight& who) const {
    const FaultDispatch& dispatch = *who.dispatch;
    Theory best;
    best.who = who;
    best.weight = kPossible;
    best.reason = dispatch.no_code.empty() ? dispatch.reach.why : dispatch.no_code;
    best.explanation = Vague(dispatch, {});
    if (not_executable_) {
      best.explanation = BadCall(dispatch, {});
      return best;
    }
    for (const FaultArgument& argument : dispatch.arguments) {
      if (argument.index < 0 && !OnPage(argument.value)) continue;
      if (!argument.pointer && argument.value < kFirstMapped) continue;
      if (argument.value < kFirstMapped && page_ >= kFirstMapped) continue;
      bool convincing = false;
      const Pointer pointer{argument.name, argument.index, -1, argument.value};
      const std::string leads = IndexFrom(dispatch, argument.value, 0);
      FaultExplanation explanation = Classify(dispatch, pointer, &convincing);
      const bool in_nothing =
          explanation.cause == "bad_pointer" || explanation.cause == "host_memory";
      if (in_nothing && (!argument.pointer || !convincing)) continue;
      if (!leads.empty()) explanation.evidence.push_back(leads);
      convincing |= !leads.empty();
      const double weight = convincing ? kNearby : kPossible;
      if (weight < best.weight || (weight == best.weight && best.explanation.argument >= 0 &&
                                   !CloserTo(argument, best.explanation.argument, dispatch)))
        continue;
      explanation.sure = convincing;
      best.weight = weight;
      best.explanation = std::move(explanation);
    }
    if (!best.explanation.sure) LookAtNumbers(dispatch, &best);
    return best;
  }

  // A number of 32 bits that is the address: it was a pointer before.
  void LookAtNumbers(const FaultDispatch& dispatch, Theory* best) const {
    for (const FaultArgument& number : dispatch.numbers) {
      const uint64_t value = number.value & 0xffffffff;
      if (value < kFirstMapped || !OnPage(value)) continue;
      FaultExplanation explanation = About(dispatch, "bad_pointer");
      explanation.argument = number.index;
      explanation.sure = true;
      explanation.headline = fmt::format(
          "{} of {} is used as an address, and has 32 bits only: it points to no memory",
          number.name, dispatch.readable);
      explanation.evidence.push_back(fmt::format("{} is {:#x}", number.name, value));
      for (const FaultMemory& memory : record_.live)
        if ((memory.base & 0xffffffff) == value)
          explanation.evidence.push_back("its lower half is that of " + Describe(memory));
      explanation.advice.push_back(
          "Look where the host makes this number: a pointer needs 64 bits, on the way too.");
      best->weight = kNearby;
      best->explanation = std::move(explanation);
      return;
    }
  }

  bool CloserTo(const FaultArgument& argument, int than, const FaultDispatch& dispatch) const {
    for (const FaultArgument& other : dispatch.arguments)
      if (other.index == than) return Closer(argument, other);
    return true;
  }

  FaultExplanation Unknown() const {
    FaultExplanation explanation;
    explanation.cause = "unknown";
    explanation.headline =
        fmt::format("the GPU touched {:#x}, which belongs to nothing we know", page_);
    if (const FaultMemory* freed = Find(record_.freed, page_)) {
      explanation.cause = "use_after_free";
      explanation.headline =
          fmt::format("the GPU touched memory that had been freed: {}", Describe(*freed));
      explanation.evidence.push_back(fmt::format("it was freed by thread {}", freed->freed_by));
    }
    explanation.evidence.push_back("no kernel was in flight on this GPU: it may have been a copy");
    explanation.advice.push_back(
        "Record from the program's start (rochound run without --start-off) to see every kernel.");
    return explanation;
  }

  void AddNeighbours(FaultExplanation* explanation) const {
    const auto after =
        std::upper_bound(record_.live.begin(), record_.live.end(), page_,
                         [](uint64_t left, const FaultMemory& right) { return left < right.base; });
    if (after != record_.live.begin())
      explanation->evidence.push_back("the allocation below it: " + Describe(*std::prev(after)));
    if (after != record_.live.end())
      explanation->evidence.push_back("the allocation above it: " + Describe(*after));
    if (const FaultMemory* freed = Find(record_.freed, page_);
        freed != nullptr && explanation->cause != "use_after_free")
      explanation->evidence.push_back("freed memory that was there: " + Describe(*freed));
  }

  const FaultRecord& record_;
  const uint64_t page_;
  bool read_only_ = false;
  bool not_executable_ = false;
};

}  // namespace

FaultExplanation ExplainMemoryFault(const FaultRecord& record) {
  return MemoryJudge(record).Judge();
}

}  // namespace rochound::doctor
