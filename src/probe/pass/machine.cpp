// SPDX-License-Identifier: MIT
#include "probe/pass/machine.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/RuntimeLibcallInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/CodeGen/MachineDominators.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineInstr.h>
#include <llvm/CodeGen/MachineLoopInfo.h>
#include <llvm/CodeGen/MachineMemOperand.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

namespace rochound::probe {
namespace {

using namespace llvm;  // NOLINT: nearly every name here is from there

using AccessList = ArrayRef<std::pair<Instruction*, Access>>;

constexpr unsigned kScratch = 5;
constexpr unsigned kNobody = ~0u;

// An access of the copy, followed through what the compiler does to it.
struct Followed {
  const Function* function = nullptr;
  StringRef action;
  WeakTrackingVH pointer;  // null: of a buffer
};

// What one instruction of the machine code accesses in one place.
struct Seen {
  unsigned access = kNobody;  // whose address its own is counted from
  bool by_location = false;  // the access is known by its line only, so that the start may be lower
  const MachineBasicBlock* block = nullptr;
  unsigned loops = 0;  // around it
  MachinePart part;
};

// The bytes of each lane by the name that LLVM gives an instruction; 0: not known.
uint64_t BytesByName(StringRef name) {
  for (const auto& [ending, bytes] :
       {std::pair("DWORDX16", 64), std::pair("DWORDX8", 32), std::pair("DWORDX4", 16),
        std::pair("DWORDX3", 12), std::pair("DWORDX2", 8), std::pair("DWORD", 4),
        std::pair("_B128", 16), std::pair("_B96", 12), std::pair("_B64", 8), std::pair("_B32", 4),
        std::pair("BYTE", 1), std::pair("SHORT", 2), std::pair("_B16", 2), std::pair("_U16", 2),
        std::pair("_I16", 2), std::pair("_B8", 1), std::pair("_U8", 1), std::pair("_I8", 1)})
    if (name.contains(ending)) return bytes;
  return 0;
}

// Without what tells how it is addressed or for which GPU; as the GPU's assembler knows it.
std::string Mnemonic(StringRef name, bool newer) {
  for (const char* const ending : {"_SADDR", "_IMM", "_SGPR", "_OFFEN", "_OFFSET", "_IDXEN",
                                   "_BOTHEN", "_ADDR64", "_RTN", "_VBUFFER", "_vi", "_gfx", "_ec"})
    if (const size_t at = name.find(ending); at != StringRef::npos && at != 0)
      name = name.substr(0, at);
  std::string text = name.lower();
  if (!newer) return text;
  // From gfx11 on widths are bits.
  constexpr std::pair<StringLiteral, StringLiteral> kNames[] = {
      {"_dwordx16", "_b512"},        {"_dwordx8", "_b256"},
      {"_dwordx4", "_b128"},         {"_dwordx3", "_b96"},
      {"_dwordx2", "_b64"},          {"_dword", "_b32"},
      {"load_ubyte", "load_u8"},     {"load_sbyte", "load_i8"},
      {"load_ushort", "load_u16"},   {"load_sshort", "load_i16"},
      {"store_byte", "store_b8"},    {"store_short", "store_b16"},
      {"ds_read2", "ds_load_2addr"}, {"ds_write2", "ds_store_2addr"},
      {"ds_read", "ds_load"},        {"ds_write", "ds_store"}};
  for (const auto& [old, now] : kNames)
    if (const size_t at = text.find(old.str()); at != std::string::npos)
      text.replace(at, old.size(), now.str());
  return text;
}

// Whether only the first lane comes here: the compiler has added up what all lanes want.
bool IsOneLanes(const BasicBlock* block) {
  const BasicBlock* const before = block != nullptr ? block->getSinglePredecessor() : nullptr;
  if (before == nullptr || before->getTerminator() == nullptr) return false;
  SmallVector<const Value*> left{before->getTerminator()};
  SmallPtrSet<const Value*, 16> seen;
  constexpr size_t kMost = 16;
  while (!left.empty() && seen.size() < kMost) {
    const Value* const value = left.pop_back_val();
    if (!seen.insert(value).second) continue;
    if (const auto* const call = dyn_cast<IntrinsicInst>(value))
      if (call->getIntrinsicID() == Intrinsic::amdgcn_mbcnt_lo ||
          call->getIntrinsicID() == Intrinsic::amdgcn_mbcnt_hi)
        return true;
    if (const auto* const user = dyn_cast<Instruction>(value))
      for (const Value* const operand : user->operands())
        if (isa<Instruction>(operand)) left.push_back(operand);
  }
  return false;
}

// The last pass of the code's generation: looks at what came out.
class Watcher : public MachineFunctionPass {
 public:
  Watcher(const std::vector<Followed>* accesses, const std::vector<SmallVector<unsigned, 2>>* lines,
          std::vector<Seen>* seen)
      : MachineFunctionPass(kId), accesses_(*accesses), lines_(*lines), seen_(*seen) {}

  StringRef getPassName() const override { return "rochound: accesses of the machine code"; }

  void getAnalysisUsage(AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction& function) override {
    const StringRef gpu = function.getFunction().getFnAttribute("target-cpu").getValueAsString();
    newer_ = gpu.starts_with("gfx11") || gpu.starts_with("gfx12");
    MachineDominatorTree dominators(function);
    MachineLoopInfo loops(dominators);
    const TargetInstrInfo& names = *function.getSubtarget().getInstrInfo();
    for (const MachineBasicBlock& block : function)
      for (const MachineInstr& instruction : block.instrs())
        if (!instruction.isBundle() && instruction.mayLoadOrStore())
          Look(instruction, names.getName(instruction.getOpcode()), loops.getLoopDepth(&block));
    return false;
  }

 private:
  void Look(const MachineInstr& instruction, StringRef name, unsigned loops) {
    const bool scalar = name.starts_with("S_LOAD_") || name.starts_with("S_BUFFER_LOAD_");
    const bool lds = name.starts_with("DS_");
    if (!scalar && !lds && !name.starts_with("GLOBAL_") && !name.starts_with("FLAT_") &&
        !name.starts_with("BUFFER_"))
      return;
    const char* const action = !instruction.mayStore()  ? "load"
                               : !instruction.mayLoad() ? "store"
                                                        : "atomic";
    Seen one;
    one.block = instruction.getParent();
    one.loops = loops;
    one.part.instruction = Mnemonic(name, newer_);
    one.part.scalar = scalar;
    one.part.one_lane = *action == 'a' && IsOneLanes(one.block->getBasicBlock());
    if (lds && (name.contains("READ2") || name.contains("WRITE2"))) {
      LookAtTwo(instruction, name, action, one);
      return;
    }
    for (const MachineMemOperand* const operand : instruction.memoperands()) {
      if (operand->getAddrSpace() == kScratch) continue;
      const uint64_t by_operand = operand->getSize().hasValue() ? operand->getSize().getValue() : 0;
      one.part.bytes = *action == 'a' ? by_operand : BytesByName(name);
      if (one.part.bytes == 0) one.part.bytes = by_operand;
      if (Match(instruction, *operand, action, &one)) seen_.push_back(one);
      break;  // others are of the same memory
    }
  }

  // Two places at once: of two accesses, or of one that is not aligned for more.
  void LookAtTwo(const MachineInstr& instruction, StringRef name, const char* action, Seen one) {
    SmallVector<int64_t, 4> numbers;
    for (const MachineOperand& operand : instruction.operands())
      if (operand.isImm()) numbers.push_back(operand.getImm());
    if (numbers.size() < 2) return;
    one.part.bytes = name.contains("B64") ? 8 : 4;
    const auto step = static_cast<int64_t>(one.part.bytes) * (name.contains("ST64") ? 64 : 1);
    const auto operands = instruction.memoperands();
    if (operands.size() >= 2) {
      for (const MachineMemOperand* const operand : operands.take_front(2))
        if (Match(instruction, *operand, action, &one)) seen_.push_back(one);
      return;
    }
    if (operands.empty() || !Match(instruction, *operands[0], action, &one)) return;
    const int64_t first = one.part.offset;
    for (const int64_t number : {numbers[0], numbers[1]}) {
      one.part.offset = first + (number - std::min(numbers[0], numbers[1])) * step;
      seen_.push_back(one);
    }
  }

  // Whose access it is, first by the pointer, which is the lowest one's where several were joined.
  bool Match(const MachineInstr& instruction, const MachineMemOperand& operand, StringRef action,
             Seen* one) {
    const Function* const function = &instruction.getMF()->getFunction();
    const DebugLoc& at = instruction.getDebugLoc();
    const unsigned line = at && at.getLine() < lines_.size() ? at.getLine() : 0;
    const auto on_line = [&](unsigned access) { return is_contained(lines_[line], access); };
    one->access = kNobody;
    one->by_location = false;
    if (const Value* const pointer = operand.getValue()) {
      for (unsigned i = 0; i < accesses_.size(); ++i) {
        const Followed& access = accesses_[i];
        if (access.function != function || access.action != action || access.pointer != pointer)
          continue;
        if (one->access == kNobody || on_line(i)) one->access = i;
      }
    }
    for (const unsigned i : lines_[line])
      if (one->access == kNobody && accesses_[i].action == action) {
        one->access = i;
        one->by_location = true;
      }
    if (one->access == kNobody) return false;
    // Offsets of buffers are not those of their descriptors' addresses.
    one->part.offset = accesses_[one->access].pointer == nullptr ? 0 : operand.getOffset();
    return true;
  }

  static char kId;
  const std::vector<Followed>& accesses_;
  const std::vector<SmallVector<unsigned, 2>>& lines_;  // 0: of none
  std::vector<Seen>& seen_;
  bool newer_ = false;
};

char Watcher::kId = 0;

CodeGenOptLevel CodeLevel(OptimizationLevel level) {
  if (level == OptimizationLevel::O0) return CodeGenOptLevel::None;
  if (level == OptimizationLevel::O1) return CodeGenOptLevel::Less;
  return level == OptimizationLevel::O3 ? CodeGenOptLevel::Aggressive : CodeGenOptLevel::Default;
}

std::unique_ptr<TargetMachine> MachineFor(const Module& module, const Function& function,
                                          OptimizationLevel level) {
  std::string error;
  const Target* const target = TargetRegistry::lookupTarget(module.getTargetTriple(), error);
  if (target == nullptr) return nullptr;
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      module.getTargetTriple(), function.getFnAttribute("target-cpu").getValueAsString(),
      function.getFnAttribute("target-features").getValueAsString(), TargetOptions(), Reloc::PIC_,
      std::nullopt, CodeLevel(level)));
}

// Generates code for the copy, and adds to `seen` what it accesses.
bool Generate(Module& copy, TargetMachine& machine, Watcher* watcher) {
  legacy::PassManager passes;
  passes.add(createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
  passes.add(new TargetLibraryInfoWrapperPass(TargetLibraryInfoImpl(copy.getTargetTriple())));
  passes.add(new RuntimeLibraryInfoWrapper(copy.getTargetTriple(), ExceptionHandling::None,
                                           FloatABI::Default, EABI::Default, "",
                                           VectorLibrary::NoLibrary));
  TargetPassConfig* const config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  passes.add(config);
  passes.add(new MachineModuleInfoWrapperPass(&machine));
  if (config->addISelPasses()) return false;
  config->addMachinePasses();
  config->setInitialized();
  passes.add(watcher);
  passes.run(copy);
  return true;
}

// What code generation makes of each access, by what came out of it.
class Matcher {
 public:
  Matcher(AccessList accesses, FunctionAnalysisManager& functions, std::vector<Seen> seen)
      : accesses_(accesses), functions_(functions), seen_(std::move(seen)) {}

  std::vector<MachineAccess> Run() {
    std::vector<MachineAccess> known(accesses_.size());
    std::vector<bool> has_own(accesses_.size());
    for (const Seen& one : seen_) has_own[one.access] = true;
    covered_.resize(accesses_.size());
    for (Seen& one : seen_) Join(&one, has_own, &known);
    // An access can be done by two instructions of its neighbours.
    for (unsigned i = 0; i < accesses_.size(); ++i)
      if (!has_own[i] && Covers(&covered_[i], accesses_[i].second.bytes)) known[i].known = true;
    for (unsigned i = 0; i < accesses_.size(); ++i)
      if (has_own[i]) Describe(i, &known[i]);
    return known;
  }

 private:
  // From one access's address to another's, if that is the same for all lanes and times.
  std::optional<int64_t> Distance(unsigned from, unsigned to) {
    const Access& one = accesses_[from].second;
    const Access& other = accesses_[to].second;
    if (one.pointer == nullptr || other.pointer == nullptr ||
        one.pointer->getType() != other.pointer->getType())
      return std::nullopt;
    auto& evolution =
        functions_.getResult<ScalarEvolutionAnalysis>(*accesses_[from].first->getFunction());
    const auto* const distance = dyn_cast<SCEVConstant>(
        evolution.getMinusSCEV(evolution.getSCEV(other.pointer), evolution.getSCEV(one.pointer)));
    if (distance == nullptr) return std::nullopt;
    return distance->getAPInt().getSExtValue();
  }

  // Accesses that have no instruction of their own, and whose bytes are among this one's.
  void Join(Seen* one, const std::vector<bool>& has_own, std::vector<MachineAccess>* known) {
    const auto& [instruction, access] = accesses_[one->access];
    const auto bytes = static_cast<int64_t>(one->part.bytes);
    SmallVector<std::pair<unsigned, int64_t>> others;
    int64_t lowest = one->by_location ? 0 : one->part.offset;
    for (unsigned i = 0; i < accesses_.size(); ++i) {
      const auto& [their_instruction, theirs] = accesses_[i];
      if (has_own[i] || their_instruction->getParent() != instruction->getParent() ||
          StringRef(theirs.action) != access.action)
        continue;
      const auto distance = Distance(one->access, i);
      if (!distance || *distance <= -bytes || *distance >= one->part.offset + bytes) continue;
      others.push_back({i, *distance});
      if (one->by_location) lowest = std::min(lowest, *distance);
    }
    // Of those that the line alone tells, the first is mostly the lowest; otherwise, as low as can
    // be.
    const auto covers = [&](int64_t start) {
      int64_t sum = static_cast<int64_t>(access.bytes);
      for (const auto& [i, distance] : others)
        if (!(*known)[i].known && distance >= start && distance < start + bytes)
          sum += static_cast<int64_t>(accesses_[i].second.bytes);
      return sum >= bytes;
    };
    if (one->by_location && lowest < 0 && !covers(0)) one->part.offset = lowest;
    for (const auto& [i, distance] : others) {
      const int64_t start = one->part.offset - distance;
      covered_[i].push_back({start, start + bytes});
      if (start <= 0 && start + bytes >= static_cast<int64_t>(accesses_[i].second.bytes))
        (*known)[i].known = true;
    }
  }

  // Whether these ranges leave no byte of an access out.
  static bool Covers(SmallVectorImpl<std::pair<int64_t, int64_t>>* ranges, uint64_t bytes) {
    llvm::sort(*ranges);
    int64_t end = 0;
    for (const auto& [from, to] : *ranges)
      if (from <= end) end = std::max(end, to);
    return end >= static_cast<int64_t>(bytes);
  }

  void Describe(unsigned access, MachineAccess* known) {
    const auto& [instruction, facts] = accesses_[access];
    const unsigned loops = functions_.getResult<LoopAnalysis>(*instruction->getFunction())
                               .getLoopDepth(instruction->getParent());
    // Blocks that were made twice have it twice, and execute one of them.
    std::map<const MachineBasicBlock*, std::vector<MachinePart>> blocks;
    bool moved = false, out_of_loop = false;
    for (const Seen& one : seen_) {
      if (one.access != access) continue;
      blocks[one.block].push_back(one.part);
      moved = moved || (one.loops != loops && one.loops != 0);
      out_of_loop = out_of_loop || one.loops < loops;
    }
    for (auto& [block, parts] : blocks)
      std::stable_sort(parts.begin(), parts.end(), [](const MachinePart& a, const MachinePart& b) {
        return a.offset < b.offset;
      });
    const std::vector<MachinePart>& parts = blocks.begin()->second;
    for (const auto& [block, others] : blocks)
      moved = moved || !std::equal(parts.begin(), parts.end(), others.begin(), others.end(),
                                   [](const MachinePart& a, const MachinePart& b) {
                                     return a.offset == b.offset && a.bytes == b.bytes &&
                                            a.scalar == b.scalar;
                                   });
    // What does not cover the access is not all that was made of it.
    SmallVector<std::pair<int64_t, int64_t>> covered;
    for (const MachinePart& part : parts)
      covered.push_back({part.offset, part.offset + static_cast<int64_t>(part.bytes)});
    if (moved || !Covers(&covered, facts.bytes)) return;
    known->known = true;
    known->parts = parts;
    for (MachinePart& part : known->parts) part.once = out_of_loop;
  }

  AccessList accesses_;
  FunctionAnalysisManager& functions_;
  std::vector<Seen> seen_;
  // Of accesses without an instruction of their own: the bytes that other instructions access, as
  // distances from its address.
  std::vector<SmallVector<std::pair<int64_t, int64_t>, 2>> covered_;
};

}  // namespace

std::vector<MachineAccess> FindMachineAccesses(Module& module, AccessList accesses,
                                               FunctionAnalysisManager& functions,
                                               OptimizationLevel level) {
  std::vector<MachineAccess> unknown(accesses.size());
  if (accesses.empty()) return unknown;
  const std::unique_ptr<TargetMachine> machine =
      MachineFor(module, *accesses[0].first->getFunction(), level);
  if (machine == nullptr) return unknown;

  // Lines of our own, one for each instruction: debug information changes no code, and goes where
  // instructions go.
  ValueToValueMapTy copies;
  const std::unique_ptr<Module> copy = CloneModule(module, copies);
  StripDebugInfo(*copy);
  DIBuilder lines(*copy);
  DIFile* const file = lines.createFile("accesses", "");
  lines.createCompileUnit(DISourceLanguageName(dwarf::DW_LANG_C), file, "", false, "", 0);
  std::vector<Followed> followed;
  std::vector<SmallVector<unsigned, 2>> by_line(1);
  std::map<const Instruction*, unsigned> line_of;
  for (const auto& [original, access] : accesses) {
    auto* const instruction = cast<Instruction>(copies[original]);
    Function& function = *instruction->getFunction();
    if (function.getSubprogram() == nullptr)
      function.setSubprogram(
          lines.createFunction(file, function.getName(), function.getName(), file, 0,
                               lines.createSubroutineType(lines.getOrCreateTypeArray({})), 0,
                               DINode::FlagZero, DISubprogram::SPFlagDefinition));
    const auto [known, fresh] = line_of.try_emplace(instruction, by_line.size());
    if (fresh) {
      by_line.emplace_back();
      instruction->setDebugLoc(
          DILocation::get(copy->getContext(), known->second, 0, function.getSubprogram()));
    }
    by_line[known->second].push_back(static_cast<unsigned>(followed.size()));
    Value* const pointer = access.pointer;
    const auto mapped = pointer != nullptr ? copies.find(pointer) : copies.end();
    followed.push_back({&function, access.action,
                        mapped != copies.end() ? static_cast<Value*>(mapped->second) : nullptr});
  }
  lines.finalize();

  std::vector<Seen> seen;
  if (!Generate(*copy, *machine, new Watcher(&followed, &by_line, &seen))) return unknown;
  return Matcher(accesses, functions, std::move(seen)).Run();
}

}  // namespace rochound::probe
