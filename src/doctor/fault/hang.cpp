// SPDX-License-Identifier: MIT
//
// What queues that come no further wait for. Each queue has something that is first: a kernel,
// whose code says whether it computes, goes round for ever or waits for memory; or a packet that
// waits for a signal. Whoever could bring that is looked for in the other queues, and where the way
// leads back there is a deadlock.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "doctor/fault/judge.h"
#include "doctor/fault/loops.h"

namespace rochound::doctor {
namespace {

constexpr double kLong = 1;  // seconds; what stands for less is only work

// HIP's own kernel for hipStreamWaitValue on memory that is no signal.
constexpr std::string_view kStreamWait = "streamOpsWait";

struct Front {
  const FaultQueue* queue = nullptr;
  const FaultPacket* packet = nullptr;      // that waits; else
  const FaultDispatch* dispatch = nullptr;  // that runs
  FaultWait wait;
  bool sure = true;
  std::optional<size_t> instruction;  // of the loop
  std::vector<std::string> evidence;
  std::set<const FaultQueue*> needs;  // queues with what it waits for
  bool fed = false;                   // a kernel that runs can write it
};

std::string Seconds(double seconds) {
  return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 1 : 0);
}

class HangJudge {
 public:
  explicit HangJudge(const FaultRecord& record) : record_(record) {}

  FaultExplanation Judge() {
    for (const FaultQueue& queue : record_.queues)
      if (queue.front_seconds >= kLong) AddFront(queue);
    for (Front& front : fronts_) {
      front.wait.deadlock = LeadsBack(front);
      // One that waits for a queue which goes on is only late; one that waits for a queue that
      // hangs is not the cause.
      if (!front.wait.deadlock && (!front.needs.empty() || front.fed)) front.wait.hangs = false;
    }
    std::stable_sort(fronts_.begin(), fronts_.end(), [](const Front& a, const Front& b) {
      return std::pair(a.wait.hangs, a.wait.seconds) > std::pair(b.wait.hangs, b.wait.seconds);
    });
    return Conclude();
  }

 private:
  void AddFront(const FaultQueue& queue) {
    Front front;
    front.queue = &queue;
    front.wait.queue = queue.index;
    front.wait.seconds = queue.front_seconds;
    FaultExplanation gpu;
    NameGpu(record_, queue.agent, &gpu);
    front.wait.gpu = gpu.gpu;
    for (const FaultDispatch& dispatch : queue.under_way)
      if (dispatch.started && front.dispatch == nullptr) front.dispatch = &dispatch;
    if (front.dispatch != nullptr) {
      front.wait.kernel = front.dispatch->kernel;
      front.wait.readable = front.dispatch->readable;
      JudgeKernel(&front);
    } else {
      for (const FaultPacket& packet : queue.packets)
        if (packet.Waits() && front.packet == nullptr) front.packet = &packet;
      if (front.packet == nullptr) return;  // it goes on at this moment
      JudgePacket(&front);
    }
    fronts_.push_back(std::move(front));
  }

  // --- packets

  // Who completes a signal, in words; empty: nothing that is in flight.
  std::string CompleterOf(uint64_t signal, const Front& front,
                          std::set<const FaultQueue*>* needs) const {
    for (const FaultQueue& queue : record_.queues) {
      for (const FaultDispatch& dispatch : queue.under_way) {
        if (dispatch.completion_signal != signal) continue;
        needs->insert(&queue);
        return fmt::format("{} on queue {} completes it", dispatch.readable, queue.index);
      }
      for (const FaultPacket& packet : queue.packets) {
        if (packet.completion_signal != signal || &packet == front.packet) continue;
        needs->insert(&queue);
        return fmt::format("packet {} of queue {} completes it{}", packet.packet, queue.index,
                           &queue == front.queue ? ", which is after it" : "");
      }
    }
    if (std::count(record_.copy_signals.begin(), record_.copy_signals.end(), signal) != 0)
      return "a copy in flight completes it";
    return {};
  }

  void JudgePacket(Front* front) const {
    const FaultPacket& packet = *front->packet;
    const bool value = packet.type == "barrier_value";
    front->wait.waits_for = value ? "stream_value" : "signal";
    front->wait.hangs = true;
    std::string signals;
    for (const SignalWait& wait : packet.waits) {
      if (wait.Holds()) continue;
      std::string now = "cannot be read";
      if (wait.value) now = fmt::format("is {}", *wait.value);
      signals += fmt::format("{}signal {:#x} to become {} {} (it {})", signals.empty() ? "" : ", ",
                             wait.signal, wait.condition, wait.wanted, now);
      if (value) {
        // The value is eight bytes into the signal: that is the pointer the program has.
        front->evidence.push_back(
            fmt::format("hipStreamWaitValue waits so for memory at {:#x}", wait.signal + 8));
        AddWriters(wait.signal + 8, wait.signal + 8, front);
        continue;
      }
      const std::string who = CompleterOf(wait.signal, *front, &front->needs);
      if (!who.empty()) {
        front->evidence.push_back(fmt::format("signal {:#x}: {}", wait.signal, who));
        if (front->needs.empty()) front->wait.waits_for = "copy";
      } else {
        front->evidence.push_back(fmt::format(
            "signal {:#x}: no kernel, packet or copy in flight completes it. Only the host can: a "
            "function in the stream that has not returned, or work that was never submitted",
            wait.signal));
      }
    }
    front->wait.hangs = front->wait.waits_for != "copy";
    front->wait.text = fmt::format("{} on queue {} has stood for {}: it waits for {}",
                                   value ? "A wait for a value in memory" : "A barrier packet",
                                   front->queue->index, Seconds(front->wait.seconds), signals);
    size_t behind = 0;
    for (const FaultDispatch& dispatch : front->queue->under_way)
      if (++behind == 1)
        front->evidence.push_back(
            fmt::format("{} is after it on queue {}", dispatch.readable, front->queue->index));
    if (behind > 1) front->evidence.back() += fmt::format(", and {} more", behind - 1);
  }

  // --- kernels

  const FaultArgument* ArgumentOf(const FaultDispatch& dispatch, const Access& access) const {
    for (size_t i = 0; i < dispatch.reach.origins.size(); ++i) {
      const Origin& origin = dispatch.reach.origins[i];
      if ((access.origins >> i & 1) == 0 || origin.kind != Origin::Kind::kArgument) continue;
      for (const FaultArgument& argument : dispatch.arguments)
        if (argument.offset == origin.offset && argument.index >= 0) return &argument;
    }
    return nullptr;
  }

  // Other kernels that are given this pointer and can write there.
  void AddWriters(uint64_t address, uint64_t pointer, Front* front) const {
    const auto writes = [&](const FaultDispatch& dispatch) {
      return std::any_of(dispatch.arguments.begin(), dispatch.arguments.end(),
                         [&](const FaultArgument& argument) {
                           return argument.value == address || argument.value == pointer;
                         }) &&
             std::any_of(dispatch.reach.accesses.begin(), dispatch.reach.accesses.end(),
                         [&](const Access& access) {
                           return access.kind == Access::Kind::kWrite && access.Touches(address, 1);
                         });
    };
    for (const FaultQueue& queue : record_.queues) {
      for (const FaultDispatch& dispatch : queue.under_way) {
        if (&dispatch == front->dispatch || !writes(dispatch)) continue;
        if (dispatch.started) {
          front->fed = true;
          front->evidence.push_back(fmt::format("{} runs on queue {} and can write that memory",
                                                dispatch.readable, queue.index));
          continue;
        }
        front->needs.insert(&queue);
        front->evidence.push_back(fmt::format(
            "{} would write that memory and has not started: it is after {} on queue {}",
            dispatch.readable, &queue == front->queue ? "it" : queue.under_way.front().readable,
            queue.index));
      }
    }
  }

  // The memory that the loop waits for, in words.
  std::string JudgeMemory(const Loop& loop, Front* front) const {
    const FaultDispatch& dispatch = *front->dispatch;
    for (const size_t load : loop.loads) {
      for (const Access& access : dispatch.reach.accesses) {
        if (access.instruction != load || access.kind == Access::Kind::kCall) continue;
        const FaultArgument* argument = ArgumentOf(dispatch, access);
        if (argument != nullptr) front->wait.argument = argument->index;
        if (!access.bounded || access.last - access.first > 4096)
          return argument != nullptr ? "memory that " + argument->name + " leads to" : "memory";
        uint64_t value = 0;
        std::string now;
        if (access.bytes <= sizeof value &&
            record_.saved.Read(access.first, &value, std::max(access.bytes, 1u))) {
          front->wait.value =
              access.bytes == 4 ? static_cast<int32_t>(value) : static_cast<int64_t>(value);
          now = fmt::format(", which is {} now", *front->wait.value);
        }
        AddWriters(access.first, argument != nullptr ? argument->value : access.first, front);
        return fmt::format("the memory at {:#x}{}{}", access.first,
                           argument != nullptr ? fmt::format(" ({})", argument->name) : "", now);
      }
    }
    return "memory";
  }

  void JudgeStreamWait(Front* front) const {
    const FaultDispatch& dispatch = *front->dispatch;
    front->wait.waits_for = "stream_value";
    front->wait.hangs = true;
    uint64_t address = 0;
    for (const FaultArgument& argument : dispatch.arguments)
      if (argument.pointer && argument.index >= 0 && argument.value != 0 && address == 0)
        address = argument.value;
    std::string numbers;
    for (const FaultArgument& number : dispatch.numbers)
      if (numbers.empty()) numbers = fmt::format(" (value {})", number.value);
    front->wait.text = fmt::format(
        "hipStreamWaitValue on queue {} has waited for {}: the memory at {:#x} does not become "
        "what it waits for{}",
        front->queue->index, Seconds(front->wait.seconds), address, numbers);
    AddWriters(address, address, front);
  }

  void JudgeKernel(Front* front) const {
    const FaultDispatch& dispatch = *front->dispatch;
    FaultWait& wait = front->wait;
    if (dispatch.kernel.find(kStreamWait) != std::string::npos) return JudgeStreamWait(front);
    const std::string start =
        fmt::format("{} on queue {} has been in flight for {}", dispatch.readable,
                    front->queue->index, Seconds(wait.seconds));
    front->evidence.push_back("in flight: " + Sentence(dispatch));
    if (dispatch.code.empty()) {
      wait.waits_for = "unknown";
      wait.text = fmt::format("{}: its code is not known ({})", start, dispatch.no_code);
      return;
    }
    const std::vector<Loop> loops = FindLoops(dispatch.code);
    const auto is = [&](Loop::End end) {
      return std::find_if(loops.begin(), loops.end(),
                          [&](const Loop& loop) { return loop.end == end; });
    };
    auto loop = is(Loop::End::kNever);
    if (loop == loops.end()) loop = is(Loop::End::kMemory);
    if (loop == loops.end()) {
      wait.waits_for = "nothing";
      wait.text = fmt::format("{}: {}", start,
                              loops.empty() ? "it has no loops, and may be slow"
                                            : "its loops compute, and nothing shows that they do "
                                              "not end");
      return;
    }
    wait.hangs = true;
    front->instruction = loop->loads.empty() ? loop->first : loop->loads.front();
    // Without the program counter, another loop may be the one that it is in.
    front->sure = std::all_of(loops.begin(), loops.end(), [&](const Loop& other) {
      return other.end == loop->end || (other.first <= loop->first && other.last >= loop->last);
    });
    if (loop->end == Loop::End::kNever) {
      wait.waits_for = "endless_loop";
      wait.text = start + ": it is in a loop that has no way out";
    } else {
      wait.waits_for = "memory";
      wait.text = fmt::format("{}: it waits in a loop until somebody changes {}", start,
                              JudgeMemory(*loop, front));
      if (front->needs.empty() && !front->fed)
        front->evidence.push_back(
            "no kernel that is queued would write it: the host has to, or a kernel that runs");
    }
    front->evidence.push_back(
        "the driver shows no program counters here: the loop is read from the kernel's code");
  }

  // --- all of them

  const Front* FrontOf(const FaultQueue* queue) const {
    for (const Front& front : fronts_)
      if (front.queue == queue) return &front;
    return nullptr;
  }

  // What it waits for is after something that, by and by, waits for it.
  bool LeadsBack(const Front& start) const {
    std::set<const FaultQueue*> seen;
    std::vector<const FaultQueue*> todo(start.needs.begin(), start.needs.end());
    while (!todo.empty()) {
      const FaultQueue* queue = todo.back();
      todo.pop_back();
      if (queue == start.queue) return true;
      const Front* front = seen.insert(queue).second ? FrontOf(queue) : nullptr;
      if (front != nullptr) todo.insert(todo.end(), front->needs.begin(), front->needs.end());
    }
    return false;
  }

  FaultExplanation Conclude() const {
    FaultExplanation explanation;
    explanation.sure = true;
    if (fronts_.empty()) {
      explanation.cause = "none";
      explanation.headline = "nothing has been in flight for longer than a second";
      return explanation;
    }
    const Front& first = fronts_.front();
    const auto hanging = static_cast<size_t>(
        std::count_if(fronts_.begin(), fronts_.end(), [](const Front& f) { return f.wait.hangs; }));
    explanation.cause = hanging != 0 ? "hang" : "slow";
    explanation.sure = first.sure;
    explanation.kernel = first.wait.kernel;
    explanation.argument = first.wait.argument;
    explanation.headline = first.wait.text;
    if (first.wait.deadlock) explanation.headline = Deadlock();
    NameGpu(record_, first.queue->agent, &explanation);
    for (const Front& front : fronts_) {
      explanation.waiting.push_back(front.wait);
      if (&front != &first || first.wait.deadlock) explanation.evidence.push_back(front.wait.text);
      for (const std::string& line : front.evidence)
        if (std::count(explanation.evidence.begin(), explanation.evidence.end(), line) == 0)
          explanation.evidence.push_back(line);
      if (front.wait.hangs && front.dispatch != nullptr)
        explanation.suspects.push_back(SuspectOf(
            {front.queue, front.dispatch}, 1 / static_cast<double>(hanging), front.wait.text));
    }
    explanation.kernel_sure = explanation.suspects.size() == 1 && hanging == 1;
    if (first.instruction) explanation.place = PlaceOf(*first.dispatch, *first.instruction);
    Advise(first, &explanation);
    return explanation;
  }

  std::string Deadlock() const {
    std::set<uint32_t> queues;
    for (const Front& front : fronts_)
      if (front.wait.deadlock) queues.insert(front.queue->index);
    if (queues.size() == 1)
      return fmt::format("queue {} waits for what follows in it, and will not go on",
                         *queues.begin());
    return fmt::format("queues {} wait for each other, and none of them will go on",
                       fmt::join(queues, " and "));
  }

  // What is often wrong with such a loop.
  static std::string HowToWait(const Front& front) {
    if (front.dispatch == nullptr || !front.instruction) return {};
    const FaultDispatch& dispatch = *front.dispatch;
    if (dispatch.code[*front.instruction].text.find("atomic") != std::string::npos)
      return " If it is a lock: lanes of one wave that wait for a lock which another lane of the "
             "wave holds keep that lane from going on. Let the lane that gets it do its work and "
             "release it in the same round of the loop.";
    if (dispatch.grid == dispatch.workgroup) return {};
    return " A workgroup that waits for another one needs both on the GPU at the same time: launch "
           "such kernels with hipLaunchCooperativeKernel.";
  }

  static void Advise(const Front& first, FaultExplanation* explanation) {
    const std::string& what = first.wait.waits_for;
    if (first.wait.deadlock)
      explanation->advice.push_back(
          "Submit what others wait for before what waits, or put both on one stream in that "
          "order.");
    else if (what == "endless_loop")
      explanation->advice.push_back("Look at the loop's condition in the source.");
    else if (what == "memory")
      explanation->advice.push_back("Look who was to write this memory." + HowToWait(first));
    else if (what == "stream_value")
      explanation->advice.push_back("Look who was to write this memory.");
    else if (what == "signal")
      explanation->advice.push_back(
          "Look which event or host function this stream waits for, and whether it can still end.");
    else if (what == "nothing" || what == "unknown")
      explanation->advice.push_back("Ask again later, or wait for it.");
  }

  const FaultRecord& record_;
  std::vector<Front> fronts_;
};

}  // namespace

FaultExplanation ExplainHang(const FaultRecord& record) { return HangJudge(record).Judge(); }

void LookAgain(const FaultExplanation& before, FaultExplanation* now) {
  if (now->cause != "hang") return;
  for (FaultWait& wait : now->waiting) {
    for (const FaultWait& earlier : before.waiting) {
      if (!wait.hangs || wait.queue != earlier.queue || wait.kernel != earlier.kernel ||
          !wait.value || !earlier.value || wait.value == earlier.value)
        continue;
      wait.hangs = false;
      const std::string text =
          fmt::format("{}. That is no hang: it was {} a moment ago and is {} now", wait.text,
                      *earlier.value, *wait.value);
      if (now->headline == wait.text || now->waiting.size() == 1) now->headline = text;
      wait.text = text;
      std::erase_if(now->suspects,
                    [&](const FaultSuspect& suspect) { return suspect.queue == wait.queue; });
    }
  }
  const bool hangs = std::any_of(now->waiting.begin(), now->waiting.end(),
                                 [](const FaultWait& wait) { return wait.hangs; });
  if (hangs) return;
  now->cause = "slow";
  now->advice = {"Ask again later, or wait for it."};
}

}  // namespace rochound::doctor
