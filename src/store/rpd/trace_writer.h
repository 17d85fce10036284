// SPDX-License-Identifier: MIT
//
// Takes the rows of a trace (trace_schema.h) one after the other and gives them their ids: into an
// .rpd (rpd.h) or into DuckDB (duck_writer.h). Called by the conversion of a flight log, one
// thread, processes one after the other. Strings are interned once for the whole trace; every other
// id is session << 32 plus a count, one session per process, as RPD does it. A failed write is
// reported by Finish.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/result.h"
#include "store/rpd/trace_schema.h"

namespace rochound::store {

class TraceWriter {
 public:
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  virtual ~TraceWriter() = default;

  // The id of the string, the same for equal strings.
  int64_t String(std::string_view text);

  // Rows added from here on belong to the next process. Called before the first row of one.
  void BeginSession();

  // Those with an id of their own return it. args: cut to RPD's 4096 bytes.
  int64_t AddApi(ApiRow row, std::string_view args);
  int64_t AddOp(const OpRow& row);
  void AddApiOp(int64_t api, int64_t op) { Write(base_ + ++counts_.api_op, ApiOpRow{api, op}); }
  // At most one per call, calls in ascending order; so for copies and failures.
  void AddKernelApi(int64_t api, const KernelApiRow& row) { Write(api, row); }
  void AddCopyApi(int64_t api, const CopyApiRow& row) { Write(api, row); }
  void AddFailure(int64_t api, const FailureRow& row) { Write(api, row); }
  void AddStackFrame(const StackFrameRow& row) { Write(base_ + ++counts_.stack_frame, row); }
  void AddDispatch(int64_t op, const DispatchRow& row) { Write(op, row); }  // in the order of op
  void AddCopy(int64_t op, const CopyRow& row) { Write(op, row); }          // in the order of op
  int64_t AddAllocation(const AllocationRow& row);
  int64_t AddKernel(const KernelRow& row);
  void AddAgent(const AgentRow& row) { Write(session_, row); }
  void AddQueue(const QueueRow& row) { Write(session_, row); }
  // Each once in a process.
  void AddFact(const FactRow& row) { Write(session_, row); }
  void AddUnrecorded(const UnrecordedRow& row) { Write(base_ + ++counts_.unrecorded, row); }
  void AddSwap(const SwapRow& row) { Write(base_ + ++counts_.swap, row); }
  void AddUnfinished(const UnfinishedRow& row) { Write(0, row); }
  void AddLost(const LostRow& row) { Write(++lost_, row); }
  void AddMetadata(std::string tag, std::string value);
  // Ends the session.
  void AddProcess(const ProcessRow& row) { Write(session_, row); }

  // Makes the trace complete. Nothing may be added afterwards.
  base::Result<void> Finish();

 protected:
  TraceWriter() = default;
  // The rows that every trace has, once the tables are there.
  void Begin();

 private:
  // key: the value of the table's first column, where it is not in the row.
#define ROCHOUND_WRITE(Row) virtual void Write(int64_t key, const Row& row) = 0;
  ROCHOUND_TRACE_ROWS(ROCHOUND_WRITE)
#undef ROCHOUND_WRITE
  virtual base::Result<void> Close() = 0;

  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  // Rows of the session so far.
  struct Counts {
    int64_t api = 0, ustring = 0, op = 0, api_op = 0, stack_frame = 0, allocation = 0;
    int64_t unrecorded = 0, swap = 0;
  };

  std::unordered_map<std::string, int64_t, TextHash, std::equal_to<>> strings_;
  int64_t session_ = -1;
  int64_t base_ = 0;
  int64_t empty_args_ = 0;  // the empty ustring of the session; 0: not made yet
  Counts counts_;
  int64_t kernels_ = 0, lost_ = 0, metadata_ = 0;
};

}  // namespace rochound::store
