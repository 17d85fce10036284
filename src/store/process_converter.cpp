// SPDX-License-Identifier: MIT
#include "store/process_converter.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include "base/files.h"
#include "store/lines.h"
#include "store/newer_runtimes.h"

namespace rochound::store {
namespace {

constexpr uint64_t kCopyKey = 1ull << 63;  // told from dispatches, whose queue index is small
constexpr size_t kMostOpenCalls = 32;      // deeper than calls nest: the oldest was lost
constexpr size_t kMostUntimed = 1 << 20;   // far more than queues can hold
constexpr size_t kMostEarlyTimes = 1 << 19;
constexpr uint64_t kClockTolerance = 1'000'000'000;  // ns
constexpr uint32_t kMostThreads = 1 << 24;           // what a correlation has room for

constexpr std::string_view kFillBuffer = "FillBuffer";
constexpr uint32_t kUnknownAgents = uint32_t{trace::kNoAgent} << 16 | trace::kNoAgent;

int64_t Signed(uint64_t number) { return static_cast<int64_t>(number); }

uint64_t PacketOf(const trace::KernelDispatch& dispatch) {
  return trace::PacketOf(dispatch.dispatch);
}

// The packet waits for all before it in its queue.
bool WaitsForQueue(const trace::KernelDispatch& dispatch) {
  return (dispatch.head.small >> 8 & 1) != 0;
}

}  // namespace

// What a call caused, until it returns.
struct ProcessConverter::PendingCall {
  uint64_t correlation = 0;
  std::vector<uint32_t> waiting;  // in ops_
  int64_t gpu = -1;
  bool has_launch = false;  // of a kernel of the program: the first one
  bool has_copy = false;
  trace::KernelDispatch launch{};
  trace::Copy copy{};
};

// A dispatch or a copy, until its call has returned and its times are known.
struct ProcessConverter::PendingOp {
  union {
    trace::KernelDispatch dispatch;
    trace::Copy copy;
  };
  bool is_copy = false;
  bool copies = false;      // a dispatch of a runtime's kernel that copies: `moved` is what
  bool used = false;        // false: in the free list
  bool has_call = false;    // api is final
  bool has_time = false;    // begin, end and agent are final
  bool timed = false;       // and are the GPU's
  bool unfinished = false;  // under way when the process ended, where it ends here
  uint16_t agent = trace::kNoAgent;
  int64_t api = 0;
  uint64_t submit = 0, begin = 0, end = 0;
  uint64_t number = 0;           // counts dispatches and copies as they were seen
  uint64_t dispatch_number = 0;  // counts dispatches
  trace::Copy moved{};           // bytes 0: not known yet

  PendingOp() : dispatch{} {}
};

struct ProcessConverter::Thread {
  int64_t device = 0;              // HIP's current one, as far as was seen
  std::vector<PendingCall> calls;  // oldest first
  size_t calls_used = 0;           // of those; the rest is kept for its memory
  trace::Copy by_kernel{};         // what the dispatch that follows copies, if it is that one

  // The calls written last, for work that is told after its call.
  struct Written {
    uint64_t correlation = 0;
    int64_t api = 0;
  };
  std::array<Written, 256> written{};

  Written& Slot(uint64_t correlation) { return written[correlation % written.size()]; }
};

struct ProcessConverter::FunctionFacts {
  Function function;
  int64_t name, category, domain;  // strings
  CopyCall copy;
  bool sets_device;
  bool gives_status;  // zero: success
  bool hides_status;  // HIP reported the call without its result
  int stream;         // argument
  bool kept;          // part of the trace
  Summary::Total* total;
};

struct ProcessConverter::KernelFacts {
  int64_t row = 0;                         // in rochound_kernel
  int64_t description = 0, operation = 0;  // strings
  bool of_program = true;
  bool copies = false;
  bool kept = true;  // part of the trace
  std::string name;
  Summary::Total* total = nullptr;
};

ProcessConverter::ProcessConverter(const trace::ProcessLog& log, std::vector<int64_t> gpu_ids,
                                   int64_t first_queue, const Outputs& outputs, Summary* summary)
    : log_(log),
      gpu_ids_(std::move(gpu_ids)),
      first_queue_(first_queue),
      outputs_(outputs),
      summary_(summary),
      ranges_(log.unrecorded(), [this](const RangePairs::Range& range) { WriteRange(range); }) {
  ++summary_->processes;
  if (outputs_.rpd != nullptr) outputs_.rpd->BeginSession();
}

ProcessConverter::~ProcessConverter() = default;

base::Result<void> ProcessConverter::Run() {
  for (const auto& [id, kernel] : log_.kernels()) AddKernel(id, kernel, StringOf(kernel.name));
  if (outputs_.rpd != nullptr) {
    for (const trace::Agent& agent : log_.agents()) {
      outputs_.rpd->AddAgent({.agent = agent.index,
                              .node = agent.node,
                              .type = agent.gpu ? "gpu" : "cpu",
                              .name = agent.name,
                              .product = agent.product,
                              .uuid = agent.uuid,
                              .gpu = GpuId(agent.index)});
    }
    for (const auto& [index, queue] : log_.queues()) {
      outputs_.rpd->AddQueue({.queue = first_queue_ + index,
                              .agent = queue.head.small,
                              .hsa_id = Signed(queue.hsa_id),
                              .packets = Signed(queue.packets),
                              .created = Signed(log_.host_clock().At(queue.now_tsc))});
    }
  }
  ROCHOUND_CHECK(log_.Visit(*this));
  if (stopped_) return base::Error{"stopped"};
  for (const trace::OpenCall& open : log_.open_calls()) {
    WriteCall({.thread = {open.thread, open.tid},
               .function = open.function,
               .result = 0,
               .begin_ns = open.begin_ns,
               .end_ns = std::max(open.begin_ns, log_.end_ns()),
               .correlation = open.correlation,
               .words = {},
               .texts = {},
               .frames = {}},
              false);
    Lost("call under way", 1, FunctionOf(open.function).function.name + " had not returned");
  }
  Finish();
  return {};
}

std::string_view ProcessConverter::StringOf(uint32_t id) const {
  return log_.String(id).value_or(std::string_view());
}

void ProcessConverter::Seen(uint64_t begin, uint64_t end) {
  first_seen_ = std::min(first_seen_, begin);
  last_seen_ = std::max(last_seen_, end);
}

ProcessConverter::Thread& ProcessConverter::ThreadOf(const trace::Thread& thread) {
  const uint32_t index = thread.index % kMostThreads;
  if (index >= threads_.size()) threads_.resize(index + size_t{1});
  if (threads_[index] == nullptr) threads_[index] = std::make_unique<Thread>();
  return *threads_[index];
}

// --- names

void ProcessConverter::AddKernel(uint32_t id, const trace::KernelSymbol& record,
                                 std::string_view name) {
  auto& kernel = kernels_[id];
  if (kernel != nullptr) return;
  kernel = std::make_unique<KernelFacts>();
  kernel->name = Demangle(name);
  const std::string_view operation = OperationOfKernel(name);
  kernel->of_program = operation == kKernelExecution;
  kernel->copies = operation == kCopyKernel;
  kernel->kept = !kernel->of_program || outputs_.filter == nullptr ||
                 outputs_.filter->KeepsKernel(kernel->name);
  if (kernel->of_program) kernel->total = &summary_->kernels_by_name[kernel->name];
  if (outputs_.rpd == nullptr) return;
  kernel->description = String(kernel->name);
  kernel->operation = String(operation);
  kernel->row = outputs_.rpd->AddKernel({.name = kernel->name,
                                         .mangled_name = name,
                                         .kernel_object = Signed(record.kernel_object),
                                         .code_object = record.code_object,
                                         .kernarg_bytes = Signed(record.kernarg_bytes),
                                         .agent = record.head.small});
}

const ProcessConverter::KernelFacts& ProcessConverter::KernelOf(uint32_t id) {
  if (last_kernel_ != nullptr && id == last_kernel_id_) return *last_kernel_;
  auto found = kernels_.find(id);
  if (found == kernels_.end()) {
    AddKernel(id, {}, "unknown kernel " + std::to_string(id));
    found = kernels_.find(id);
  }
  last_kernel_id_ = id;
  last_kernel_ = found->second.get();
  return *last_kernel_;
}

const ProcessConverter::FunctionFacts& ProcessConverter::FunctionOf(uint16_t id) {
  if (id >= functions_.size()) functions_.resize(id + size_t{1});
  if (functions_[id] != nullptr) return *functions_[id];
  auto facts = std::make_unique<FunctionFacts>();
  bool gives_enum = false, gives_nothing = false;
  if (const trace::Function* const known = log_.FindFunction(id)) {
    gives_enum = known->result == "enum";
    gives_nothing = known->result == "-";
    facts->function = Function(known->domain, known->name, known->result, known->arguments);
  } else {
    facts->function = Function("unknown", "function " + std::to_string(id), "", "");
    ++calls_without_function_;
  }
  const Function& function = facts->function;
  facts->name = String(function.name);
  facts->category = String(CategoryOf(function));
  facts->domain = String(function.domain);
  facts->copy = CopyCallOf(function);
  facts->sets_device = function.domain == "hip" && function.name == "hipSetDevice";
  facts->gives_status = gives_enum && (function.domain == "hip" || function.domain == "hsa");
  facts->hides_status = gives_nothing && function.domain == "hip";
  facts->stream = std::max(function.Find("stream"), function.Find("hStream"));
  facts->kept = outputs_.filter == nullptr || outputs_.filter->KeepsCall(function.name);
  facts->total = &summary_->calls_by_name[function.name];
  functions_[id] = std::move(facts);
  return *functions_[id];
}

// --- calls

ProcessConverter::PendingCall& ProcessConverter::PendingCallOf(Thread& thread,
                                                               uint64_t correlation) {
  for (size_t i = thread.calls_used; i-- > 0;)
    if (thread.calls[i].correlation == correlation) return thread.calls[i];
  if (thread.calls_used == kMostOpenCalls) AbandonOldestCall(thread);
  if (thread.calls_used == thread.calls.size()) thread.calls.emplace_back();
  PendingCall& call = thread.calls[thread.calls_used++];
  call.correlation = correlation;
  call.waiting.clear();
  call.gpu = -1;
  call.has_launch = call.has_copy = false;
  return call;
}

// Its record never came: what it caused stands alone.
void ProcessConverter::AbandonOldestCall(Thread& thread) {
  ++lost_calls_;
  const auto first = thread.calls.begin();
  for (const uint32_t index : first->waiting) {
    ops_[index].has_call = true;
    Settle(index);
  }
  std::rotate(first, first + 1, first + static_cast<ptrdiff_t>(thread.calls_used--));
}

void ProcessConverter::OnCall(const trace::CallEvent& event) { WriteCall(event, true); }

void ProcessConverter::WriteCall(const trace::CallEvent& event, bool returned) {
  const FunctionFacts& facts = FunctionOf(event.function);
  const Function& function = facts.function;
  const CallArguments arguments{event.words, event.texts};
  Thread& thread = ThreadOf(event.thread);
  size_t at = thread.calls_used;
  while (at > 0 && thread.calls[at - 1].correlation != event.correlation) --at;
  PendingCall* const call = at > 0 ? &thread.calls[at - 1] : nullptr;

  if (facts.copy.is_copy && call != nullptr) ShareOutCopy(*call, facts.copy, function, arguments);

  if (facts.sets_device && returned && event.result == 0 && !event.words.empty())
    thread.device = static_cast<int32_t>(event.words[0]);
  if (facts.kept) {
    ++calls_;
    ++facts.total->count;
    facts.total->ns += Signed(event.end_ns - event.begin_ns);
    Seen(event.begin_ns, event.end_ns);
  } else {
    ++filtered_calls_;
  }

  int64_t api = 0;
  if (outputs_.rpd != nullptr && facts.kept) {
    text_.clear();
    AppendArguments(&text_, function, arguments);
    if (!returned) text_.append(text_.empty() ? "not returned" : "|not returned");
    api = outputs_.rpd->AddApi({.pid = log_.pid(),
                                .tid = event.thread.tid,
                                .start = Signed(event.begin_ns),
                                .end = Signed(event.end_ns),
                                .name = facts.name,
                                .category = facts.category,
                                .domain = facts.domain,
                                .args = text_});
    if (!returned) outputs_.rpd->AddUnfinished({"call", api});
    if (returned && event.result != 0 && facts.gives_status)
      outputs_.rpd->AddFailure(api, event.result);
    if (returned && facts.hides_status) outputs_.rpd->AddFailure(api, std::nullopt);
    if (call != nullptr && call->has_launch && KernelOf(call->launch.kernel).kept) {
      stream_.clear();
      if (facts.stream >= 0) AppendHex(&stream_, WordOf(function, arguments, facts.stream));
      WriteKernelApi(api, stream_, call->launch);
    }
    if (facts.copy.is_copy) {
      WriteCopyApi(api, thread, facts.copy, function, arguments,
                   call != nullptr && call->has_copy ? &call->copy : nullptr);
    }
    if (!event.frames.empty()) WriteFrames(api, event.frames);
    thread.Slot(event.correlation) = {event.correlation, api};
  }
  if (outputs_.jsonl != nullptr && facts.kept) {
    std::optional<int64_t> device;
    if (function.domain == "hip") device = thread.device;
    if (call != nullptr && call->gpu >= 0) device = call->gpu;
    AppendCallLine(outputs_.jsonl->buffer(),
                   {event, function, log_.realtime_offset_ns(), log_.pid(), device, returned});
    outputs_.jsonl->LineDone();
  }
  if (call == nullptr) return;
  for (const uint32_t index : call->waiting) {
    ops_[index].has_call = true;
    ops_[index].api = api;
    Settle(index);
  }
  const auto first = thread.calls.begin() + static_cast<ptrdiff_t>(at - 1);
  std::rotate(first, first + 1, thread.calls.begin() + static_cast<ptrdiff_t>(thread.calls_used--));
}

void ProcessConverter::WriteKernelApi(int64_t api, std::string_view stream,
                                      const trace::KernelDispatch& launch) {
  outputs_.rpd->AddKernelApi(
      {.api = api,
       .stream = stream,
       .grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
       .workgroup = {launch.workgroup[0], launch.workgroup[1], launch.workgroup[2]},
       .group_bytes = launch.group_bytes,
       .private_bytes = launch.private_bytes,
       .kernel_name = KernelOf(launch.kernel).description});
}

// Bytes that a copy call names, or 0.
int64_t SizeOfCopy(const CopyCall& copy, const Function& function, const CallArguments& arguments) {
  const auto number = [&](int argument) { return Signed(WordOf(function, arguments, argument)); };
  if (copy.size >= 0) return number(copy.size);
  return copy.width >= 0 ? number(copy.width) * std::max<int64_t>(number(copy.height), 1) : 0;
}

// Kernels of a copy call whose arguments did not tell what they copy: the call's bytes that nothing
// else moved, in its direction.
void ProcessConverter::ShareOutCopy(const PendingCall& call, const CopyCall& copy,
                                    const Function& function, const CallArguments& arguments) {
  int64_t left = SizeOfCopy(copy, function, arguments), sharing = 0;
  for (const uint32_t index : call.waiting) {
    const PendingOp& op = ops_[index];
    if (op.is_copy) left -= Signed(op.copy.bytes);
    if (op.copies) left -= Signed(op.moved.bytes);
    if (op.copies && op.moved.bytes == 0) ++sharing;
  }
  const int64_t kind =
      copy.kind >= 0 ? Signed(WordOf(function, arguments, copy.kind)) : int64_t{copy.fixed_kind};
  for (const uint32_t index : call.waiting) {
    PendingOp& op = ops_[index];
    if (!op.copies || op.moved.bytes != 0 || sharing == 0) continue;
    const int64_t part = std::max<int64_t>(left, 0) / sharing--;
    left -= part;
    op.moved.bytes = static_cast<uint64_t>(part);
    if (op.moved.head.wide != kUnknownAgents) continue;
    const uint32_t gpu = AgentOfQueue(op.dispatch.head.wide);
    const uint32_t from = kind == 1 || kind == 0 ? trace::kNoAgent : gpu;
    const uint32_t to = kind == 2 || kind == 0 ? trace::kNoAgent : gpu;
    op.moved.head.wide = from << 16 | to;
  }
}

// first: the copy that the call caused, if any was seen; the host does some itself.
void ProcessConverter::WriteCopyApi(int64_t api, const Thread& thread, const CopyCall& copy,
                                    const Function& function, const CallArguments& arguments,
                                    const trace::Copy* first) {
  const auto word = [&](int argument) { return WordOf(function, arguments, argument); };
  const auto number = [&](int argument) { return Signed(word(argument)); };
  const int64_t kind = copy.kind >= 0 ? number(copy.kind) : copy.fixed_kind;
  CopyApiRow row{.api = api,
                 .stream = {},
                 .size = SizeOfCopy(copy, function, arguments),
                 .width = number(copy.width),
                 .height = number(copy.height),
                 .kind = kind,
                 .destination = {},
                 .source = {},
                 .destination_device = kind == 1 || kind == 3 ? thread.device : -1,
                 .source_device = kind == 2 || kind == 3 ? thread.device : -1,
                 .sync = copy.sync,
                 .pinned = false};
  if (first != nullptr) {
    row.destination_device = GpuId(first->head.wide & 0xffff);
    row.source_device = GpuId(first->head.wide >> 16);
    if (copy.size < 0 && copy.width < 0) row.size = Signed(first->bytes);
  }
  if (copy.destination_device >= 0) row.destination_device = number(copy.destination_device);
  if (copy.source_device >= 0) row.source_device = number(copy.source_device);
  std::string destination, source;
  stream_.clear();
  if (copy.stream >= 0) AppendHex(&stream_, word(copy.stream));
  if (copy.destination >= 0) AppendHex(&destination, word(copy.destination));
  if (copy.source >= 0) AppendHex(&source, word(copy.source));
  row.stream = stream_;
  row.destination = destination;
  row.source = source;
  outputs_.rpd->AddCopyApi(row);
}

// What the process noted of itself at its end, lines name=value.
void ProcessConverter::WriteFacts() {
  const auto text = base::ReadFile(log_.folder() / "facts", base::kMostText);
  if (!text.ok()) return;
  std::istringstream lines(text.value());
  for (std::string line; std::getline(lines, line);)
    if (const size_t sign = line.find('='); sign != std::string::npos)
      outputs_.rpd->AddFact({line.substr(0, sign), line.substr(sign + 1)});
}

void ProcessConverter::WriteFrames(int64_t api, std::span<const uint64_t> frames) {
  if (symbolizer_ == nullptr) {
    const auto maps = base::ReadFile(log_.folder() / "maps", base::kMostText);
    symbolizer_ = std::make_unique<Symbolizer>(maps.ok() ? maps.value() : std::string());
  }
  int64_t depth = 0;
  for (const uint64_t address : frames) {
    int64_t& name = frame_names_[address];
    if (name == 0) name = String(symbolizer_->Name(address));
    outputs_.rpd->AddStackFrame(api, depth++, name);
  }
}

// --- dispatches and copies

ProcessConverter::PendingOp& ProcessConverter::NewOp(uint32_t* index) {
  if (free_ops_.empty()) {
    *index = static_cast<uint32_t>(ops_.size());
    ops_.emplace_back();
  } else {
    *index = free_ops_.back();
    free_ops_.pop_back();
  }
  PendingOp& op = ops_[*index];
  op.used = true;
  op.has_call = op.has_time = op.timed = op.unfinished = false;
  op.agent = trace::kNoAgent;
  op.api = 0;
  op.number = ++next_number_;
  return op;
}

void ProcessConverter::OnDispatch(const trace::Event<trace::KernelDispatch>& event) {
  uint32_t index = 0;
  PendingOp& op = NewOp(&index);
  op.dispatch = event.record;
  op.dispatch_number = ++next_dispatch_;
  op.is_copy = false;
  op.copies = KernelOf(event.record.kernel).copies;
  if (op.copies) {
    trace::Copy& told = ThreadOf(event.thread).by_kernel;
    const bool this_one = told.copy == event.record.dispatch && told.head.kind != trace::Kind::kEnd;
    op.moved = this_one ? told : trace::Copy{};
    if (!this_one) op.moved.head.wide = kUnknownAgents;
    told = {};
  }
  op.submit = event.begin_ns;
  AddOp(event.thread, index, event.record.correlation, event.record.dispatch & ~kCopyKey);
}

void ProcessConverter::OnCopy(const trace::Event<trace::Copy>& event) {
  if (static_cast<trace::CopyKind>(event.record.head.small) == trace::CopyKind::kByKernel) {
    ThreadOf(event.thread).by_kernel = event.record;
    return;
  }
  uint32_t index = 0;
  PendingOp& op = NewOp(&index);
  op.copy = event.record;
  op.is_copy = true;
  op.copies = false;
  op.submit = event.begin_ns;
  AddOp(event.thread, index, event.record.correlation, event.record.copy | kCopyKey);
}

void ProcessConverter::AddOp(const trace::Thread& where, uint32_t index, uint64_t correlation,
                             uint64_t key) {
  PendingOp& op = ops_[index];
  Seen(op.submit, op.submit);
  OpTime time;
  if (TakeEarlyTime(early_, key, &time) || TakeEarlyTime(earlier_, key, &time)) {
    SetTime(op, time);
  } else {
    untimed_.Insert(key, index);
    if (untimed_.size() >= kMostUntimed) GiveUpOldOps(next_number_ - kMostUntimed / 2);
  }
  if (correlation == 0) {
    op.has_call = true;
  } else {
    Thread& thread = ThreadOf(where);
    const Thread::Written& written = thread.Slot(correlation);
    if (written.correlation == correlation) {
      op.has_call = true;
      op.api = written.api;
    } else {
      PendingCall& call = PendingCallOf(thread, correlation);
      call.waiting.push_back(index);
      const bool told = op.copies && op.moved.head.wide != kUnknownAgents;
      if ((op.is_copy || told) && !call.has_copy) {
        call.has_copy = true;
        call.copy = op.is_copy ? op.copy : op.moved;
      }
      if (!op.is_copy && call.gpu < 0) {
        call.gpu = GpuId(AgentOfQueue(op.dispatch.head.wide));
      }
      if (!op.is_copy && !call.has_launch && KernelOf(op.dispatch.kernel).of_program) {
        call.has_launch = true;
        call.launch = op.dispatch;
      }
    }
  }
  Settle(index);
}

void ProcessConverter::OnKernelTime(const trace::Event<trace::KernelTime>& event) {
  OnTime(event.record.dispatch & ~kCopyKey,
         {event.begin_ns, event.end_ns, event.record.head.small});
}

void ProcessConverter::OnCopyTime(const trace::Event<trace::CopyTime>& event) {
  OnTime(event.record.copy | kCopyKey, {event.begin_ns, event.end_ns, event.record.head.small});
}

void ProcessConverter::OnTime(uint64_t key, const OpTime& time) {
  if (time.end != 0) {
    // Work cannot have been done long before the log's first record, or after its last.
    if (time.begin + kClockTolerance < log_.first_ns() ||
        time.end > log_.end_ns() + kClockTolerance)
      ++doubtful_times_;
  }
  const uint32_t index = untimed_.Remove(key);
  if (index != FlatMap::kNone) {
    SetTime(ops_[index], time);
    Settle(index);
    return;
  }
  // Its chunk comes later. Those that wait longest never had one.
  if (early_.index.size() >= kMostEarlyTimes) {
    earlier_ = std::move(early_);
    early_ = {};
  }
  early_.index.Insert(key, static_cast<uint32_t>(early_.times.size()));
  early_.times.push_back(time);
}

bool ProcessConverter::TakeEarlyTime(EarlyTimes& early, uint64_t key, OpTime* time) {
  if (early.index.size() == 0) return false;
  const uint32_t at = early.index.Remove(key);
  if (at == FlatMap::kNone) return false;
  *time = early.times[at];
  if (early.index.size() == 0) early.times.clear();
  return true;
}

ProcessConverter::QueueProgress& ProcessConverter::ProgressOf(
    const trace::KernelDispatch& dispatch) {
  const size_t queue = dispatch.head.wide & 0xffff;  // as many as a dispatch's number has room for
  if (queue >= queues_.size()) queues_.resize(queue + 1);
  return queues_[queue];
}

void ProcessConverter::SetTime(PendingOp& op, const OpTime& time) {
  if (!op.is_copy && time.end != 0) {
    QueueProgress& queue = ProgressOf(op.dispatch);
    queue.packet = std::max(queue.packet, PacketOf(op.dispatch));
    queue.end = std::max(queue.end, time.end);
  }
  op.has_time = true;
  op.agent = time.agent;
  op.timed = time.begin != 0 || time.end != 0;
  op.begin = op.timed ? time.begin : op.submit;
  op.end = op.timed ? std::max(time.begin, time.end) : op.submit;
}

// Writes the operation once everything about it is known.
void ProcessConverter::Settle(uint32_t index) {
  PendingOp& op = ops_[index];
  if (!op.has_call || !op.has_time) return;
  // A time that cannot be is shown, but does not make the trace longer.
  if (op.timed && op.begin + kClockTolerance >= log_.first_ns() &&
      op.end <= log_.end_ns() + kClockTolerance)
    Seen(op.begin, op.end);
  op.is_copy ? WriteCopyOp(op) : WriteKernelOp(op);
  op.used = false;
  free_ops_.push_back(index);
}

void ProcessConverter::WriteKernelOp(const PendingOp& op) {
  const trace::KernelDispatch& dispatch = op.dispatch;
  const KernelFacts& kernel = KernelOf(dispatch.kernel);
  if (!kernel.kept) {
    ++filtered_kernels_;
    return;
  }
  ++dispatches_;
  if (op.unfinished)
    ++unfinished_kernels_;
  else if (!op.timed)
    ++untimed_dispatches_;
  if (kernel.of_program) {
    ++summary_->kernels;
    ++kernel.total->count;
    kernel.total->ns += Signed(op.end - op.begin);
  } else {
    ++summary_->runtime_kernels;
  }
  if (op.copies) {
    ++summary_->copies;
    summary_->copied_bytes += op.moved.bytes;
  }
  const uint32_t queue = dispatch.head.wide;
  if (outputs_.rpd != nullptr) {
    uint16_t agent = op.agent;
    if (agent == trace::kNoAgent) agent = AgentOfQueue(queue);
    const int64_t id =
        outputs_.rpd->AddOp({.gpu = GpuId(agent),
                             .queue = first_queue_ + queue,
                             .sequence = Signed(PacketOf(dispatch)),
                             .start = Signed(op.begin),
                             .end = Signed(op.end),
                             .description = kernel.description,
                             .type = op.copies ? String(DirectionOf(op.moved)) : kernel.operation});
    if (op.copies) WriteCopyRow(id, op, op.moved);
    if (op.unfinished) outputs_.rpd->AddUnfinished({"kernel", id});
    if (op.api != 0) outputs_.rpd->AddApiOp(op.api, id);
    outputs_.rpd->AddDispatch(
        {.op = id,
         .api = op.api,
         .kernel = kernel.row,
         .grid = {dispatch.grid[0], dispatch.grid[1], dispatch.grid[2]},
         .workgroup = {dispatch.workgroup[0], dispatch.workgroup[1], dispatch.workgroup[2]},
         .group_bytes = dispatch.group_bytes,
         .private_bytes = dispatch.private_bytes,
         .queue = first_queue_ + queue,
         .agent = agent == trace::kNoAgent ? -1 : agent,
         .submit = Signed(op.submit),
         .timed = op.timed});
  }
  if (outputs_.durations != nullptr && kernel.of_program) {
    AppendDurationLine(outputs_.durations->buffer(), kernel.name, op.dispatch_number, op.begin,
                       op.end);
    outputs_.durations->LineDone();
  }
}

uint16_t ProcessConverter::AgentOfQueue(uint32_t queue) const {
  const auto found = log_.queues().find(queue);
  return found != log_.queues().end() ? found->second.head.small : trace::kNoAgent;
}

std::string_view ProcessConverter::DirectionOf(const trace::Copy& copy) const {
  const auto kind = static_cast<trace::CopyKind>(copy.head.small);
  if (kind == trace::CopyKind::kFill) return kFillBuffer;
  const bool by_kernel = kind == trace::CopyKind::kByKernel || copy.head.kind == trace::Kind::kEnd;
  if (by_kernel && copy.head.wide == kUnknownAgents)
    return kCopyKernel;  // nothing was told: most copy within their GPU
  const bool from_gpu = GpuId(copy.head.wide >> 16) >= 0;
  const bool to_gpu = GpuId(copy.head.wide & 0xffff) >= 0;
  return from_gpu ? (to_gpu ? "CopyDeviceToDevice" : "CopyDeviceToHost")
                  : (to_gpu ? "CopyHostToDevice" : "CopyHostToHost");
}

void ProcessConverter::WriteCopyRow(int64_t id, const PendingOp& op, const trace::Copy& copy) {
  ++copies_;
  const auto agent_row = [](uint32_t agent) {
    return agent == trace::kNoAgent ? int64_t{-1} : int64_t{agent};
  };
  outputs_.rpd->AddCopy({.op = id,
                         .api = op.api,
                         .size = Signed(copy.bytes),
                         .source_agent = agent_row(copy.head.wide >> 16),
                         .destination_agent = agent_row(copy.head.wide & 0xffff),
                         .source = Signed(copy.source),
                         .destination = Signed(copy.destination),
                         .width = copy.width,
                         .height = copy.height,
                         .submit = Signed(op.submit),
                         .timed = op.timed});
}

void ProcessConverter::WriteCopyOp(const PendingOp& op) {
  const trace::Copy& copy = op.copy;
  const auto kind = static_cast<trace::CopyKind>(copy.head.small);
  if (op.unfinished)
    ++unfinished_copies_;
  else if (!op.timed)
    ++untimed_copies_;
  ++summary_->copies;
  if (kind != trace::CopyKind::kFill) summary_->copied_bytes += copy.bytes;
  if (outputs_.rpd == nullptr) return;

  const int64_t from = GpuId(copy.head.wide >> 16), to = GpuId(copy.head.wide & 0xffff);
  const int64_t by = GpuId(op.agent);
  const int64_t id = outputs_.rpd->AddOp({.gpu = by >= 0 ? by : std::max(from, to),
                                          .queue = first_queue_,  // no AQL queue has index 0
                                          .sequence = Signed(copy.copy),
                                          .start = Signed(op.begin),
                                          .end = Signed(op.end),
                                          .description = String(""),
                                          .type = String(DirectionOf(copy))});
  if (op.unfinished) outputs_.rpd->AddUnfinished({"copy", id});
  if (op.api != 0) outputs_.rpd->AddApiOp(op.api, id);
  WriteCopyRow(id, op, copy);
}

// Writes those that were seen before number `before` without what they still wait for.
void ProcessConverter::GiveUpOldOps(uint64_t before) {
  for (uint32_t index = 0; index < ops_.size(); ++index) {
    PendingOp& op = ops_[index];
    if (!op.used || op.has_time || op.number >= before) continue;
    untimed_.Remove(op.is_copy ? op.copy.copy | kCopyKey : op.dispatch.dispatch & ~kCopyKey);
    SetTime(op, {0, 0, trace::kNoAgent});
    Settle(index);
  }
}

// At the end: what was handed to a GPU and is not known to have finished ran when the process
// ended. A kernel cannot have started before those that its queue had finished, nor at all if it
// waits for one that never did.
void ProcessConverter::EndUnfinishedOps() {
  uint64_t dropped = log_.unknown_reasons_dropped();
  for (const auto reason : {trace::DropReason::kNoChunk, trace::DropReason::kRecycled})
    dropped += log_.Dropped(reason);
  std::vector<uint32_t> waiting;
  for (uint32_t index = 0; index < ops_.size(); ++index)
    if (ops_[index].used && !ops_[index].has_time) waiting.push_back(index);
  std::sort(waiting.begin(), waiting.end(),
            [&](uint32_t a, uint32_t b) { return ops_[a].number < ops_[b].number; });
  for (const uint32_t index : waiting) {
    PendingOp& op = ops_[index];
    const uint64_t end = std::max(log_.end_ns(), op.submit);
    uint64_t begin = op.submit;
    if (op.is_copy) {
      if (dropped > 0) continue;  // its time may be what was dropped
    } else {
      QueueProgress& queue = ProgressOf(op.dispatch);
      if (dropped > 0 && PacketOf(op.dispatch) <= queue.packet) continue;
      begin = queue.stuck && WaitsForQueue(op.dispatch) ? end : std::clamp(queue.end, begin, end);
      queue.stuck = true;
    }
    untimed_.Remove(op.is_copy ? op.copy.copy | kCopyKey : op.dispatch.dispatch & ~kCopyKey);
    op.has_time = op.unfinished = true;
    op.begin = begin;
    op.end = end;
    Seen(begin, end);
    Settle(index);
  }
}

// --- memory, ranges, the recorder itself

void ProcessConverter::OnAllocation(const trace::Event<trace::Allocation>& event) {
  if (outputs_.rpd != nullptr && allocations_.Allocate(event.record, event.begin_ns))
    WriteAllocation(allocations_.allocation, allocations_.end_ns);
}

void ProcessConverter::OnRelease(const trace::Event<trace::Release>& event) {
  if (outputs_.rpd != nullptr && allocations_.Release(event.record.address, event.begin_ns))
    WriteAllocation(allocations_.allocation, allocations_.end_ns);
}

void ProcessConverter::WriteAllocation(const AllocationPairs::Allocation& allocation,
                                       uint64_t end) {
  outputs_.rpd->AddAllocation({.pid = log_.pid(),
                               .agent = allocation.record.head.small,
                               .address = Signed(allocation.record.address),
                               .size = Signed(allocation.record.bytes),
                               .flags = allocation.record.head.wide,
                               .start = Signed(allocation.begin_ns),
                               .end = Signed(end)});
}

void ProcessConverter::OnRange(const trace::Event<trace::Range>& event) {
  ranges_.Add(event, StringOf(event.record.head.wide));
}

void ProcessConverter::OnThreadEnd(const trace::Event<trace::ThreadEnd>& event) {
  ranges_.EndThread(event.thread.index, event.begin_ns);
}

// What to say about a launch that was captured, or should have been.
SwapComparison ProcessConverter::ComparisonOf(const trace::Swap& swap) const {
  const std::string reason(StringOf(swap.reason));
  if (swap.head.small == static_cast<uint16_t>(trace::SwapDecision::kNotSampled))
    return {kSwapNotVerified, reason};
  if (outputs_.swap_comparisons != nullptr)
    if (const auto found = outputs_.swap_comparisons->find(reason);
        found != outputs_.swap_comparisons->end())
      return found->second;
  return {kSwapNotVerified, "a launch was captured, and nobody compared it"};
}

void ProcessConverter::OnSwap(const trace::Event<trace::Swap>& event) {
  constexpr const char* kDecisions[] = {"", "swapped", "alternating", "refused", "launch refused"};
  const trace::Swap& swap = event.record;
  // The recorder says it again when old parts of the log are dropped.
  if (!swaps_.emplace(swap.head.wide, swap.head.small, swap.candidate, swap.file, swap.reason)
           .second)
    return;
  const auto decision = static_cast<trace::SwapDecision>(swap.head.small);
  SwapComparison told;
  if (decision == trace::SwapDecision::kSampled || decision == trace::SwapDecision::kNotSampled) {
    told = ComparisonOf(swap);
    ++(told.result == kSwapEqual       ? summary_->equal_swaps
       : told.result == kSwapDifferent ? summary_->different_swaps
                                       : summary_->unverified_swaps);
  } else {
    const bool known = swap.head.small < std::size(kDecisions);
    told = {known ? kDecisions[swap.head.small] : "unknown", std::string(StringOf(swap.reason))};
    const bool swapped =
        decision == trace::SwapDecision::kSwapped || decision == trace::SwapDecision::kAlternating;
    ++(swapped ? summary_->swapped : summary_->refused_swaps);
  }
  if (outputs_.rpd == nullptr) return;
  const auto row = [&](uint32_t kernel) { return kernel == 0 ? 0 : KernelOf(kernel).row; };
  outputs_.rpd->AddSwap({.kernel = row(swap.head.wide),
                         .candidate = row(swap.candidate),
                         .start = Signed(event.begin_ns),
                         .decision = std::move(told.result),
                         .file = std::string(StringOf(swap.file)),
                         .reason = std::move(told.reason)});
}

void ProcessConverter::WriteRange(const RangePairs::Range& range) {
  ++summary_->ranges;
  unfinished_ranges_ += range.unfinished;
  Seen(range.begin, range.end);
  if (outputs_.rpd == nullptr) return;
  const int64_t id = outputs_.rpd->AddApi({.pid = log_.pid(),
                                           .tid = range.tid,
                                           .start = Signed(range.begin),
                                           .end = Signed(range.end),
                                           .name = String(range.name),
                                           .category = String(range.category),
                                           .domain = String("roctx"),
                                           .args = range.message});
  if (range.unfinished) outputs_.rpd->AddUnfinished({"range", id});
}

void ProcessConverter::OnOverhead(const trace::Event<trace::Overhead>& event) {
  if (outputs_.rpd == nullptr) return;
  outputs_.rpd->AddApi({.pid = log_.pid(),
                        .tid = event.thread.tid,
                        .start = Signed(event.begin_ns),
                        .end = Signed(event.end_ns),
                        .name = String(StringOf(event.record.head.wide)),
                        .category = String("overhead"),
                        .domain = String("rochound"),
                        .args = {}});
}

void ProcessConverter::OnStateChange(const trace::Event<trace::StateChange>& event) {
  if (static_cast<trace::RecorderState>(event.record.head.small) != trace::RecorderState::kDisabled)
    return;
  Lost("recording ended early", 1,
       std::string(StringOf(static_cast<uint32_t>(event.record.reason))));
}

bool ProcessConverter::OnProgress(uint64_t done, uint64_t) {
  stopped_ = progress_ && !progress_(done);
  return !stopped_;
}

// --- the end

void ProcessConverter::Lost(std::string what, uint64_t count, std::string note) {
  if (outputs_.rpd != nullptr)
    outputs_.rpd->AddLost({.pid = log_.pid(), .what = what, .count = Signed(count), .note = note});
  summary_->lost.push_back({log_.pid(), std::move(what), count, std::move(note)});
}

void ProcessConverter::Finish() {
  for (const auto& thread : threads_) {
    if (thread == nullptr) continue;
    while (thread->calls_used > 0) AbandonOldestCall(*thread);
  }
  ranges_.Finish(log_.end_ns());
  EndUnfinishedOps();
  GiveUpOldOps(UINT64_MAX);
  for (const AllocationPairs::Allocation& allocation : allocations_.Live())
    WriteAllocation(allocation, 0);

  const auto dropped = [&](trace::DropReason reason, const char* note) {
    if (const uint64_t count = log_.Dropped(reason)) Lost("records dropped", count, note);
  };
  dropped(trace::DropReason::kNoChunk, "there was no room in the log: disk full, or too fast");
  dropped(trace::DropReason::kNoSignal, "too much GPU work under way at once");
  dropped(trace::DropReason::kNoString, "there was no room for texts");
  if (const uint64_t count = log_.unknown_reasons_dropped())
    Lost("records dropped", count, "for a reason that this release does not know");
  // A flight recorder forgets old chunks on purpose, and with them one half of some pairs.
  const std::string forgotten =
      log_.Dropped(trace::DropReason::kRecycled) > 0 ? "; older data was not kept, as asked" : "";
  if (untimed_dispatches_ > 0)
    Lost("kernel times", untimed_dispatches_,
         "shown at the time they were submitted at" + forgotten);
  if (untimed_copies_ > 0)
    Lost("copy times", untimed_copies_, "shown at the time they were submitted at" + forgotten);
  if (doubtful_times_ > 0)
    Lost("true times", doubtful_times_, "the GPU's clock could not be related to the host's");
  const auto newer = [&](const char* what, NotRecorded missed) {
    if (missed.count > 0) Lost(what, missed.count, std::move(missed.note));
  };
  newer("calls", NewerCalls("HIP", log_.Info("hip_version"), log_.Info("hip_new_calls")));
  newer("calls", NewerCalls("ROCr", log_.Info("hsa_version"), log_.Info("hsa_new_calls")));
  newer("packets", NewerPackets(log_.Info("new_packets")));
  newer("doorbells", UnknownDoorbells(log_.Info("unknown_doorbells")));
  if (filtered_kernels_ > 0)
    Lost("kernels", filtered_kernels_,
         "left out by --kernel '" + outputs_.filter->kernels() +
             "': a GPU was busier than it seems here");
  if (filtered_calls_ > 0)
    Lost("calls", filtered_calls_,
         "left out by --api '" + outputs_.filter->calls() +
             "': what the host did meanwhile, and what launched a kernel, may be missing");
  if (unfinished_kernels_ > 0)
    Lost("kernels' ends", unfinished_kernels_,
         "they had not finished when the process ended; shown as running to its end");
  if (unfinished_copies_ > 0)
    Lost("copies' ends", unfinished_copies_,
         "they had not finished when the process ended; shown as running to its end");
  if (unfinished_ranges_ > 0)
    Lost("ranges' ends", unfinished_ranges_,
         "they were open when their thread, the process or the recording ended; shown up to there");
  std::map<std::string, uint64_t> pauses;
  for (const trace::Unrecorded& pause : log_.unrecorded()) {
    ++pauses[pause.why];
    if (outputs_.rpd != nullptr)
      outputs_.rpd->AddUnrecorded(
          {log_.pid(), Signed(pause.begin_ns), Signed(pause.end_ns), pause.why});
    summary_->unrecorded.push_back({Signed(pause.begin_ns), Signed(pause.end_ns)});
  }
  for (const auto& [why, count] : pauses) Lost("time", count, why);
  if (!log_.finished() && !log_.replaced())
    Lost("a process's end", 1,
         log_.running() ? "it was still running"
                        : "it was killed, or ended by _exit; its last moments may be missing");
  if (lost_calls_ > 0) Lost("calls", lost_calls_, "their work is shown without a call" + forgotten);
  if (calls_without_function_ > 0)
    Lost("function names", calls_without_function_, "shown by their number");
  for (const std::string& problem : log_.problems()) Lost("damaged data", 1, problem);

  if (log_.running() && !log_.finished()) ++summary_->running;
  summary_->calls += calls_;
  summary_->records += log_.records();
  summary_->Lived(Signed(log_.begin_ns()), Signed(log_.end_ns()));
  if (first_seen_ != UINT64_MAX) summary_->Seen(Signed(first_seen_), Signed(last_seen_));
  if (outputs_.rpd == nullptr) return;
  WriteFacts();
  std::string note = log_.finished()   ? ""
                     : log_.replaced() ? "became another program"
                     : log_.running()  ? "still running"
                                       : "killed";
  int64_t ppid = 0;
  for (const char digit : log_.Info("ppid"))
    if (digit >= '0' && digit <= '9') ppid = ppid * 10 + (digit - '0');
  outputs_.rpd->AddProcess({.pid = log_.pid(),
                            .ppid = ppid,
                            .executable = std::string(log_.Info("exe")),
                            .command = std::string(log_.Info("command")),
                            .host = std::string(log_.Info("host")),
                            .start = Signed(log_.begin_ns()),
                            .end = Signed(log_.end_ns()),
                            .calls = Signed(calls_),
                            .dispatches = Signed(dispatches_),
                            .copies = Signed(copies_),
                            .note = std::move(note)});
}

}  // namespace rochound::store
