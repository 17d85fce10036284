// SPDX-License-Identifier: MIT
//
// The instrumentation pass, a plugin for the clang that compiles HIP programs (-fpass-plugin). It
// changes functions in place: signatures, kernel arguments and names stay as they are, so that
// calls, recursion and function pointers need no care. The address of the ring of messages is in
// the module variable __rochound_probe, which the agent fills; a program that runs without it does
// what it always did. Called by the compiler, once per module; what fails leaves the module as it
// is, with a warning. Probes are before accesses to memory, or around basic blocks, never both: the
// messages of one would be in the times of the other.
//
// It runs last, where the accesses are those of the final code, or nearly. AMDGPUAttributor ran
// before it and wrote down which inputs each kernel does not need; what the probes need is taken
// back.
#include "probe/pass/pass.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Plugins/PassPlugin.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probe/layout.h"
#include "probe/pass/gpu.h"
#include "probe/pass/machine.h"
#include "probe/pass/sites.h"

// probe.bc, as the build made it of src/probe/device.
__asm__(
    ".section .rodata\n.globl kRochoundProbeBitcode\n.globl kRochoundProbeBitcodeEnd\n"
    ".hidden kRochoundProbeBitcode\n.hidden kRochoundProbeBitcodeEnd\n"
    "kRochoundProbeBitcode: .incbin \"" ROCHOUND_PROBE_BITCODE
    "\"\nkRochoundProbeBitcodeEnd:\n.previous\n");
extern "C" const char kRochoundProbeBitcode[];
extern "C" const char kRochoundProbeBitcodeEnd[];

namespace rochound::probe {
namespace {

using namespace llvm;  // NOLINT: nearly every name here is from there

constexpr const char* kControl = "__rochound_probe";
constexpr const char* kPrefix = "__rochound_";

// Inputs of a wave that the device functions read.
constexpr const char* kNeeded[] = {"amdgpu-no-dispatch-id",    "amdgpu-no-dispatch-ptr",
                                   "amdgpu-no-workgroup-id-x", "amdgpu-no-workgroup-id-y",
                                   "amdgpu-no-workgroup-id-z", "amdgpu-no-workitem-id-x",
                                   "amdgpu-no-workitem-id-y",  "amdgpu-no-workitem-id-z"};

constexpr unsigned kFlat = 0, kGlobal = 1, kLds = 3, kConstant = 4, kBuffer = 8;

bool IsKernel(const Function& function) {
  return function.getCallingConv() == CallingConv::AMDGPU_KERNEL;
}

// The wave's own inputs and stack: no memory that anybody asks about.
bool IsOwn(const Value* pointer) {
  const Value* const object = getUnderlyingObject(pointer, /*MaxLookup=*/32);
  if (isa<AllocaInst>(object)) return true;
  if (const auto* const argument = dyn_cast<Argument>(object))
    return argument->getType()->getPointerAddressSpace() == kConstant &&
           IsKernel(*argument->getParent());
  if (const auto* const call = dyn_cast<IntrinsicInst>(object)) {
    switch (call->getIntrinsicID()) {
      case Intrinsic::amdgcn_kernarg_segment_ptr:
      case Intrinsic::amdgcn_implicitarg_ptr:
      case Intrinsic::amdgcn_dispatch_ptr:
      case Intrinsic::amdgcn_queue_ptr:
        return true;
      default:
        return false;
    }
  }
  return false;
}

// Where the descriptor is among the arguments of an instruction on a raw buffer; what follows
// are the lane's offset and the wave's. Nothing: it is none, or one whose addresses are made in
// another way (structured, swizzled, formatted, to LDS).
std::optional<std::pair<const char*, unsigned>> RawBufferOf(const IntrinsicInst& call) {
  StringRef name = call.getCalledFunction()->getName();
  if (!name.consume_front("llvm.amdgcn.raw.buffer.") &&
      !name.consume_front("llvm.amdgcn.raw.ptr.buffer."))
    return std::nullopt;
  const auto is = [&](StringRef what) {
    return name.starts_with(what) && !name.starts_with((what + "format").str()) &&
           !name.starts_with((what + "lds").str());
  };
  if (is("load.")) return std::pair("load", 0u);
  if (is("store.")) return std::pair("store", 1u);
  if (name.starts_with("atomic.cmpswap.")) return std::pair("atomic", 2u);
  if (name.starts_with("atomic.")) return std::pair("atomic", 1u);
  return std::nullopt;
}

// __builtin_annotation(x, "rochound: name"): the name. An annotation is no instruction in the end,
// so that a program without probes is as it would be without it.
std::optional<std::string> ValueName(const IntrinsicInst& call) {
  StringRef text;
  if (call.getIntrinsicID() != Intrinsic::annotation || !call.getType()->isIntegerTy() ||
      call.getType()->getIntegerBitWidth() > 64 ||
      !getConstantStringInfo(call.getArgOperand(1), text) || !text.consume_front("rochound:"))
    return std::nullopt;
  return text.trim().str();
}

// What an instruction accesses; a copy has two. A barrier counts as one, and so does a value that
// the source wants to be told.
SmallVector<Access, 2> AccessesOf(Instruction& instruction, const DataLayout& layout) {
  SmallVector<Access, 2> found;
  const auto add = [&](const char* action, Value* pointer, uint64_t bytes) {
    const unsigned space = pointer->getType()->getPointerAddressSpace();
    if (space != kFlat && space != kGlobal && space != kLds && space != kConstant) return;
    if (bytes != 0 && !IsOwn(pointer))
      found.push_back({action, space, bytes, pointer, nullptr, nullptr, nullptr});
  };
  const auto size = [&](Type* type) { return layout.getTypeStoreSize(type).getFixedValue(); };
  if (auto* const load = dyn_cast<LoadInst>(&instruction)) {
    add("load", load->getPointerOperand(), size(load->getType()));
  } else if (auto* const store = dyn_cast<StoreInst>(&instruction)) {
    add("store", store->getPointerOperand(), size(store->getValueOperand()->getType()));
  } else if (auto* const update = dyn_cast<AtomicRMWInst>(&instruction)) {
    add("atomic", update->getPointerOperand(), size(update->getType()));
  } else if (auto* const exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
    add("atomic", exchange->getPointerOperand(), size(exchange->getNewValOperand()->getType()));
  } else if (auto* const memory = dyn_cast<MemIntrinsic>(&instruction)) {
    const auto* const length = dyn_cast<ConstantInt>(memory->getLength());
    if (length == nullptr) return found;
    if (auto* const copy = dyn_cast<MemTransferInst>(memory))
      add("load", copy->getRawSource(), length->getZExtValue());
    add("store", memory->getRawDest(), length->getZExtValue());
  } else if (auto* const call = dyn_cast<IntrinsicInst>(&instruction)) {
    // A message without an address tells where the accesses before and after it are apart.
    if (call->getIntrinsicID() == Intrinsic::amdgcn_s_barrier ||
        call->getIntrinsicID() == Intrinsic::amdgcn_s_barrier_wait)
      found.push_back({"barrier", kGlobal, 0,
                       ConstantPointerNull::get(PointerType::get(call->getContext(), kGlobal)),
                       nullptr, nullptr, nullptr});
    if (const auto name = ValueName(*call))
      found.push_back({"value", kGlobal, size(call->getType()), nullptr, nullptr, nullptr, nullptr,
                       call->getArgOperand(0), *name});
    if (const auto raw = RawBufferOf(*call)) {
      const auto [action, at] = *raw;
      Type* const type = at == 0 ? call->getType() : call->getArgOperand(0)->getType();
      found.push_back({action, kBuffer, size(type), nullptr, call->getArgOperand(at),
                       call->getArgOperand(at + 1), call->getArgOperand(at + 2)});
    }
  }
  return found;
}

// Why an instruction that may access memory has no probe; null: it accesses none, or has one.
const char* WhyUnprobed(const Instruction& instruction) {
  const auto* const call = dyn_cast<CallBase>(&instruction);
  if (call == nullptr) return nullptr;
  if (const auto* const text = dyn_cast<InlineAsm>(call->getCalledOperand()))
    return text->getAsmString().empty() || !call->mayReadOrWriteMemory() ? nullptr
                                                                         : "inline assembly";
  if (const auto* const memory = dyn_cast<MemIntrinsic>(call))
    return isa<ConstantInt>(memory->getLength()) ? nullptr
                                                 : "a copy or fill whose length is not constant";
  const auto* const intrinsic = dyn_cast<IntrinsicInst>(call);
  if (intrinsic == nullptr || RawBufferOf(*intrinsic)) return nullptr;
  const StringRef name = intrinsic->getCalledFunction()->getName();
  for (const char* const start :
       {"llvm.amdgcn.raw.", "llvm.amdgcn.struct.", "llvm.amdgcn.s.buffer", "llvm.amdgcn.image.",
        "llvm.amdgcn.ds.", "llvm.amdgcn.global.", "llvm.amdgcn.flat.", "llvm.amdgcn.load.to.lds"})
    if (name.starts_with(start) && intrinsic->mayReadOrWriteMemory())
      return "an instruction of the GPU by its own name";
  return nullptr;
}

class Instrumenter {
 public:
  Instrumenter(Module& module, FunctionAnalysisManager& functions, Probes probes,
               OptimizationLevel level)
      : module_(module), functions_(functions), probes_(probes), level_(level) {}

  bool Run() {
    for (Function& function : module_)
      if (!function.isDeclaration() && !function.getName().starts_with(kPrefix)) Collect(function);
    if (work_.empty()) return false;
    FindMachineCode();
    if (!LinkDeviceFunctions()) return false;
    MakeControls();
    for (Work& work : work_) Instrument(work);
    MakeSites();
    for (CallInst* const call : calls_) {
      InlineFunctionInfo info;
      if (!InlineFunction(*call, info).isSuccess())
        errs() << "rochound probe: a probe was not inlined\n";
    }
    for (Function* const function :
         {wanted_, wave_, access_, access_carefully_, block_, block_carefully_})
      function->eraseFromParent();
    WriteGpuInstructions(module_);
    for (const Work& work : work_)
      if (!work.function->hasOptNone()) SimplifyCFGPass().run(*work.function, functions_);
    LoosenPromises();
    return true;
  }

 private:
  struct Work {
    Function* function;
    SmallVector<std::pair<Instruction*, Access>> accesses;
    std::vector<MachineAccess> machine;  // of each access
  };

  // While the module is as it was.
  void FindMachineCode() {
    std::vector<std::pair<Instruction*, Access>> all;
    for (const Work& work : work_)
      all.insert(all.end(), work.accesses.begin(), work.accesses.end());
    const std::vector<MachineAccess> found = FindMachineAccesses(module_, all, functions_, level_);
    auto next = found.begin();
    for (Work& work : work_) {
      work.machine.assign(next, next + static_cast<ptrdiff_t>(work.accesses.size()));
      next += static_cast<ptrdiff_t>(work.accesses.size());
    }
  }

  void Collect(Function& function) {
    if (!HasKnownGpu(function)) {
      errs() << "rochound probe: no probes for "
             << function.getFnAttribute("target-cpu").getValueAsString() << "\n";
      return;
    }
    Work work{&function, {}, {}};
    if (probes_ == Probes::kBlocks) {
      work_.push_back(std::move(work));
      return;
    }
    for (Instruction& instruction : instructions(function)) {
      for (const Access& access : AccessesOf(instruction, module_.getDataLayout()))
        work.accesses.push_back({&instruction, access});
      if (const char* const why = WhyUnprobed(instruction)) sites_.AddUnprobed(instruction, why);
    }
    if (!work.accesses.empty()) work_.push_back(std::move(work));
  }

  bool LinkDeviceFunctions() {
    const StringRef bytes(kRochoundProbeBitcode, kRochoundProbeBitcodeEnd - kRochoundProbeBitcode);
    auto parsed = parseBitcodeFile(MemoryBufferRef(bytes, "rochound probe"), module_.getContext());
    if (!parsed) {
      errs() << "rochound probe: " << toString(parsed.takeError()) << "\n";
      return false;
    }
    (*parsed)->setDataLayout(module_.getDataLayout());
    (*parsed)->setTargetTriple(module_.getTargetTriple());
    if (Linker::linkModules(module_, std::move(*parsed))) {
      errs() << "rochound probe: the probes cannot be linked into this module\n";
      return false;
    }
    wanted_ = module_.getFunction("__rochound_probe_wanted");
    wave_ = module_.getFunction("__rochound_probe_wave");
    access_ = module_.getFunction("__rochound_probe_access");
    access_carefully_ = module_.getFunction("__rochound_probe_access_carefully");
    block_ = module_.getFunction("__rochound_probe_block");
    block_carefully_ = module_.getFunction("__rochound_probe_block_carefully");
    return wanted_ != nullptr && wave_ != nullptr && access_ != nullptr &&
           access_carefully_ != nullptr && block_ != nullptr && block_carefully_ != nullptr;
  }

  // A kernel has a variable of its own, so that one load tells whether it was chosen.
  GlobalVariable* MakeControl(const std::string& name) {
    LLVMContext& context = module_.getContext();
    Type* const word = Type::getInt32Ty(context);
    constexpr size_t kWords = sizeof(RochoundProbeControl) / sizeof(rochound_u32);
    SmallVector<uint32_t, kWords> first(kWords, 0);
    first[offsetof(RochoundProbeControl, version) / sizeof(rochound_u32)] =
        kRochoundProbeRingVersion;
    auto* const value = ConstantDataArray::get(context, first);
    auto* const control = new GlobalVariable(
        module_, ArrayType::get(word, kWords), /*isConstant=*/false, GlobalValue::ExternalLinkage,
        value, name, nullptr, GlobalValue::NotThreadLocal, kGlobal,
        /*isExternallyInitialized=*/true);
    control->setVisibility(GlobalValue::ProtectedVisibility);
    control->setAlignment(Align(64));
    appendToUsed(module_, {control});
    return control;
  }

  void MakeControls() {
    LLVMContext& context = module_.getContext();
    control_ = MakeControl(kControl);
    // Files that are compiled apart and linked as bitcode (-fgpu-rdc) have it in common.
    control_->setLinkage(GlobalValue::WeakODRLinkage);
    // A place for the text, whose size is known at the end.
    sites_address_ = new GlobalVariable(
        module_, Type::getInt8Ty(context), true, GlobalValue::ExternalLinkage, nullptr,
        "__rochound_probe_sites_later", nullptr, GlobalValue::NotThreadLocal, kGlobal);
  }

  void MakeSites() {
    auto* const text =
        ConstantDataArray::getString(module_.getContext(), sites_.text(), /*AddNull=*/false);
    auto* const real = new GlobalVariable(
        module_, text->getType(), /*isConstant=*/true, GlobalValue::InternalLinkage, text,
        "__rochound_probe_sites", nullptr, GlobalValue::NotThreadLocal, kGlobal);
    sites_address_->replaceAllUsesWith(real);
    sites_address_->eraseFromParent();
  }

  // The function's body three times: as it was, which is executed when nobody wants to know, and
  // costs what it always did; with probes; and with probes that may leave out lanes or messages.
  void Instrument(Work& work) {
    Function& function = *work.function;
    BasicBlock& entry = function.getEntryBlock();
    BasicBlock* const plain = SplitBlock(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
    for (Instruction& instruction : make_early_inc_range(*plain))
      if (auto* const stack = dyn_cast<AllocaInst>(&instruction);
          stack != nullptr && isa<ConstantInt>(stack->getArraySize()))
        stack->moveBefore(entry.getTerminator()->getIterator());
    SmallVector<BasicBlock*> body;
    for (BasicBlock& block : drop_begin(function)) body.push_back(&block);
    ValueToValueMapTy simple, careful;
    Copy(body, simple);
    Copy(body, careful);

    GlobalVariable* const variable =
        IsKernel(function) ? MakeControl((kControl + Twine(".") + function.getName()).str())
                           : control_;
    IRBuilder<> builder(entry.getTerminator());
    builder.SetCurrentDebugLocation(DebugLoc());
    Value* const control =
        builder.CreateAddrSpaceCast(variable, PointerType::get(module_.getContext(), kConstant));
    CallInst* const wanted = builder.CreateCall(wanted_, {control});
    BasicBlock* const begin = BasicBlock::Create(module_.getContext(), "probed", &function);
    builder.CreateCondBr(builder.CreateICmpNE(wanted, builder.getInt32(0)), begin, plain);
    entry.getTerminator()->eraseFromParent();

    builder.SetInsertPoint(begin);
    CallInst* const wave = builder.CreateCall(
        wave_, {control, builder.CreatePtrToInt(sites_address_, builder.getInt64Ty()),
                builder.getInt32(sites_.AddFunction(function, probes_))});
    calls_.append({wanted, wave});
    const auto field = [&](Type* type, size_t offset) {
      return builder.CreateLoad(type,
                                builder.CreateConstGEP1_64(builder.getInt8Ty(), control, offset));
    };
    facts_ = {control, field(builder.getInt64Ty(), offsetof(RochoundProbeControl, words)),
              field(builder.getInt32Ty(), offsetof(RochoundProbeControl, mask)),
              field(builder.getInt32Ty(), offsetof(RochoundProbeControl, room)), wave};
    builder.CreateCondBr(builder.CreateICmpULE(wave, builder.getInt64(~uint32_t{0})),
                         cast<BasicBlock>(simple[plain]), cast<BasicBlock>(careful[plain]));
    for (size_t i = 0; i < work.accesses.size(); ++i) {
      const auto& [instruction, access] = work.accesses[i];
      const uint32_t site = sites_.AddAccess(*instruction, access, work.machine[i]);
      Probe(instruction, access, site, simple, access_);
      Probe(instruction, access, site, careful, access_carefully_);
    }
    if (probes_ != Probes::kBlocks) return;
    unsigned number = 0;
    for (BasicBlock* const block : body) {
      const uint32_t site = sites_.AddBlock(*block, number++);
      ProbeBlock(cast<BasicBlock>(simple[block]), site, block_);
      ProbeBlock(cast<BasicBlock>(careful[block]), site, block_carefully_);
    }
  }

  // A message at its end, with the clock at its beginning. A block that does not end is not told.
  void ProbeBlock(BasicBlock* block, uint32_t site, Function* probe) {
    Instruction* const end = block->getTerminator();
    if (isa<UnreachableInst>(end)) return;
    IRBuilder<> first(block, block->getFirstInsertionPt());
    Value* const began = first.CreateIntrinsic(Intrinsic::readcyclecounter, {});
    IRBuilder<> last(end);
    SmallVector<Value*> arguments(facts_.begin(), facts_.end());
    arguments.append({began, last.getInt64(ClockBits(*block->getParent())), OneWay(last, *end),
                      last.getInt32(site)});
    calls_.push_back(last.CreateCall(probe, arguments));
  }

  // The lanes that go to the first of two successors; of several, where the first lane goes.
  Value* OneWay(IRBuilder<>& builder, Instruction& end) {
    Value* goes = nullptr;
    if (auto* const branch = dyn_cast<BranchInst>(&end);
        branch != nullptr && branch->isConditional())
      goes = branch->getCondition();
    if (auto* const choice = dyn_cast<SwitchInst>(&end)) {
      Value* where = builder.getInt32(0);
      for (const auto& one : choice->cases())
        where = builder.CreateSelect(
            builder.CreateICmpEQ(choice->getCondition(), one.getCaseValue()),
            builder.getInt32(NumberOf(*choice, *one.getCaseSuccessor())), where);
      goes = builder.CreateICmpEQ(where, builder.CreateIntrinsic(Intrinsic::amdgcn_readfirstlane,
                                                                 {where->getType()}, {where}));
    }
    if (goes == nullptr) return builder.getInt64(0);
    Type* const mask = HasWave32(*end.getFunction()) ? builder.getInt32Ty() : builder.getInt64Ty();
    return builder.CreateZExt(builder.CreateIntrinsic(Intrinsic::amdgcn_ballot, {mask}, {goes}),
                              builder.getInt64Ty());
  }

  // Several cases may lead to the same block, also to the one that all others lead to: 0.
  static unsigned NumberOf(const SwitchInst& choice, const BasicBlock& successor) {
    for (unsigned i = 0; i < choice.getNumSuccessors(); ++i)
      if (choice.getSuccessor(i) == &successor) return i;
    return 0;
  }

  // In a copy of the body.
  void Probe(Instruction* original, Access access, uint32_t site, const ValueToValueMapTy& copies,
             Function* probe) {
    const auto copy_of = [&](Value* value) -> Value* {
      const auto found = copies.find(value);
      return value != nullptr && found != copies.end() ? static_cast<Value*>(found->second) : value;
    };
    auto* const instruction = cast<Instruction>(copy_of(original));
    for (Value** const value : {&access.pointer, &access.descriptor, &access.lane_offset,
                                &access.wave_offset, &access.value})
      *value = copy_of(*value);
    if (access.descriptor != nullptr) {
      ProbeBuffer(instruction, access, site, probe);
      return;
    }
    IRBuilder<> before(instruction);
    if (access.value != nullptr) {
      Call(before, probe, before.CreateZExt(access.value, before.getInt64Ty()), site);
      return;
    }
    Value* const address = before.CreatePtrToInt(
        access.pointer,
        before.getIntNTy(module_.getDataLayout().getPointerSizeInBits(access.address_space)));
    Call(before, probe, before.CreateZExt(address, before.getInt64Ty()), site);
  }

  void Call(IRBuilder<>& builder, Function* probe, Value* address, uint32_t site) {
    SmallVector<Value*> arguments(facts_.begin(), facts_.end());
    arguments.append({address, builder.getInt32(site)});
    calls_.push_back(builder.CreateCall(probe, arguments));
  }

  static void Copy(ArrayRef<BasicBlock*> blocks, ValueToValueMapTy& copies) {
    SmallVector<BasicBlock*> made;
    for (BasicBlock* const block : blocks) {
      made.push_back(CloneBasicBlock(block, copies, ".probed", block->getParent()));
      copies[block] = made.back();
    }
    for (BasicBlock* const block : made)
      for (Instruction& instruction : *block) {
        // Where variables are is told for the plain body.
        instruction.dropDbgRecords();
        RemapInstruction(&instruction, copies, RF_NoModuleLevelChanges | RF_IgnoreMissingLocals);
      }
  }

  // Lanes that the descriptor's range check drops access nothing, so they send nothing.
  void ProbeBuffer(Instruction* instruction, const Access& access, uint32_t site, Function* probe) {
    IRBuilder<> before(instruction);
    Type* const word = before.getInt64Ty();
    Value* descriptor = access.descriptor;
    if (descriptor->getType()->isPointerTy())
      descriptor = before.CreatePtrToInt(descriptor, before.getInt128Ty());
    else
      descriptor = before.CreateBitCast(descriptor, before.getInt128Ty());
    Value* const base = before.CreateAnd(before.CreateTrunc(descriptor, word), (1ull << 48) - 1);
    Value* const records = before.CreateAnd(
        before.CreateTrunc(before.CreateLShr(descriptor, 64), word), 0xffffffffull);
    Value* const offset = before.CreateAdd(before.CreateZExt(access.lane_offset, word),
                                           before.CreateZExt(access.wave_offset, word));
    // gfx9 counts the wave's offset, too; later ones do not.
    const StringRef target =
        instruction->getFunction()->getFnAttribute("target-cpu").getValueAsString();
    Value* const checked =
        target.starts_with("gfx9") ? offset : before.CreateZExt(access.lane_offset, word);
    Value* const inside =
        before.CreateICmpULE(before.CreateAdd(checked, before.getInt64(access.bytes)), records);
    Instruction* const then = SplitBlockAndInsertIfThen(inside, instruction->getIterator(), false);
    IRBuilder<> probing(then);
    probing.SetCurrentDebugLocation(instruction->getDebugLoc());
    Call(probing, probe, probing.CreateAdd(base, offset), site);
  }

  // What was found out about functions before they had probes is not true any more.
  void LoosenPromises() {
    SmallPtrSet<const Function*, 8> probed;
    bool calls = false;
    for (const Work& work : work_) {
      probed.insert(work.function);
      calls = calls || !IsKernel(*work.function);
    }
    for (Function& function : module_) {
      // Callers have to hand a callee its inputs, also those that do not know whom they call.
      if (!calls && !probed.contains(&function)) continue;
      if (function.isIntrinsic()) continue;
      for (const char* const needed : kNeeded) function.removeFnAttr(needed);
      for (const auto promise :
           {Attribute::Memory, Attribute::NoSync, Attribute::Speculatable, Attribute::WillReturn})
        function.removeFnAttr(promise);
      for (Instruction& instruction : instructions(function)) {
        auto* const call = dyn_cast<CallBase>(&instruction);
        if (call == nullptr || isa<IntrinsicInst>(call) || call->isInlineAsm()) continue;
        for (const auto promise : {Attribute::Memory, Attribute::NoSync, Attribute::WillReturn})
          call->removeFnAttr(promise);
      }
    }
  }

  Module& module_;
  FunctionAnalysisManager& functions_;
  const Probes probes_;
  const OptimizationLevel level_;
  Sites sites_;
  std::vector<Work> work_;
  Function* wanted_ = nullptr;
  Function* wave_ = nullptr;
  Function* access_ = nullptr;
  Function* access_carefully_ = nullptr;
  Function* block_ = nullptr;
  Function* block_carefully_ = nullptr;
  GlobalVariable* control_ = nullptr;
  GlobalVariable* sites_address_ = nullptr;
  std::array<Value*, 5> facts_{};  // of the function at hand, which its probes are told
  SmallVector<CallInst*> calls_;
};

class Pass : public PassInfoMixin<Pass> {
 public:
  Pass(Probes probes, OptimizationLevel level) : probes_(probes), level_(level) {}

  PreservedAnalyses run(Module& module, ModuleAnalysisManager& modules) {
    if (!module.getTargetTriple().isAMDGPU() || module.getNamedGlobal(kControl) != nullptr)
      return PreservedAnalyses::all();
    auto& functions = modules.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    return Instrumenter(module, functions, probes_, level_).Run() ? PreservedAnalyses::none()
                                                                  : PreservedAnalyses::all();
  }
  // Also at -O0, and in functions that are not to be optimised.
  static bool isRequired() { return true; }

 private:
  Probes probes_;
  OptimizationLevel level_;
};

}  // namespace

void RegisterPass(llvm::PassBuilder& builder, Probes probes) {
  builder.registerOptimizerLastEPCallback(
      [probes](ModulePassManager& passes, OptimizationLevel level, ThinOrFullLTOPhase phase) {
        // Code that is linked as bitcode (-fgpu-rdc) is instrumented when it is linked.
        if (phase == ThinOrFullLTOPhase::None) passes.addPass(Pass(probes, level));
      });
  builder.registerFullLinkTimeOptimizationLastEPCallback(
      [probes](ModulePassManager& passes, OptimizationLevel level) {
        passes.addPass(Pass(probes, level));
      });
  builder.registerPipelineParsingCallback(
      [probes](StringRef name, ModulePassManager& passes, ArrayRef<PassBuilder::PipelineElement>) {
        if (name != "rochound-probe") return false;
        passes.addPass(Pass(probes, OptimizationLevel::O2));
        return true;
      });
}

}  // namespace rochound::probe
