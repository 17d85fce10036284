// SPDX-License-Identifier: MIT
#include "doctor/fault/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <system_error>

#include "doctor/fault/record.h"

namespace rochound::doctor {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kNear = 1 << 20;       // what an index that is off by a little reaches
constexpr uint64_t kFirstMapped = 65536;  // nothing is ever mapped below

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

std::string Sentence(const FaultDispatch& dispatch) {
  return fmt::format("{} (grid {}x{}x{}, workgroup {}x{}x{})", dispatch.readable, dispatch.grid[0],
                     dispatch.grid[1], dispatch.grid[2], dispatch.workgroup[0],
                     dispatch.workgroup[1], dispatch.workgroup[2]);
}

// A mapping of the process, by /proc/self/maps.
struct Mapping {
  uint64_t begin;
  uint64_t end;
  std::string name;
};

std::optional<Mapping> FindMapping(const std::string& maps, uint64_t address) {
  std::istringstream lines(maps);
  for (std::string line; std::getline(lines, line);) {
    Mapping mapping{};
    char* dash = nullptr;
    mapping.begin = strtoull(line.c_str(), &dash, 16);
    if (*dash != '-') continue;
    mapping.end = strtoull(dash + 1, nullptr, 16);
    if (address < mapping.begin || address >= mapping.end) continue;
    const size_t name = line.find_first_of("/[");
    mapping.name = name != std::string::npos ? line.substr(name) : "anonymous memory";
    return mapping;
  }
  return std::nullopt;
}

// One way to explain a memory fault; the smaller the doubt, the better.
struct Suspicion {
  uint64_t doubt = std::numeric_limits<uint64_t>::max();
  FaultExplanation explanation;
};

class MemoryJudge {
 public:
  explicit MemoryJudge(const FaultRecord& record) : record_(record), page_(record.address) {}

  FaultExplanation Judge() {
    for (const FaultQueue& queue : record_.queues) {
      if (queue.agent != record_.agent && record_.agent >= 0) continue;
      for (const FaultDispatch& dispatch : queue.under_way) Suspect(dispatch);
    }
    if (best_.explanation.cause.empty()) Unknown();
    FaultExplanation explanation = std::move(best_.explanation);
    explanation.evidence.insert(
        explanation.evidence.begin(),
        fmt::format("the GPU faulted in the page at {:#x}{}", page_, Reasons()));
    AddNeighbours(&explanation);
    return explanation;
  }

 private:
  std::string Reasons() const {
    std::string text;
    for (const std::string& reason : record_.reasons) text += (text.empty() ? " (" : ", ") + reason;
    return text.empty() ? text : text + ")";
  }

  bool OnPage(uint64_t address) const { return address - page_ < kPage; }

  void Offer(uint64_t doubt, FaultExplanation explanation) {
    if (doubt < best_.doubt) best_ = {doubt, std::move(explanation)};
  }

  FaultExplanation About(const FaultDispatch& dispatch, const FaultArgument& argument,
                         const char* cause) const {
    FaultExplanation explanation;
    explanation.cause = cause;
    explanation.kernel = dispatch.kernel;
    explanation.argument = argument.index;
    explanation.evidence.push_back("under way: " + Sentence(dispatch));
    explanation.evidence.push_back(fmt::format("{} is {:#x}", argument.name, argument.value));
    return explanation;
  }

  void Suspect(const FaultDispatch& dispatch) {
    if (OnPage(dispatch.kernarg)) {
      FaultExplanation explanation;
      explanation.cause = "bad_kernarg";
      explanation.sure = true;
      explanation.kernel = dispatch.kernel;
      explanation.headline = fmt::format(
          "{} could not read its own arguments: the packet's kernarg address {:#x} is not memory "
          "that this GPU sees",
          dispatch.readable, dispatch.kernarg);
      explanation.advice.push_back(
          "Allocate arguments from a kernarg pool and allow the GPU access to them "
          "(hsa_amd_agents_allow_access).");
      Offer(0, std::move(explanation));
    }
    for (const FaultArgument& argument : dispatch.arguments) Suspect(dispatch, argument);
    SuspectNull(dispatch);
  }

  void SuspectNull(const FaultDispatch& dispatch) {
    if (page_ >= kFirstMapped) return;
    for (const FaultArgument& argument : dispatch.arguments) {
      if (!argument.pointer || argument.index < 0 || argument.value >= kFirstMapped) continue;
      FaultExplanation explanation = About(dispatch, argument, "null_pointer");
      explanation.sure = true;
      explanation.headline =
          fmt::format("{} of {} is a null pointer", argument.name, dispatch.readable);
      explanation.advice.push_back(
          "Look where this argument comes from: an allocation that failed and was not checked, or "
          "a pointer that was never set.");
      Offer(1, std::move(explanation));
    }
    FaultExplanation explanation;
    explanation.cause = "null_pointer";
    explanation.kernel = dispatch.kernel;
    explanation.headline = fmt::format(
        "{} followed a null pointer that is not one of its arguments, such as a field of a "
        "structure or an element of an array of pointers",
        dispatch.readable);
    explanation.evidence.push_back("under way: " + Sentence(dispatch));
    explanation.advice.push_back("Look at the pointers in the memory that the arguments lead to.");
    Offer(2, std::move(explanation));
  }

  void Suspect(const FaultDispatch& dispatch, const FaultArgument& argument) {
    if (argument.value < kFirstMapped) return;
    const FaultMemory* live = Find(record_.live, argument.value);
    const FaultMemory* freed = Find(record_.freed, argument.value);
    if (live == nullptr && freed != nullptr)
      Freed(dispatch, argument, *freed);
    else if (live != nullptr)
      Bounds(dispatch, argument, *live);
    else if (OnPage(argument.value) || (argument.pointer && argument.index >= 0))
      Stranger(dispatch, argument);
  }

  void Freed(const FaultDispatch& dispatch, const FaultArgument& argument,
             const FaultMemory& memory) {
    FaultExplanation explanation = About(dispatch, argument, "use_after_free");
    explanation.sure = page_ + kPage > memory.base && page_ < memory.end();
    explanation.headline = fmt::format("{} of {} points into memory that had been freed: {}",
                                       argument.name, dispatch.readable, Describe(memory));
    explanation.evidence.push_back(fmt::format(
        "it was freed by thread {}, {:.3f} ms before the fault, and allocated by thread {}",
        memory.freed_by, static_cast<double>(record_.when_ns - memory.freed_ns) * 1e-6,
        memory.thread));
    explanation.advice.push_back(
        "Wait for the kernels that use memory before freeing it (hipStreamSynchronize), or free "
        "it in stream order (hipFreeAsync).");
    Offer(explanation.sure ? 1 : 64, std::move(explanation));
  }

  // A number among the arguments that, as an index from the pointer, leads into the page.
  std::string IndexOf(const FaultDispatch& dispatch, const FaultArgument& pointer) const {
    for (const FaultArgument& number : dispatch.numbers) {
      // Small ones lead next to any pointer.
      const uint64_t size = std::min(number.value, ~number.value);
      if (size < kPage) continue;
      for (const uint64_t bytes : {4, 8, 2, 1, 16})
        if (OnPage(pointer.value + number.value * bytes))
          return fmt::format("{} is {}, and so many elements of {} bytes lead there", number.name,
                             static_cast<int64_t>(number.value), bytes);
    }
    return {};
  }

  void Bounds(const FaultDispatch& dispatch, const FaultArgument& argument,
              const FaultMemory& memory) {
    if (page_ + kPage > memory.base && page_ < memory.end())
      return Inside(dispatch, argument, memory);
    const bool behind = page_ >= memory.end();
    const uint64_t distance = behind ? page_ - memory.end() : memory.base - (page_ + kPage);
    FaultExplanation explanation = About(dispatch, argument, "out_of_bounds");
    explanation.sure = distance < kPage;
    explanation.headline = fmt::format(
        "{} goes out of bounds of {}: {} of the memory that it points into", dispatch.readable,
        argument.name,
        distance < kPage
            ? (behind ? "just past the end" : "just before the start")
            : fmt::format("{} {}", Size(distance), behind ? "past the end" : "before the start"));
    explanation.evidence.push_back("it points into " + Describe(memory));
    const std::string index = IndexOf(dispatch, argument);
    if (!index.empty()) {
      explanation.sure = true;
      explanation.evidence.push_back(index);
    }
    explanation.advice.push_back(
        distance < kNear
            ? "Compare the kernel's bounds check with the size that was allocated; grids are "
              "usually larger than the data."
            : "An index this far off is usually not initialised, negative, or overflowed: look at "
              "how it is computed, and whether 32 bits are enough for it.");
    // Pointers that a structure holds by chance are less likely to be meant.
    Offer((argument.pointer ? 16 : 32) + (index.empty() ? distance : 0), std::move(explanation));
  }

  // The address is in live memory: it is not this GPU's to touch, or not in that way.
  void Inside(const FaultDispatch& dispatch, const FaultArgument& argument,
              const FaultMemory& memory) {
    FaultExplanation explanation = About(dispatch, argument, "no_access");
    const bool read_only =
        std::count(record_.reasons.begin(), record_.reasons.end(), "read only") != 0;
    explanation.sure = true;
    explanation.evidence.push_back("it points into " + Describe(memory));
    if (read_only) {
      explanation.headline = fmt::format("{} writes to {}, whose memory is mapped read-only",
                                         dispatch.readable, argument.name);
    } else if (memory.kind == "locked" || memory.kind == "managed") {
      explanation.cause = "host_memory";
      explanation.headline = fmt::format(
          "{} of {} is host memory that was given back to the system while the GPU still used it",
          argument.name, dispatch.readable);
      explanation.advice.push_back("Unregister host memory (hipHostUnregister) before freeing it.");
    } else {
      explanation.headline = fmt::format("{} of {} is memory that this GPU may not see",
                                         argument.name, dispatch.readable);
      explanation.advice.push_back(
          "Allow it: hipDeviceEnablePeerAccess between GPUs, hipMemSetAccess for virtual memory.");
    }
    Offer(4, std::move(explanation));
  }

  // An argument that leads to nothing the runtime knows.
  void Stranger(const FaultDispatch& dispatch, const FaultArgument& argument) {
    const auto mapping = FindMapping(record_.maps, argument.value);
    FaultExplanation explanation = About(dispatch, argument, "host_memory");
    explanation.sure = OnPage(argument.value);
    if (mapping) {
      explanation.headline =
          fmt::format("{} of {} is ordinary host memory ({}), which this GPU does not see",
                      argument.name, dispatch.readable, mapping->name);
      explanation.advice.push_back(
          "Copy it to memory from hipMalloc, or allocate it with hipHostMalloc or "
          "hipMallocManaged; hipHostRegister makes existing memory visible, at the address that "
          "hipHostGetDevicePointer tells.");
    } else {
      explanation.cause = "out_of_bounds";
      explanation.headline = fmt::format(
          "{} of {} points to no memory at all: it was never allocated, or freed long ago",
          argument.name, dispatch.readable);
      explanation.advice.push_back("Look where this pointer comes from.");
    }
    const uint64_t distance =
        page_ > argument.value ? page_ - argument.value : argument.value - page_;
    Offer(OnPage(argument.value) ? 3 : 48 + distance, std::move(explanation));
  }

  void Unknown() {
    FaultExplanation& explanation = best_.explanation;
    explanation.cause = "unknown";
    explanation.headline =
        fmt::format("the GPU touched {:#x}, which belongs to nothing we know", page_);
    if (const FaultMemory* freed = Find(record_.freed, page_)) {
      explanation.cause = "use_after_free";
      explanation.headline =
          fmt::format("the GPU touched memory that had been freed: {}", Describe(*freed));
      explanation.evidence.push_back(fmt::format("it was freed by thread {}", freed->freed_by));
    }
    explanation.advice.push_back(
        "No recorded kernel was under way. Record from the program's start (rochound run without "
        "--start-off) to see which one it was.");
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
  Suspicion best_;
};

// The kernels of the queue that failed; of all if none says so.
std::vector<const FaultDispatch*> UnderWay(const FaultRecord& record) {
  std::vector<const FaultDispatch*> found;
  for (const bool any : {false, true}) {
    for (const FaultQueue& queue : record.queues)
      if (queue.failed || any)
        for (const FaultDispatch& dispatch : queue.under_way) found.push_back(&dispatch);
    if (!found.empty()) break;
  }
  return found;
}

// What HSA_OVERRIDE_GFX_VERSION=10.3.0 makes of a GPU; empty: not set.
std::string Override(const FaultRecord& record) {
  const auto set = record.environment.find("HSA_OVERRIDE_GFX_VERSION");
  return set != record.environment.end() ? set->second : "";
}

bool WrongTarget(const FaultRecord& record, const FaultDispatch& dispatch, int agent) {
  if (dispatch.target.empty() || dispatch.target.find("generic") != std::string::npos) return false;
  const auto index = static_cast<size_t>(agent);
  return index < record.agents.size() &&
         record.agents[index].isa.find("--" + dispatch.target) == std::string::npos;
}

FaultExplanation ExplainQueue(const FaultRecord& record) {
  FaultExplanation explanation;
  const std::vector<const FaultDispatch*> suspects = UnderWay(record);
  const FaultDispatch* const first = suspects.empty() ? nullptr : suspects.front();
  const std::string who = first != nullptr ? first->readable : "a kernel that was not recorded";
  if (first != nullptr) {
    explanation.kernel = first->kernel;
    explanation.evidence.push_back("under way: " + Sentence(*first));
    if (!first->target.empty()) explanation.evidence.push_back("its code is for " + first->target);
  }
  explanation.evidence.insert(explanation.evidence.begin(), "the queue's error: " + record.status);
  explanation.sure = suspects.size() == 1;
  const auto has = [&](const char* text) { return record.status.find(text) != std::string::npos; };
  int agent = -1;
  for (const FaultQueue& queue : record.queues)
    if (queue.failed) agent = queue.agent;
  const std::string override_version = Override(record);
  const bool wrong = first != nullptr && WrongTarget(record, *first, agent);
  if ((has("ILLEGAL_INSTRUCTION") || has("INVALID_ISA")) && (wrong || !override_version.empty())) {
    explanation.cause = "wrong_isa";
    explanation.headline =
        fmt::format("{} is code for {}, and this GPU executes something else", who,
                    first != nullptr && !first->target.empty() ? first->target : "another GPU");
    if (!override_version.empty())
      explanation.evidence.push_back("HSA_OVERRIDE_GFX_VERSION=" + override_version +
                                     " makes the runtime believe in a GPU that is not there");
    explanation.advice.push_back(
        "Compile for this GPU (--offload-arch), and unset HSA_OVERRIDE_GFX_VERSION unless the "
        "two really have the same instructions. rochound doctor shows what the GPU is.");
  } else if (has("ILLEGAL_INSTRUCTION")) {
    explanation.cause = "illegal_instruction";
    explanation.headline = who + " executed an instruction that this GPU does not have";
    explanation.advice.push_back(
        "Inline assembly for another GPU, or code that was overwritten: a function pointer that "
        "leads nowhere has the same effect.");
  } else if (has("APERTURE")) {
    explanation.cause = "aperture";
    explanation.headline = fmt::format(
        "{} went outside its LDS or its scratch memory (memory aperture violation)", who);
    if (first != nullptr) {
      explanation.evidence.push_back(fmt::format(
          "it has {} bytes of LDS per workgroup ({} of them static) and {} bytes of scratch per "
          "work-item{}",
          first->group_bytes, first->fixed_group_bytes, first->private_bytes,
          first->dynamic_stack ? ", with a stack that grows as it runs" : ""));
    }
    explanation.advice.push_back(
        "Check indices into __shared__ and local arrays, the dynamic LDS size given at launch, "
        "and the depth of recursion (hipDeviceSetLimit with hipLimitStackSize).");
  } else if (has("EXCEPTION")) {
    explanation.cause = "trap";
    explanation.headline = who + " ended itself: a failed assert, abort or __builtin_trap";
    explanation.advice.push_back(
        "A failed assert prints its condition on the program's output, if it could be flushed.");
  } else if (has("OUT_OF_RESOURCES")) {
    explanation.cause = "out_of_resources";
    explanation.headline = who + " needs more scratch memory, or another resource, than there is";
    explanation.advice.push_back("Less stack per work-item, or fewer of them at once.");
  } else {
    explanation.cause = "unknown";
    explanation.headline = "a queue failed while " + who + " was under way";
  }
  return explanation;
}

FaultExplanation ExplainHang(const FaultRecord& record) {
  FaultExplanation explanation;
  explanation.cause = "hang";
  const std::vector<const FaultDispatch*> suspects = UnderWay(record);
  if (suspects.empty()) {
    explanation.headline = fmt::format(
        "nothing finished on the GPU for {} s, and no kernel was under way: a copy, or a wait for "
        "a signal that nobody gives",
        record.seconds);
    return explanation;
  }
  explanation.kernel = suspects.front()->kernel;
  explanation.sure = suspects.size() == 1;
  explanation.headline = fmt::format("{} has not ended, and nothing has for {} s",
                                     suspects.front()->readable, record.seconds);
  for (const FaultDispatch* dispatch : suspects)
    explanation.evidence.push_back("under way: " + Sentence(*dispatch));
  explanation.advice.push_back(
      "A loop that does not end, a barrier that not all work-items reach, or a wait for other "
      "workgroups that do not fit on the GPU at the same time. A long kernel is none of these: "
      "ROCHOUND_HANG=120s waits longer.");
  return explanation;
}

}  // namespace

std::vector<fs::path> FindFaults(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    if (it->path().filename() == "fault.json") found.push_back(it->path());
  std::sort(found.begin(), found.end());
  return found;
}

Result<FaultExplanation> ExplainFault(const fs::path& path) {
  fs::path file = path;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    const std::vector<fs::path> found = FindFaults(path);
    if (found.empty()) {
      return Error{fmt::format(
          "there is no fault.json in '{}'. rochound run writes it when a GPU fails, beside the "
          "trace or, with --log-dir, in the log",
          path.string())};
    }
    file = found.front();
  }
  ROCHOUND_TRY(const FaultRecord record, ReadFaultRecord(file));
  if (record.kind == "memory") return MemoryJudge(record).Judge();
  if (record.kind == "queue") return ExplainQueue(record);
  if (record.kind == "hang") return ExplainHang(record);
  return Error{fmt::format("'{}' has a fault of kind '{}', which this rochound does not know",
                           file.string(), record.kind)};
}

std::string FaultText(const FaultExplanation& explanation) {
  std::string text =
      fmt::format("{}{}\n", explanation.sure ? "" : "Probably: ", explanation.headline);
  for (const std::string& line : explanation.evidence) text += fmt::format("  - {}\n", line);
  for (const std::string& line : explanation.advice)
    text += fmt::format("  What to do: {}\n", line);
  return text;
}

std::string FaultJson(const FaultExplanation& explanation) {
  const nlohmann::ordered_json json = {
      {"cause", explanation.cause},       {"sure", explanation.sure},
      {"headline", explanation.headline}, {"kernel", explanation.kernel},
      {"argument", explanation.argument}, {"evidence", explanation.evidence},
      {"advice", explanation.advice}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace rochound::doctor
