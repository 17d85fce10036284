// SPDX-License-Identifier: MIT
//
// Queues that failed (aperture violations, illegal instructions, traps), and kernels that do not
// end. The queue is known here, so a suspect is in doubt only where the queue ran several kernels.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "doctor/fault/judge.h"
#include "doctor/fault/known_issues.h"
#include "doctor/hardware.h"

namespace rochound::doctor {
namespace {

// The kernels of the queue that failed and may have started; of all queues if none says so.
std::vector<InFlight> Started(const FaultRecord& record) {
  std::vector<InFlight> found;
  for (const bool any : {false, true}) {
    for (const FaultQueue& queue : record.queues)
      if (queue.failed || any)
        for (const FaultDispatch& dispatch : queue.under_way)
          if (dispatch.started) found.push_back({&queue, &dispatch});
    if (!found.empty()) break;
  }
  return found;
}

// Which kinds of instructions a kernel has.
struct CodeFacts {
  bool lds = false;
  bool scratch = false;
  bool flat = false;
  bool calls = false;
  bool trap = false;
  bool illegal = false;
  size_t first_trap = 0, first_illegal = 0;
};

CodeFacts LookAtCode(const FaultDispatch& dispatch) {
  CodeFacts facts;
  for (size_t i = 0; i < dispatch.code.size(); ++i) {
    const std::string_view text = dispatch.code[i].text;
    facts.lds |= text.starts_with("ds_") && !text.starts_with("ds_bpermute") &&
                 !text.starts_with("ds_permute") && !text.starts_with("ds_swizzle");
    facts.scratch |= text.starts_with("scratch_") || text.starts_with("buffer_load_dword") ||
                     text.starts_with("buffer_store_dword");
    facts.flat |= text.starts_with("flat_load") || text.starts_with("flat_store") ||
                  text.starts_with("flat_atomic");
    facts.calls |= text.starts_with("s_swappc") || text.starts_with("s_setpc");
    if (!facts.trap && text.starts_with("s_trap")) {
      facts.trap = true;
      facts.first_trap = i;
    }
    // Behind the end there is padding.
    if (!facts.illegal && text.starts_with(".long") && text.find("0xbf9f0000") == text.npos) {
      facts.illegal = true;
      facts.first_illegal = i;
    }
  }
  return facts;
}

const std::string* Variable(const FaultRecord& record, const char* name) {
  const auto found = record.environment.find(name);
  return found != record.environment.end() && !found->second.empty() ? &found->second : nullptr;
}

// gfx1030 for HSA_OVERRIDE_GFX_VERSION=10.3.0; empty: not set, or not understood.
std::string OverrideTarget(const FaultRecord& record) {
  const std::string* version = Variable(record, "HSA_OVERRIDE_GFX_VERSION");
  unsigned major = 0, minor = 0, step = 0;
  if (version == nullptr || sscanf(version->c_str(), "%u.%u.%u", &major, &minor, &step) != 3)
    return {};
  return fmt::format("gfx{}{:x}{:x}", major, minor, step);
}

// The same instructions: equal, or one stands for the other in the table of known targets.
bool SameInstructions(const std::string& one, const std::string& other) {
  if (one == other) return true;
  const auto family = [](const std::string& target) -> std::string {
    const KnownTarget* known = FindKnownTarget(target);
    return known != nullptr && *known->nearest != '\0' ? known->nearest : target;
  };
  return family(one) == family(other);
}

std::string AgentTarget(const FaultRecord& record, int agent) {
  const auto index = static_cast<size_t>(agent);
  if (agent < 0 || index >= record.agents.size()) return {};
  if (!record.agents[index].real_target.empty()) return record.agents[index].real_target;
  // As the runtime says, which is not true under an override.
  const std::string& isa = record.agents[index].isa;
  const size_t dashes = isa.rfind("--");
  return dashes == std::string::npos ? "" : isa.substr(dashes + 2, isa.find(':') - dashes - 2);
}

void ExplainAperture(const FaultRecord& record, const InFlight* first, const std::string& who,
                     const std::string& target, FaultExplanation* explanation) {
  explanation->cause = "aperture";
  const CodeFacts code = first != nullptr ? LookAtCode(*first->dispatch) : CodeFacts{};
  const bool known = first != nullptr && !first->dispatch->code.empty();
  const bool local = !known || code.lds || code.flat;
  const bool scratch = !known || code.scratch || code.flat || first->dispatch->dynamic_stack ||
                       first->dispatch->private_bytes != 0;
  if (known && !local && !scratch) {
    explanation->headline = fmt::format(
        "{} used an address of no aperture (memory aperture violation); it has neither LDS nor "
        "scratch memory, so a pointer was damaged or is not canonical",
        who);
    explanation->advice.push_back(
        "Look at the pointers among its arguments and in memory; upper bits that are set by "
        "mistake, such as a 32-bit value in a pointer, give such addresses.");
  } else {
    explanation->headline = fmt::format("{} went outside its {} (memory aperture violation)", who,
                                        local && scratch ? "LDS or its scratch memory"
                                        : local          ? "LDS"
                                                         : "scratch memory");
    explanation->advice.push_back(
        "Check indices into __shared__ and local arrays, the dynamic LDS size given at launch, "
        "and the depth of recursion (hipDeviceSetLimit with hipLimitStackSize).");
  }
  if (first != nullptr) {
    const FaultDispatch& dispatch = *first->dispatch;
    explanation->evidence.push_back(fmt::format(
        "it has {} bytes of LDS per workgroup ({} of them static) and {} bytes of scratch per "
        "work-item{}",
        dispatch.group_bytes, dispatch.fixed_group_bytes, dispatch.private_bytes,
        dispatch.dynamic_stack ? ", with a stack that grows as it runs" : ""));
    if (known)
      explanation->evidence.push_back(
          fmt::format("its code {} LDS instructions, {} scratch instructions, {} flat ones{}",
                      code.lds ? "has" : "has no", code.scratch ? "has" : "no",
                      code.flat ? "has" : "no", code.calls ? ", and calls functions" : ""));
  }
  if (const std::string replaced = OverrideTarget(record);
      !replaced.empty() && !target.empty() && !SameInstructions(replaced, target)) {
    explanation->evidence.push_back(
        fmt::format("HSA_OVERRIDE_GFX_VERSION makes this {} run code for {}, which differs: LDS "
                    "and scratch are addressed in another way",
                    target, replaced));
    explanation->advice.push_back("Unset HSA_OVERRIDE_GFX_VERSION and compile for this GPU.");
    explanation->sure = false;
  }
  for (const char* name : {"HSA_XNACK", "HSA_FORCE_FINE_GRAIN_PCIE"})
    if (const std::string* value = Variable(record, name))
      explanation->evidence.push_back(fmt::format("{}={} was set", name, *value));
  for (const KnownIssue& issue : FindKnownIssues(target, "aperture", who)) {
    explanation->evidence.push_back(
        fmt::format("known with {}: {} ({})", issue.targets, issue.what, issue.source));
    explanation->advice.push_back(issue.advice);
  }
}

}  // namespace

FaultExplanation ExplainQueueError(const FaultRecord& record) {
  FaultExplanation explanation;
  const std::vector<InFlight> suspects = Started(record);
  const InFlight* const first = suspects.empty() ? nullptr : &suspects.front();
  const std::string who =
      first != nullptr ? first->dispatch->readable : "a kernel that was not recorded";
  int agent = -1;
  for (const FaultQueue& queue : record.queues)
    if (queue.failed) agent = queue.agent;
  NameGpu(record, agent, &explanation);
  if (first != nullptr) {
    explanation.kernel = first->dispatch->kernel;
    explanation.evidence.push_back("in flight: " + Sentence(*first->dispatch));
    if (!first->dispatch->target.empty())
      explanation.evidence.push_back("its code is for " + first->dispatch->target);
  }
  for (const InFlight& one : suspects)
    explanation.suspects.push_back(SuspectOf(one, 1.0 / static_cast<double>(suspects.size()),
                                             "it was in flight on the queue that failed"));
  explanation.evidence.insert(explanation.evidence.begin(), "the queue's error: " + record.status);
  explanation.kernel_sure = suspects.size() == 1;
  explanation.sure = explanation.kernel_sure;
  const auto has = [&](const char* text) { return record.status.find(text) != std::string::npos; };
  const std::string target = AgentTarget(record, agent);
  const std::string replaced = OverrideTarget(record);
  const std::string code_target = first != nullptr ? first->dispatch->target : "";
  const bool generic = code_target.find("generic") != std::string::npos;
  const bool wrong =
      !code_target.empty() && !target.empty() && !generic && !SameInstructions(code_target, target);
  const CodeFacts code = first != nullptr ? LookAtCode(*first->dispatch) : CodeFacts{};
  if ((has("ILLEGAL_INSTRUCTION") || has("INVALID_ISA")) &&
      (wrong ||
       (code_target.empty() && !replaced.empty() && !SameInstructions(replaced, target)))) {
    explanation.cause = "wrong_isa";
    explanation.headline = fmt::format("{} is code for {}, and this GPU is a {}", who,
                                       code_target.empty() ? replaced : code_target, target);
    if (!replaced.empty())
      explanation.evidence.push_back(
          fmt::format("HSA_OVERRIDE_GFX_VERSION={} makes the runtime believe in a GPU that is not "
                      "there",
                      *Variable(record, "HSA_OVERRIDE_GFX_VERSION")));
    explanation.advice.push_back(
        "Compile for this GPU (--offload-arch), and unset HSA_OVERRIDE_GFX_VERSION unless the "
        "two really have the same instructions. rochound doctor shows what the GPU is.");
  } else if (has("ILLEGAL_INSTRUCTION")) {
    explanation.cause = "illegal_instruction";
    explanation.headline = who + " executed an instruction that this GPU does not have";
    if (code.illegal) {
      explanation.evidence.push_back("its code has words that are no instructions");
      explanation.place = PlaceOf(*first->dispatch, code.first_illegal);
    }
    explanation.advice.push_back(
        "Inline assembly for another GPU, or code that was overwritten: a function pointer that "
        "leads nowhere has the same effect.");
  } else if (has("APERTURE")) {
    ExplainAperture(record, first, who, target, &explanation);
  } else if (has("EXCEPTION")) {
    explanation.cause = "trap";
    explanation.headline = who + " ended itself: a failed assert, abort or __builtin_trap";
    if (code.trap) explanation.place = PlaceOf(*first->dispatch, code.first_trap);
    explanation.advice.push_back(
        "A failed assert prints its condition on the program's output, if it could be flushed.");
  } else if (has("OUT_OF_RESOURCES")) {
    explanation.cause = "out_of_resources";
    explanation.headline = who + " needs more scratch memory, or another resource, than there is";
    explanation.advice.push_back("Less stack per work-item, or fewer of them at once.");
  } else {
    explanation.cause = "unknown";
    explanation.headline = "a queue failed while " + who + " was in flight";
  }
  return explanation;
}

FaultExplanation ExplainHang(const FaultRecord& record) {
  FaultExplanation explanation;
  explanation.cause = "hang";
  const std::vector<InFlight> suspects = Started(record);
  if (suspects.empty()) {
    explanation.headline = fmt::format(
        "nothing finished on the GPU for {} s, and no kernel was in flight: a copy, or a wait for "
        "a signal that nobody gives",
        record.seconds);
    return explanation;
  }
  const FaultDispatch& first = *suspects.front().dispatch;
  explanation.kernel = first.kernel;
  explanation.kernel_sure = explanation.sure = suspects.size() == 1;
  NameGpu(record, suspects.front().queue->agent, &explanation);
  explanation.headline =
      fmt::format("{} has not ended, and nothing has for {} s", first.readable, record.seconds);
  for (const InFlight& one : suspects) {
    explanation.evidence.push_back("in flight: " + Sentence(*one.dispatch));
    explanation.suspects.push_back(
        SuspectOf(one, 1.0 / static_cast<double>(suspects.size()), "it has started and not ended"));
  }
  bool barrier = false;
  bool loop = false;
  for (const codeobj::Instruction& instruction : first.code) {
    barrier |= instruction.text.starts_with("s_barrier");
    loop |= instruction.target && *instruction.target <= instruction.address;
  }
  if (!first.code.empty())
    explanation.evidence.push_back(fmt::format("its code {} loops and {} barriers",
                                               loop ? "has" : "has no", barrier ? "has" : "no"));
  explanation.advice.push_back(
      "A loop that does not end, a barrier that not all work-items reach, or a wait for other "
      "workgroups that do not fit on the GPU at the same time. A long kernel is none of these: "
      "ROCHOUND_HANG=120s waits longer.");
  return explanation;
}

}  // namespace rochound::doctor
