// SPDX-License-Identifier: MIT
//
// Writes a trace.rpd (schema in rpd_schema.h) row by row, at millions of rows per second and with
// the same memory for any number of rows. Called by the conversion of a flight log, one thread,
// processes one after the other. The file (rpd_file.h) is complete or not there. Strings are
// interned once for the whole file; every other id is session << 32 plus a count, one session per
// process, as RPD does it. A failed write is reported by Finish.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/rpd_file.h"
#include "store/sqlite_pages.h"

namespace rochound::store {

// Ids are of rows in this file. Times are nanoseconds of CLOCK_MONOTONIC.
struct ApiRow {
  int64_t pid, tid, start, end;
  int64_t name, category, domain;  // strings
  std::string_view args;           // cut to RPD's 4096 bytes
};

struct OpRow {
  int64_t gpu, queue, sequence, start, end;
  int64_t description, type;  // strings
};

struct KernelApiRow {
  int64_t api;
  std::string_view stream;
  uint32_t grid[3], workgroup[3];
  int64_t group_bytes, private_bytes;
  int64_t kernel_name;  // string
};

struct CopyApiRow {
  int64_t api;
  std::string_view stream;
  int64_t size, width, height, kind;
  std::string_view destination, source;
  int64_t destination_device, source_device;
  bool sync, pinned;
};

struct DispatchRow {
  int64_t op;
  int64_t api;  // 0: not known
  int64_t kernel;
  uint32_t grid[3], workgroup[3];
  int64_t group_bytes, private_bytes, queue, agent, submit;
  bool timed;
};

struct CopyRow {
  int64_t op;
  int64_t api;  // 0: not known
  int64_t size, source_agent, destination_agent, source, destination, width, height, submit;
  bool timed;
};

struct AllocationRow {
  int64_t pid, agent, address, size, flags, start;
  int64_t end;  // 0: never given back
};

struct KernelRow {
  std::string_view name, mangled_name;
  int64_t kernel_object, code_object, kernarg_bytes, agent;
};

struct ProcessRow {
  int64_t pid, ppid;
  std::string executable, command, host;
  int64_t start, end, calls, dispatches, copies;
  std::string note;
};

struct AgentRow {
  int64_t agent, node;
  std::string type, name, product, uuid;
  int64_t gpu;  // -1: not a GPU
};

struct QueueRow {
  int64_t queue, agent, hsa_id, packets, created;
};

// Of a process, as it said itself: library, cpu_ns, ...
struct FactRow {
  std::string name, value;
};

// A time of the session's process in which nothing was recorded.
struct UnrecordedRow {
  int64_t pid, start, end;
  std::string why;
};

// What had not ended; the row's id is in rocpd_api (call, range) or rocpd_op (kernel, copy).
struct UnfinishedRow {
  std::string what;
  int64_t id;
};

// What became of a candidate of the kernel cache; kernels are rows of rochound_kernel, 0: none.
struct SwapRow {
  int64_t kernel, candidate, start;
  std::string decision, file, reason;
};

struct LostRow {
  int64_t pid;
  std::string what;
  int64_t count;
  std::string note;
};

class RpdWriter {
 public:
  static base::Result<std::unique_ptr<RpdWriter>> Create(const std::filesystem::path& path);
  ~RpdWriter() = default;
  RpdWriter(const RpdWriter&) = delete;
  RpdWriter& operator=(const RpdWriter&) = delete;

  // The id of the string, the same for equal strings.
  int64_t String(std::string_view text);

  // Rows added from here on belong to the next process. Called before the first row.
  void BeginSession();

  // All of these return the row's id, where it has one of its own.
  int64_t AddApi(const ApiRow& row);
  int64_t AddOp(const OpRow& row);
  void AddApiOp(int64_t api, int64_t op);
  // At most one per call, calls in ascending order; so for copies.
  void AddKernelApi(const KernelApiRow& row);
  void AddCopyApi(const CopyApiRow& row);
  void AddStackFrame(int64_t api, int64_t depth, int64_t name);
  // Calls in ascending order. No result: it is not known.
  void AddFailure(int64_t api, std::optional<int64_t> result);
  void AddDispatch(const DispatchRow& row);  // in the order of op
  void AddCopy(const CopyRow& row);          // in the order of op
  int64_t AddAllocation(const AllocationRow& row);

  // The small tables, kept in memory until Finish.
  int64_t AddKernel(const KernelRow& row);
  void AddAgent(const AgentRow& row);
  void AddQueue(const QueueRow& row);
  void AddFact(FactRow row) { sessions_.back().facts.push_back(std::move(row)); }
  void AddLost(LostRow row) { lost_.push_back(std::move(row)); }
  void AddUnrecorded(UnrecordedRow row) { sessions_.back().unrecorded.push_back(std::move(row)); }
  void AddSwap(SwapRow row) { sessions_.back().swaps.push_back(std::move(row)); }
  void AddUnfinished(UnfinishedRow row) { unfinished_.push_back(std::move(row)); }
  void AddMetadata(std::string tag, std::string value);
  // Ends the session.
  void AddProcess(const ProcessRow& row);

  base::Result<void> Finish();

  uint64_t rows() const { return rows_; }

 private:
  struct Table {
    RpdFile::BigTable* rows = nullptr;
    int64_t next = 1;  // count within the session; for an indexed table, the rowid
  };
  struct Kernel {
    int64_t id, name, mangled_name;
    int64_t kernel_object, code_object, kernarg_bytes, agent;
  };
  struct Session {
    ProcessRow process;
    std::vector<AgentRow> agents;
    std::vector<QueueRow> queues;
    std::vector<FactRow> facts;
    std::vector<UnrecordedRow> unrecorded;
    std::vector<SwapRow> swaps;
  };

  RpdWriter() = default;
  base::Result<void> AddSmallTables(Database& database);
  int64_t Id(Table& table) { return base_ + table.next++; }
  void Put(Table& table, int64_t rowid);

  std::unique_ptr<RpdFile> file_;
  Table api_, ustring_, op_, api_ops_, kernel_api_, copy_api_, stack_frame_, dispatch_, copy_,
      allocation_, failure_;
  Record record_;
  std::string scratch_;
  int64_t session_ = -1;
  int64_t base_ = 0;
  int64_t empty_args_ = 0;  // this session's empty ustring; 0: not made yet
  uint64_t rows_ = 0;

  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::unordered_map<std::string, int64_t, TextHash, std::equal_to<>> string_ids_;
  std::vector<const std::string*> strings_;  // by id - 1; keys of string_ids_
  std::vector<Kernel> kernels_;
  std::vector<Session> sessions_;
  std::vector<LostRow> lost_;
  std::vector<UnfinishedRow> unfinished_;
  std::vector<std::pair<std::string, std::string>> metadata_;
};

}  // namespace rochound::store
