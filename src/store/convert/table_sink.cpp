// SPDX-License-Identifier: MIT
#include "store/convert/table_sink.h"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "base/files.h"
#include "base/utf8.h"

namespace rochound::store {
namespace {

std::optional<int64_t> UnlessZero(int64_t number) {
  return number != 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

TableSink::TableSink(const ProcessContext& process, TraceWriter* writer)
    : process_(process), log_(process.log), writer_(writer) {
  writer_->BeginSession();
  for (const trace::Agent& agent : log_.agents()) {
    const int64_t gpu = process_.GpuId(agent.index);
    writer_->AddAgent({.agent = agent.index,
                       .node = agent.node,
                       .type = agent.gpu ? "gpu" : "cpu",
                       .name = agent.name,
                       .product = agent.product,
                       .uuid = agent.uuid,
                       .gpu = gpu >= 0 ? std::optional(gpu) : std::nullopt});
  }
  for (const auto& [index, queue] : log_.queues()) {
    writer_->AddQueue({.queue = process_.first_queue + index,
                       .agent = queue.head.small,
                       .hsa_id = Signed(queue.hsa_id),
                       .packets = Signed(queue.packets),
                       .created = Signed(log_.host_clock().At(queue.now_tsc))});
  }
}

void TableSink::OnFunctionFacts(const FunctionFacts& facts) {
  const Function& function = facts.function;
  functions_.push_back({.name = writer_->String(function.name),
                        .category = writer_->String(CategoryOf(function)),
                        .domain = writer_->String(function.domain)});
}

void TableSink::OnKernelFacts(const KernelFacts& facts) {
  KernelIds ids{};
  ids.description = writer_->String(facts.name);
  ids.operation = writer_->String(facts.operation);
  ids.row = writer_->AddKernel({.name = ids.description,
                                .mangled_name = writer_->String(facts.mangled_name),
                                .kernel_object = Signed(facts.symbol.kernel_object),
                                .code_object = facts.symbol.code_object,
                                .kernarg_bytes = Signed(facts.symbol.kernarg_bytes),
                                .agent = facts.symbol.head.small});
  kernels_.push_back(ids);
}

void TableSink::OnCall(JoinedCall& call) {
  ++calls_;
  const trace::CallEvent& event = call.event;
  const FunctionFacts& facts = call.facts;
  const CallArguments arguments = call.arguments();
  const FunctionStrings& strings = functions_[facts.number];
  text_.clear();
  AppendArguments(&text_, facts.function, arguments);
  if (!call.returned) text_.append(text_.empty() ? "not returned" : "|not returned");
  call.row = writer_->AddApi({.pid = log_.pid(),
                              .tid = event.thread.tid,
                              .start = Signed(event.begin_ns),
                              .end = Signed(event.end_ns),
                              .name = strings.name,
                              .category = strings.category,
                              .domain = strings.domain},
                             text_);
  if (!call.returned) writer_->AddUnfinished({"call", call.row});
  if (call.returned && event.result != 0 && facts.gives_status)
    writer_->AddFailure(call.row, {event.result});
  if (call.returned && facts.hides_status) writer_->AddFailure(call.row, {std::nullopt});
  if (call.launch != nullptr) {
    const trace::KernelDispatch& launch = *call.launch;
    stream_.clear();
    if (facts.stream >= 0) AppendHex(&stream_, WordOf(facts.function, arguments, facts.stream));
    writer_->AddKernelApi(call.row, {.stream = stream_,
                                     .grid_x = launch.grid[0],
                                     .grid_y = launch.grid[1],
                                     .grid_z = launch.grid[2],
                                     .workgroup_x = launch.workgroup[0],
                                     .workgroup_y = launch.workgroup[1],
                                     .workgroup_z = launch.workgroup[2],
                                     .group_bytes = launch.group_bytes,
                                     .private_bytes = launch.private_bytes,
                                     .kernel_name = kernels_[call.kernel->number].description});
  }
  if (facts.copy.is_copy) WriteCopyCall(call);
  if (!event.frames.empty()) WriteFrames(call.row, event.frames);
}

void TableSink::WriteCopyCall(const JoinedCall& call) {
  const FunctionFacts& facts = call.facts;
  const CopyCall& copy = facts.copy;
  const CallArguments arguments = call.arguments();
  const auto word = [&](int argument) { return WordOf(facts.function, arguments, argument); };
  const auto number = [&](int argument) { return Signed(word(argument)); };
  const auto hex = [&](std::string* text, int argument) -> std::string_view {
    text->clear();
    if (argument >= 0) AppendHex(text, word(argument));
    return *text;
  };
  const int64_t kind = KindOfCopy(facts, arguments);
  CopyApiRow row{.stream = hex(&stream_, copy.stream),
                 .size = SizeOfCopy(facts, arguments),
                 .width = number(copy.width),
                 .height = number(copy.height),
                 .kind = kind,
                 .destination = hex(&destination_, copy.destination),
                 .source = hex(&source_, copy.source),
                 .destination_device = kind == 1 || kind == 3 ? call.device : -1,
                 .source_device = kind == 2 || kind == 3 ? call.device : -1,
                 .sync = copy.sync,
                 .pinned = false};
  // The host does some copies itself.
  if (call.copy != nullptr) {
    row.destination_device = process_.GpuId(call.copy->head.wide & 0xffff);
    row.source_device = process_.GpuId(call.copy->head.wide >> 16);
    if (copy.size < 0 && copy.width < 0) row.size = Signed(call.copy->bytes);
  }
  if (copy.destination_device >= 0) row.destination_device = number(copy.destination_device);
  if (copy.source_device >= 0) row.source_device = number(copy.source_device);
  writer_->AddCopyApi(call.row, row);
}

void TableSink::WriteFrames(int64_t api, std::span<const uint64_t> frames) {
  if (symbolizer_ == nullptr) {
    const auto maps = base::ReadFile(log_.folder() / "maps", base::kMostText);
    symbolizer_ = std::make_unique<Symbolizer>(maps.ok() ? maps.value() : std::string());
  }
  int64_t depth = 0;
  for (const uint64_t address : frames) {
    int64_t& name = frame_names_[address];
    if (name == 0) name = writer_->String(symbolizer_->Name(address));
    writer_->AddStackFrame({.api = api, .depth = depth++, .name = name});
  }
}

void TableSink::OnKernel(const JoinedKernel& kernel) {
  ++dispatches_;
  const trace::KernelDispatch& dispatch = kernel.dispatch;
  const OpTimes& times = kernel.times;
  const KernelIds& ids = kernels_[kernel.facts.number];
  const uint16_t agent =
      times.agent != trace::kNoAgent ? times.agent : process_.AgentOfQueue(dispatch.head.wide);
  const int64_t queue = process_.first_queue + dispatch.head.wide;
  const bool copies = kernel.moved != nullptr;
  const int64_t op = writer_->AddOp(
      {.gpu = process_.GpuId(agent),
       .queue = queue,
       .sequence = Signed(trace::PacketOf(dispatch.dispatch)),
       .start = Signed(times.begin),
       .end = Signed(times.end),
       .description = ids.description,
       .type = copies ? writer_->String(DirectionOf(*kernel.moved, process_)) : ids.operation});
  if (copies) WriteCopyRow(op, *kernel.moved, times);
  if (times.unfinished) writer_->AddUnfinished({"kernel", op});
  if (times.call_row != 0) writer_->AddApiOp(times.call_row, op);
  writer_->AddDispatch(op, {.api = UnlessZero(times.call_row),
                            .kernel = ids.row,
                            .grid_x = dispatch.grid[0],
                            .grid_y = dispatch.grid[1],
                            .grid_z = dispatch.grid[2],
                            .workgroup_x = dispatch.workgroup[0],
                            .workgroup_y = dispatch.workgroup[1],
                            .workgroup_z = dispatch.workgroup[2],
                            .group_bytes = dispatch.group_bytes,
                            .private_bytes = dispatch.private_bytes,
                            .queue = queue,
                            .agent = agent == trace::kNoAgent ? -1 : agent,
                            .submit = Signed(times.submit),
                            .timed = times.timed});
}

void TableSink::OnCopy(const JoinedCopy& joined) {
  const trace::Copy& copy = joined.copy;
  const OpTimes& times = joined.times;
  const int64_t from = process_.GpuId(copy.head.wide >> 16);
  const int64_t to = process_.GpuId(copy.head.wide & 0xffff);
  const int64_t by = process_.GpuId(times.agent);
  const int64_t op = writer_->AddOp({.gpu = by >= 0 ? by : std::max(from, to),
                                     .queue = process_.first_queue,  // no AQL queue has index 0
                                     .sequence = Signed(copy.copy),
                                     .start = Signed(times.begin),
                                     .end = Signed(times.end),
                                     .description = writer_->String(""),
                                     .type = writer_->String(DirectionOf(copy, process_))});
  if (times.unfinished) writer_->AddUnfinished({"copy", op});
  if (times.call_row != 0) writer_->AddApiOp(times.call_row, op);
  WriteCopyRow(op, copy, times);
}

void TableSink::WriteCopyRow(int64_t op, const trace::Copy& copy, const OpTimes& times) {
  ++copies_;
  const auto agent = [](uint32_t index) {
    return index == trace::kNoAgent ? int64_t{-1} : int64_t{index};
  };
  writer_->AddCopy(op, {.api = UnlessZero(times.call_row),
                        .size = Signed(copy.bytes),
                        .source_agent = agent(copy.head.wide >> 16),
                        .destination_agent = agent(copy.head.wide & 0xffff),
                        .source = Signed(copy.source),
                        .destination = Signed(copy.destination),
                        .width = copy.width,
                        .height = copy.height,
                        .submit = Signed(times.submit),
                        .timed = times.timed});
}

void TableSink::OnRange(const RangePairs::Range& range) {
  const int64_t id = writer_->AddApi({.pid = log_.pid(),
                                      .tid = range.tid,
                                      .start = Signed(range.begin),
                                      .end = Signed(range.end),
                                      .name = writer_->String(range.name),
                                      .category = writer_->String(range.category),
                                      .domain = writer_->String("roctx")},
                                     range.message);
  if (range.unfinished) writer_->AddUnfinished({"range", id});
}

void TableSink::OnAllocation(const AllocationPairs::Allocation& allocation, uint64_t end_ns) {
  writer_->AddAllocation({.pid = log_.pid(),
                          .agent = allocation.record.head.small,
                          .address = Signed(allocation.record.address),
                          .size = Signed(allocation.record.bytes),
                          .flags = allocation.record.head.wide,
                          .start = Signed(allocation.begin_ns),
                          .end = UnlessZero(Signed(end_ns))});
}

void TableSink::OnOverhead(const trace::Event<trace::Overhead>& event) {
  writer_->AddApi({.pid = log_.pid(),
                   .tid = event.thread.tid,
                   .start = Signed(event.begin_ns),
                   .end = Signed(event.end_ns),
                   .name = writer_->String(process_.String(event.record.head.wide)),
                   .category = writer_->String("overhead"),
                   .domain = writer_->String("rochound")},
                  {});
}

void TableSink::OnSwap(const JoinedSwap& swap) {
  const auto row = [&](const KernelFacts* kernel) {
    return kernel == nullptr ? 0 : kernels_[kernel->number].row;
  };
  writer_->AddSwap({.kernel = row(swap.kernel),
                    .candidate = UnlessZero(row(swap.candidate)),
                    .start = Signed(swap.begin_ns),
                    .decision = swap.result,
                    .file = std::string(swap.file),
                    .reason = swap.reason});
}

void TableSink::OnUnrecorded(const trace::Unrecorded& pause) {
  writer_->AddUnrecorded({log_.pid(), Signed(pause.begin_ns), Signed(pause.end_ns), pause.why});
}

void TableSink::OnLost(const LostEvents& lost) {
  writer_->AddLost(
      {.pid = log_.pid(), .what = lost.what, .count = Signed(lost.count), .note = lost.note});
}

// What the process noted of itself at its end, lines name=value.
void TableSink::WriteFacts() {
  const auto text = base::ReadFile(log_.folder() / "facts", base::kMostText);
  if (!text.ok()) return;
  std::set<std::pair<std::string, std::string>> written;
  std::istringstream lines(text.value());
  for (std::string line; std::getline(lines, line);) {
    const size_t sign = line.find('=');
    if (sign == std::string::npos) continue;
    std::string scratch;
    const std::string_view value = base::ToUtf8(std::string_view(line).substr(sign + 1), &scratch);
    const auto [fact, is_new] = written.emplace(line.substr(0, sign), value);
    if (is_new) writer_->AddFact({fact->first, fact->second});
  }
}

void TableSink::OnEnd(const ProcessEnd&) {
  WriteFacts();
  int64_t ppid = 0;
  for (const char digit : log_.Info("ppid"))
    if (digit >= '0' && digit <= '9') ppid = ppid * 10 + (digit - '0');
  writer_->AddProcess({.pid = log_.pid(),
                       .ppid = ppid,
                       .executable = std::string(log_.Info("exe")),
                       .command = std::string(log_.Info("command")),
                       .host = std::string(log_.Info("host")),
                       .start = Signed(log_.begin_ns()),
                       .end = Signed(log_.end_ns()),
                       .calls = calls_,
                       .dispatches = dispatches_,
                       .copies = copies_,
                       .note = log_.finished()   ? ""
                               : log_.replaced() ? "became another program"
                               : log_.running()  ? "still running"
                                                 : "killed"});
}

}  // namespace rochound::store
