// SPDX-License-Identifier: MIT
#include "store/rpd.h"

#include <unistd.h>

#include <system_error>

#include "base/files.h"
#include "store/database.h"
#include "store/rpd_schema.h"

namespace rochound::store {
namespace {

constexpr size_t kTextBytes = 4096;  // what RPD declares for strings
constexpr int kSessionShift = 32;

// Nobody else has the file, and a half written one is thrown away: no journal, no waiting for
// disks.
constexpr const char* kFastAndAlone =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;";

// At most kTextBytes, and no character cut in two.
std::string_view Cut(std::string_view text) {
  if (text.size() <= kTextBytes) return text;
  size_t end = kTextBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace

base::Result<std::unique_ptr<RpdWriter>> RpdWriter::Create(const std::filesystem::path& path) {
  std::unique_ptr<RpdWriter> writer(new RpdWriter);
  writer->path_ = path;
  writer->partial_ = path;
  writer->partial_ += ".partial-" + std::to_string(getpid());
  std::error_code ignored;
  std::filesystem::remove(writer->partial_, ignored);
  ROCHOUND_CHECK(writer->MakeSchema());
  writer->String("");  // id 1, as in RPD
  return writer;
}

RpdWriter::~RpdWriter() {
  std::error_code ignored;
  if (!partial_.empty()) std::filesystem::remove(partial_, ignored);
}

base::Result<void> RpdWriter::MakeSchema() {
  struct Place {
    const char* name;
    Table* table;
  };
  const Place places[] = {
      {"rocpd_api", &api_},
      {"rocpd_ustring", &ustring_},
      {"rocpd_op", &op_},
      {"rocpd_api_ops", &api_ops_},
      {"rocpd_kernelapi", &kernel_api_},
      {"rocpd_copyapi", &copy_api_},
      {"rocpd_stackframe", &stack_frame_},
      {"rochound_dispatch", &dispatch_},
      {"rochound_copy", &copy_},
      {"rochound_allocation", &allocation_},
  };
  struct Roots {
    int64_t table, index;
  };
  std::vector<Roots> roots;
  {
    ROCHOUND_TRY(Database database, Database::Open(partial_, Database::Mode::kCreate));
    ROCHOUND_CHECK(database.Run("PRAGMA page_size = 16384; PRAGMA auto_vacuum = 0;"));
    ROCHOUND_CHECK(database.Run(kFastAndAlone));
    for (const char* sql : {"BEGIN;", kRpdTables, kRochoundTables, kRpdViews, "COMMIT;"})
      ROCHOUND_CHECK(database.Run(sql));
    ROCHOUND_TRY(
        Statement root,
        database.Prepare("SELECT rootpage FROM sqlite_master WHERE tbl_name = ? AND "
                         "type = ? AND (type = 'table' OR name LIKE 'sqlite_autoindex%')"));
    for (const Place& place : places) {
      Roots found{};
      root.BindAll(std::string_view(place.name), std::string_view("table"));
      ROCHOUND_TRY(const bool table, root.Step());
      if (!table) return base::Error{std::string("no table ") + place.name};
      found.table = root.Int(0);
      root.Reset();
      root.BindAll(std::string_view(place.name), std::string_view("index"));
      ROCHOUND_TRY(const bool index, root.Step());
      if (index) found.index = root.Int(0);
      root.Reset();
      roots.push_back(found);
    }
  }
  ROCHOUND_TRY(file_, PageFile::Open(partial_));
  for (size_t i = 0; i < roots.size(); ++i) {
    Table& table = *places[i].table;
    table.name = places[i].name;
    table.tree = std::make_unique<TreeBuilder>(file_.get(), TreeBuilder::Kind::kTable,
                                               static_cast<uint32_t>(roots[i].table));
    if (roots[i].index != 0) {
      table.index = std::make_unique<TreeBuilder>(file_.get(), TreeBuilder::Kind::kIndex,
                                                  static_cast<uint32_t>(roots[i].index));
    }
  }
  return {};
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
  table.tree->AddRow(rowid, record_);
  table.last = rowid;
  ++rows_;
}

int64_t RpdWriter::AddApi(const ApiRow& row) {
  int64_t args = empty_args_;
  if (args == 0 || !row.args.empty()) {
    args = Id(ustring_);
    if (row.args.empty()) empty_args_ = args;
    record_.Clear();
    record_.Null();
    record_.Text(Cut(row.args));
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
  kernel_api_.index->AddEntry(record_);
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
  copy_api_.index->AddEntry(record_);
}

void RpdWriter::AddStackFrame(int64_t api, int64_t depth, int64_t name) {
  record_.Clear();
  record_.Null();
  record_.Ints(api, depth, name);
  Put(stack_frame_, Id(stack_frame_));
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

base::Result<void> RpdWriter::AddSmallTables() {
  ROCHOUND_TRY(Database database, Database::Open(partial_, Database::Mode::kWrite));
  ROCHOUND_CHECK(database.Run(kFastAndAlone));
  ROCHOUND_CHECK(database.Run("BEGIN"));

  ROCHOUND_TRY(Statement string, database.Prepare("INSERT INTO rocpd_string VALUES (?, ?)"));
  int64_t id = 0;
  for (const std::string* text : strings_) {
    string.BindAll(++id, std::string_view(*text));
    ROCHOUND_CHECK(string.Run());
  }
  ROCHOUND_TRY(Statement sequence, database.Prepare("INSERT INTO sqlite_sequence VALUES (?, ?)"));
  for (const Table* table : {&api_, &ustring_, &op_, &api_ops_, &stack_frame_}) {
    if (table->last == 0) continue;
    sequence.BindAll(std::string_view(table->name), table->last);
    ROCHOUND_CHECK(sequence.Run());
  }
  ROCHOUND_TRY(Statement metadata,
               database.Prepare("INSERT INTO rocpd_metadata(tag, value) VALUES (?, ?)"));
  AddMetadata("session_count", std::to_string(sessions_.size()));
  for (const auto& [tag, value] : metadata_) {
    metadata.BindAll(std::string_view(tag), std::string_view(value));
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
  int64_t number = 0;
  for (const Session& session : sessions_) {
    const ProcessRow& row = session.process;
    process.BindAll(number, row.pid, row.ppid, std::string_view(row.executable),
                    std::string_view(row.command), std::string_view(row.host), row.start, row.end,
                    row.calls, row.dispatches, row.copies, std::string_view(row.note));
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
    ++number;
  }
  ROCHOUND_TRY(Statement lost,
               database.Prepare("INSERT INTO rochound_lost(pid, what, count, note) VALUES "
                                "(?, ?, ?, ?)"));
  for (const LostRow& row : lost_) {
    lost.BindAll(row.pid, std::string_view(row.what), row.count, std::string_view(row.note));
    ROCHOUND_CHECK(lost.Run());
  }
  ROCHOUND_CHECK(database.Run(kRpdIndexes));
  return database.Run("COMMIT");
}

base::Result<void> RpdWriter::Finish() {
  for (Table* table : {&api_, &ustring_, &op_, &api_ops_, &kernel_api_, &copy_api_, &stack_frame_,
                       &dispatch_, &copy_, &allocation_}) {
    table->tree->Finish();
    if (table->index) table->index->Finish();
  }
  ROCHOUND_CHECK(file_->Finish());
  file_.reset();
  ROCHOUND_CHECK(AddSmallTables());
  if (rename(partial_.c_str(), path_.c_str()) != 0)
    return base::ErrnoError("cannot make", path_, errno);
  partial_.clear();
  return {};
}

}  // namespace rochound::store
