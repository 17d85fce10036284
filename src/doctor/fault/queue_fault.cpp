// SPDX-License-Identifier: MIT
//
// Queues that failed: aperture violations, illegal instructions, traps. The queue is known here, so
// a suspect is in doubt only where the queue ran several kernels.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "doctor/fault/judge.h"
#include "doctor/fault/known_issues.h"
#include "doctor/hardware.h"
#include "doctor/kernel_libraries.h"
#include "doctor/variables.h"

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
  std::vector<size_t> local;  // that touch LDS or scratch, or may
};

CodeFacts LookAtCode(const FaultDispatch& dispatch) {
  CodeFacts facts;
  for (size_t i = 0; i < dispatch.code.size(); ++i) {
    const std::string_view text = dispatch.code[i].text;
    const bool lds = text.starts_with("ds_") && !text.starts_with("ds_bpermute") &&
                     !text.starts_with("ds_permute") && !text.starts_with("ds_swizzle");
    const bool scratch = text.starts_with("scratch_") || text.starts_with("buffer_load_dword") ||
                         text.starts_with("buffer_store_dword");
    const bool flat = text.starts_with("flat_load") || text.starts_with("flat_store") ||
                      text.starts_with("flat_atomic");
    if (lds || scratch || flat) facts.local.push_back(i);
    facts.lds |= lds;
    facts.scratch |= scratch;
    facts.flat |= flat;
    facts.calls |= text.starts_with("s_swappc") || text.starts_with("s_setpc");
    if (!facts.trap && text.starts_with("s_trap")) {
      facts.trap = true;
      facts.first_trap = i;
    }
    // After the end there is padding.
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

std::string AgentTarget(const FaultRecord& record, int agent) {
  const auto index = static_cast<size_t>(agent);
  if (agent < 0 || index >= record.agents.size()) return {};
  if (!record.agents[index].real_target.empty()) return record.agents[index].real_target;
  // As the runtime says, which is not true under an override.
  const std::string& isa = record.agents[index].isa;
  const size_t dashes = isa.rfind("--");
  return dashes == std::string::npos ? "" : isa.substr(dashes + 2, isa.find(':') - dashes - 2);
}

// Libraries of this machine that have no kernels for the GPU: what they do instead may be what
// failed.
void AddMissingKernels(const FaultRecord& record, const std::string& target,
                       FaultExplanation* explanation) {
  const std::string pretended = OverriddenTarget(record.environment);
  const std::string& asked = pretended.empty() ? target : pretended;
  const std::vector<KernelLibrary> libraries =
      FindKernelLibraries(Sysroot("/"), record.environment);
  for (const KernelLibrary* library : LibrariesWithout(libraries, asked))
    explanation->evidence.push_back("on this machine, " + LacksTarget(*library, asked));
}

// An atomic of the kernel at an address that is no multiple of its size: the pointer among the
// arguments that it is made of. GPUs report that as an aperture violation.
bool ExplainMisaligned(const FaultDispatch& dispatch, const std::string& who,
                       FaultExplanation* explanation) {
  for (const Access& access : dispatch.reach.accesses) {
    const bool one =
        access.bounded && access.bytes != 0 && access.last - access.first < access.bytes;
    if (!one || access.first % access.bytes == 0 ||
        dispatch.code[access.instruction].text.find("atomic") == std::string::npos)
      continue;
    explanation->cause = "misaligned";
    explanation->headline = fmt::format(
        "{} has an atomic of {} bytes at {:#x}, which is no multiple of {} (memory "
        "aperture violation)",
        who, access.bytes, access.first, access.bytes);
    for (const FaultArgument& argument : dispatch.arguments)
      for (size_t i = 0; i < dispatch.reach.origins.size(); ++i)
        if ((access.origins >> i & 1) != 0 && argument.pointer && argument.index >= 0 &&
            dispatch.reach.origins[i].kind == Origin::Kind::kArgument &&
            dispatch.reach.origins[i].offset == argument.offset) {
          explanation->argument = argument.index;
          explanation->evidence.push_back(
              fmt::format("{} is {:#x}", argument.name, argument.value));
        }
    explanation->place = PlaceOf(dispatch, access.instruction);
    explanation->advice.push_back(
        "Align what atomics work on: look at offsets in bytes and at packed structures.");
    return true;
  }
  return false;
}

void ExplainAperture(const FaultRecord& record, const InFlight* first, const std::string& who,
                     const std::string& target, FaultExplanation* explanation) {
  explanation->cause = "aperture";
  const CodeFacts code = first != nullptr ? LookAtCode(*first->dispatch) : CodeFacts{};
  const bool known = first != nullptr && !first->dispatch->code.empty();
  const bool local = !known || code.lds || code.flat;
  const bool scratch = !known || code.scratch || code.flat || first->dispatch->dynamic_stack ||
                       first->dispatch->private_bytes != 0;
  if (known && ExplainMisaligned(*first->dispatch, who, explanation)) return;
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
    if (!code.local.empty()) explanation->place = PlaceOf(dispatch, code.local.front());
    if (code.local.size() > 1 || code.calls)
      explanation->evidence.push_back(
          fmt::format("the driver does not tell the program counter: {} of its instructions can "
                      "have done it{}, and the first is shown",
                      code.local.size(), code.calls ? ", or one of a function it calls" : ""));
  }
  if (const std::string replaced = OverriddenTarget(record.environment);
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
  for (const KnownIssue& issue :
       FindKnownIssues(target, RocmRelease(record.maps), "aperture", who)) {
    explanation->evidence.push_back(
        fmt::format("known with {}: {} ({})", issue.targets, issue.what, issue.source));
    // Where the code itself explains it, the program is to be mended.
    if (!known || (!local && !scratch)) explanation->advice.push_back(issue.advice);
  }
  AddMissingKernels(record, target, explanation);
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
  const std::string replaced = OverriddenTarget(record.environment);
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

}  // namespace rochound::doctor
