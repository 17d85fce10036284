// SPDX-License-Identifier: MIT
#include "store/rpd.h"

#include <utility>

#include "base/utf8.h"
#include "store/database.h"

namespace rochound::store {
namespace {

constexpr int kSessionShift = 32;

}  // namespace

base::Result<std::unique_ptr<RpdWriter>> RpdWriter::Create(const std::filesystem::path& path) {
  std::unique_ptr<RpdWriter> writer(new RpdWriter);
  ROCHOUND_TRY(writer->file_, RpdFile::Create(path));
  const std::pair<const char*, Table*> places[] = {
      {"rocpd_api", &writer->api_},
      {"rocpd_ustring", &writer->ustring_},
      {"rocpd_op", &writer->op_},
      {"rocpd_api_ops", &writer->api_ops_},
      {"rocpd_kernelapi", &writer->kernel_api_},
      {"rocpd_copyapi", &writer->copy_api_},
      {"rocpd_stackframe", &writer->stack_frame_},
      {"rochound_dispatch", &writer->dispatch_},
      {"rochound_copy", &writer->copy_},
      {"rochound_allocation", &writer->allocation_},
      {"rochound_failure", &writer->failure_},
  };
  for (const auto& [name, table] : places) table->rows = writer->file_->Find(name);
  writer->String("");  // id 1, as in RPD
  return writer;
}

int64_t RpdWriter::String(std::string_view text) {
  const auto found = string_ids_.find(text);
  if (found != string_ids_.end()) return found->second;
  const auto id = static_cast<int64_t>(strings_.size()) + 1;
  strings_.push_back(&string_ids_.emplace(text, id).first->first);
  return id;
}

void RpdWriter::BeginSession() {
  ++session_;
  base_ = session_ << kSessionShift;
  empty_args_ = 0;
  sessions_.emplace_back();
  for (Table* table : {&api_, &ustring_, &op_, &api_ops_, &stack_frame_, &allocation_})
    table->next = 1;
}

void RpdWriter::Put(Table& table, int64_t rowid) {
  table.rows->Put(rowid, record_);
  ++rows_;
}

int64_t RpdWriter::AddApi(const ApiRow& row) {
  int64_t args = empty_args_;
  if (args == 0 || !row.args.empty()) {
    args = Id(ustring_);
    if (row.args.empty()) empty_args_ = args;
    record_.Clear();
    record_.Null();
    record_.Text(base::ToUtf8(RpdFile::Cut(row.args), &scratch_));
    Put(ustring_, args);
  }
  const int64_t id = Id(api_);
  record_.Clear();
  record_.Null();
  record_.Ints(row.pid, row.tid, row.start, row.end, row.name, row.category, row.domain, args);
  Put(api_, id);
  return id;
}

int64_t RpdWriter::AddOp(const OpRow& row) {
  const int64_t id = Id(op_);
  record_.Clear();
  record_.Null();
  record_.Ints(row.gpu, row.queue, row.sequence, row.start, row.end, row.description, row.type);
  Put(op_, id);
  return id;
}

void RpdWriter::AddApiOp(int64_t api, int64_t op) {
  record_.Clear();
  record_.Null();
  record_.Ints(api, op);
  Put(api_ops_, Id(api_ops_));
}

void RpdWriter::AddKernelApi(const KernelApiRow& row) {
  const int64_t rowid = kernel_api_.next++;
  record_.Clear();
  record_.Int(row.api);
  record_.Text(row.stream);
  record_.Ints(row.grid[0], row.grid[1], row.grid[2], row.workgroup[0], row.workgroup[1],
               row.workgroup[2], row.group_bytes, row.private_bytes, row.kernel_name);
  Put(kernel_api_, rowid);
  record_.Clear();
  record_.Ints(row.api, rowid);
  kernel_api_.rows->index->AddEntry(record_);
}

void RpdWriter::AddCopyApi(const CopyApiRow& row) {
  const int64_t rowid = copy_api_.next++;
  record_.Clear();
  record_.Int(row.api);
  record_.Text(row.stream);
  record_.Ints(row.size, row.width, row.height, row.kind);
  record_.Text(row.destination);
  record_.Text(row.source);
  record_.Ints(row.destination_device, row.source_device, row.sync, row.pinned);
  Put(copy_api_, rowid);
  record_.Clear();
  record_.Ints(row.api, rowid);
  copy_api_.rows->index->AddEntry(record_);
}

void RpdWriter::AddStackFrame(int64_t api, int64_t depth, int64_t name) {
  record_.Clear();
  record_.Null();
  record_.Ints(api, depth, name);
  Put(stack_frame_, Id(stack_frame_));
}

void RpdWriter::AddFailure(int64_t api, std::optional<int64_t> result) {
  record_.Clear();
  record_.Null();
  result ? record_.Int(*result) : record_.Null();
  Put(failure_, api);
}

void RpdWriter::AddDispatch(const DispatchRow& row) {
  record_.Clear();
  record_.Null();
  row.api != 0 ? record_.Int(row.api) : record_.Null();
  record_.Ints(row.kernel, row.grid[0], row.grid[1], row.grid[2], row.workgroup[0],
               row.workgroup[1], row.workgroup[2], row.group_bytes, row.private_bytes, row.queue,
               row.agent, row.submit, row.timed);
  Put(dispatch_, row.op);
}

void RpdWriter::AddCopy(const CopyRow& row) {
  record_.Clear();
  record_.Null();
  row.api != 0 ? record_.Int(row.api) : record_.Null();
  record_.Ints(row.size, row.source_agent, row.destination_agent, row.source, row.destination,
               row.width, row.height, row.submit, row.timed);
  Put(copy_, row.op);
}

int64_t RpdWriter::AddAllocation(const AllocationRow& row) {
  const int64_t id = Id(allocation_);
  record_.Clear();
  record_.Null();
  record_.Ints(row.pid, row.agent, row.address, row.size, row.flags, row.start);
  row.end != 0 ? record_.Int(row.end) : record_.Null();
  Put(allocation_, id);
  return id;
}

int64_t RpdWriter::AddKernel(const KernelRow& row) {
  const auto id = static_cast<int64_t>(kernels_.size()) + 1;
  kernels_.push_back({id, String(row.name), String(row.mangled_name), row.kernel_object,
                      row.code_object, row.kernarg_bytes, row.agent});
  return id;
}

void RpdWriter::AddAgent(const AgentRow& row) { sessions_.back().agents.push_back(row); }
void RpdWriter::AddQueue(const QueueRow& row) { sessions_.back().queues.push_back(row); }
void RpdWriter::AddProcess(const ProcessRow& row) { sessions_.back().process = row; }

void RpdWriter::AddMetadata(std::string tag, std::string value) {
  metadata_.emplace_back(std::move(tag), std::move(value));
}

base::Result<void> RpdWriter::AddSmallTables(Database& database) {
  ROCHOUND_TRY(Statement string, database.Prepare("INSERT INTO rocpd_string VALUES (?, ?)"));
  int64_t id = 0;
  for (const std::string* text : strings_) {
    string.BindAll(++id, base::ToUtf8(*text, &scratch_));
    ROCHOUND_CHECK(string.Run());
  }
  ROCHOUND_TRY(Statement metadata,
               database.Prepare("INSERT INTO rocpd_metadata(tag, value) VALUES (?, ?)"));
  AddMetadata("session_count", std::to_string(sessions_.size()));
  for (const auto& [tag, value] : metadata_) {
    metadata.BindAll(std::string_view(tag), base::ToUtf8(value, &scratch_));
    ROCHOUND_CHECK(metadata.Run());
  }
  ROCHOUND_TRY(Statement kernel,
               database.Prepare("INSERT INTO rochound_kernel VALUES (?, ?, ?, ?, ?, ?, ?)"));
  for (const Kernel& row : kernels_) {
    kernel.BindAll(row.id, row.name, row.mangled_name, row.kernel_object, row.code_object,
                   row.kernarg_bytes, row.agent);
    ROCHOUND_CHECK(kernel.Run());
  }
  ROCHOUND_TRY(Statement process, database.Prepare("INSERT INTO rochound_process VALUES "
                                                   "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  ROCHOUND_TRY(Statement agent,
               database.Prepare("INSERT INTO rochound_agent VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  ROCHOUND_TRY(Statement queue,
               database.Prepare("INSERT INTO rochound_queue VALUES (?, ?, ?, ?, ?, ?)"));
  ROCHOUND_TRY(Statement fact,
               database.Prepare("INSERT OR IGNORE INTO rochound_fact VALUES (?, ?, ?)"));
  ROCHOUND_TRY(Statement unrecorded,
               database.Prepare("INSERT INTO rochound_unrecorded VALUES (?, ?, ?, ?, ?)"));
  ROCHOUND_TRY(Statement swap,
               database.Prepare("INSERT INTO rochound_swap VALUES (?, ?, ?, ?, ?, ?, ?)"));
  int64_t number = 0;
  for (const Session& session : sessions_) {
    int64_t unrecorded_id = number << kSessionShift;
    for (const UnrecordedRow& one : session.unrecorded) {
      unrecorded.BindAll(++unrecorded_id, one.pid, one.start, one.end, std::string_view(one.why));
      ROCHOUND_CHECK(unrecorded.Run());
    }
    int64_t swap_id = number << kSessionShift;
    for (const SwapRow& one : session.swaps) {
      swap.BindAll(++swap_id, one.kernel, one.candidate, one.start, std::string_view(one.decision),
                   base::ToUtf8(one.file, &scratch_), std::string_view(one.reason));
      if (one.candidate == 0) swap.BindNull(2);
      ROCHOUND_CHECK(swap.Run());
    }
    const ProcessRow& row = session.process;
    std::string executable, command, host;
    process.BindAll(number, row.pid, row.ppid, base::ToUtf8(row.executable, &executable),
                    base::ToUtf8(row.command, &command), base::ToUtf8(row.host, &host), row.start,
                    row.end, row.calls, row.dispatches, row.copies, std::string_view(row.note));
    ROCHOUND_CHECK(process.Run());
    for (const AgentRow& one : session.agents) {
      agent.BindAll(number, one.agent, one.node, std::string_view(one.type),
                    std::string_view(one.name), std::string_view(one.product),
                    std::string_view(one.uuid), one.gpu);
      if (one.gpu < 0) agent.BindNull(7);
      ROCHOUND_CHECK(agent.Run());
    }
    for (const QueueRow& one : session.queues) {
      queue.BindAll(number, one.queue, one.agent, one.hsa_id, one.packets, one.created);
      ROCHOUND_CHECK(queue.Run());
    }
    for (const FactRow& one : session.facts) {
      fact.BindAll(number, std::string_view(one.name), base::ToUtf8(one.value, &scratch_));
      ROCHOUND_CHECK(fact.Run());
    }
    ++number;
  }
  ROCHOUND_TRY(Statement unfinished,
               database.Prepare("INSERT INTO rochound_unfinished VALUES (?, ?)"));
  for (const UnfinishedRow& row : unfinished_) {
    unfinished.BindAll(std::string_view(row.what), row.id);
    ROCHOUND_CHECK(unfinished.Run());
  }
  ROCHOUND_TRY(Statement lost,
               database.Prepare("INSERT INTO rochound_lost(pid, what, count, note) VALUES "
                                "(?, ?, ?, ?)"));
  for (const LostRow& row : lost_) {
    lost.BindAll(row.pid, std::string_view(row.what), row.count, std::string_view(row.note));
    ROCHOUND_CHECK(lost.Run());
  }
  return {};
}

base::Result<void> RpdWriter::Finish() {
  return file_->Finish([this](Database& database) { return AddSmallTables(database); });
}

}  // namespace rochound::store
