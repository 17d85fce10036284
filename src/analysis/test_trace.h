// SPDX-License-Identifier: MIT
//
// Small traces for tests, from plain data: fill a TestTrace, then ask its Open()ed database. What
// is left out gets values that fit: ids count from 1, a kernel's operation gets its dispatch row,
// its call a row in rocpd_kernelapi. In what is written by hand a nanosecond is a nanosecond.
//
//   TestTrace trace;
//   const int64_t launch = trace.Call({.start = 10, .end = 20, .name = "hipLaunchKernel", .stream =
//   "0x1a"}); trace.Kernel({.start = 25, .end = 40, .name = "Add", .call = launch});
//   store::TraceDatabase database = trace.Open();
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/open/duck.h"
#include "store/open/trace_database.h"
#include "store/open/trace_tables.h"

namespace rochound::analysis {

inline constexpr int64_t kNoTestCall = 0;

struct TestCall {
  int64_t pid = 1, tid = 1;
  int64_t start = 0, end = 0;
  std::string name = "hipLaunchKernel";
  std::string args{};
  std::string domain = "hip";
  std::string category{};
  std::optional<std::string> stream{};  // a row of rocpd_kernelapi or rocpd_copyapi, if it has work
  std::optional<int64_t> result{};      // if it was no success
  int64_t id = 0;
};

struct TestOp {
  int64_t gpu = 0, queue = 0;
  int64_t start = 0, end = 0;
  std::string name = "Kernel";
  std::string type = "KernelExecution";
  int64_t call = kNoTestCall;
  std::optional<int64_t> submit{};  // not given: the start of its call, or its own
  int64_t grid[3] = {64, 1, 1}, workgroup[3] = {64, 1, 1};
  int64_t bytes = 0;        // of a copy
  int64_t code_object = 0;  // of a kernel; the first launch from it loads it
  bool timed = true;
  int64_t id = 0;
  bool is_copy = false;
};

struct TestTrace {
  std::vector<TestCall> calls;
  std::vector<TestOp> ops;
  struct Lost {
    std::string what;
    int64_t count = 1;
    std::string note{};
  };
  std::vector<Lost> lost;
  struct Process {
    int64_t pid = 1, parent = 0;
    int64_t start = 0, end = 0;
  };
  std::vector<Process> processes;
  struct Unrecorded {
    int64_t start = 0, end = 0;
    std::string why = "paused";
  };
  std::vector<Unrecorded> unrecorded;

  int64_t Call(TestCall call) {
    if (call.id == 0) call.id = static_cast<int64_t>(calls.size()) + 1;
    calls.push_back(std::move(call));
    return calls.back().id;
  }
  // A range that the program pushed and popped.
  int64_t Range(int64_t start, int64_t end, std::string message, int64_t tid = 1) {
    return Call({.tid = tid,
                 .start = start,
                 .end = end,
                 .name = "UserMarker",
                 .args = std::move(message),
                 .domain = "roctx"});
  }
  int64_t Kernel(TestOp op) { return Add(std::move(op)); }
  int64_t Copy(TestOp op) {
    if (op.type == "KernelExecution") op.type = "CopyHostToDevice";
    if (op.name == "Kernel") op.name.clear();
    op.is_copy = true;
    return Add(std::move(op));
  }

  const TestCall* FindCall(int64_t id) const {
    for (const TestCall& call : calls)
      if (call.id == id) return &call;
    return nullptr;
  }
  const TestOp* FindOp(int64_t id) const {
    for (const TestOp& op : ops)
      if (op.id == id) return &op;
    return nullptr;
  }
  int64_t SubmitOf(const TestOp& op) const {
    if (op.submit) return *op.submit;
    const TestCall* const call = FindCall(op.call);
    return call != nullptr ? call->start : op.start;
  }

  store::TraceDatabase Open() const {
    auto trace = store::TraceDatabase::Empty(
        {.memory_bytes = uint64_t{1} << 30, .threads = 1, .spill_directory = {}});
    EXPECT_TRUE(trace.ok()) << trace.error().message;
    Fill(trace.value());
    return std::move(trace).value();
  }

  // Replaces what the database holds.
  void Fill(store::TraceDatabase& database) const {
    store::duck::Connection& connection = database.connection();
    Good(connection.Run("BEGIN"));  // a transaction per table would take most of a test's time
    for (const char* table :
         {"rocpd_string", "rocpd_ustring", "rocpd_api", "rocpd_op", "rocpd_api_ops",
          "rocpd_kernelapi", "rocpd_copyapi", "rochound_dispatch", "rochound_copy",
          "rochound_kernel", "rochound_process", "rochound_agent", "rochound_queue",
          "rochound_failure", "rochound_lost", "rochound_unrecorded"})
      Good(connection.Run(std::string("TRUNCATE ") + table));
    std::map<std::string, int64_t> strings = {{"", 1}};
    const auto string = [&](const std::string& text) {
      return strings.emplace(text, static_cast<int64_t>(strings.size()) + 1).first->second;
    };
    std::map<int64_t, const TestOp*> first_op;
    for (const TestOp& op : ops)
      if (op.call != kNoTestCall) first_op.emplace(op.call, &op);

    {
      store::duck::Appender api = Append(connection, "rocpd_api");
      store::duck::Appender ustring = Append(connection, "rocpd_ustring");
      store::duck::Appender kernel = Append(connection, "rocpd_kernelapi");
      store::duck::Appender copy = Append(connection, "rocpd_copyapi");
      store::duck::Appender failure = Append(connection, "rochound_failure");
      for (const TestCall& call : calls) {
        if (call.result) failure.Int(call.id).Int(*call.result).EndRow();
        ustring.Int(call.id).Text(call.args).EndRow();
        Ints(api, {call.id, call.pid, call.tid, call.start, call.end, string(call.name),
                   string(call.category), string(call.domain), call.id});
        api.EndRow();
        const auto work = first_op.find(call.id);
        if (work == first_op.end() || !call.stream) continue;
        const TestOp& op = *work->second;
        if (op.is_copy) {
          copy.Int(call.id).Text(call.stream.value_or(""));
          Ints(copy, {op.bytes, 0, 0, 1});
          copy.Text("0x0").Text("0x0");
          const bool waits = call.name.find("Async") == std::string::npos;
          Ints(copy, {0, -1, waits ? 1 : 0, 0});
          copy.EndRow();
        } else {
          kernel.Int(call.id).Text(call.stream.value_or(""));
          Ints(kernel, {op.grid[0], op.grid[1], op.grid[2], op.workgroup[0], op.workgroup[1],
                        op.workgroup[2], 0, 0, string(op.name)});
          kernel.EndRow();
        }
      }
      for (store::duck::Appender* one : {&api, &ustring, &kernel, &copy, &failure})
        Good(one->Finish());
    }
    {
      store::duck::Appender rows = Append(connection, "rocpd_op");
      store::duck::Appender links = Append(connection, "rocpd_api_ops");
      store::duck::Appender dispatch = Append(connection, "rochound_dispatch");
      store::duck::Appender copy = Append(connection, "rochound_copy");
      store::duck::Appender kernel = Append(connection, "rochound_kernel");
      std::map<std::string, int64_t> kernels;
      int64_t link = 0;
      for (const TestOp& op : ops) {
        Ints(rows,
             {op.id, op.gpu, op.queue, op.id, op.start, op.end, string(op.name), string(op.type)});
        rows.EndRow();
        if (op.call != kNoTestCall) {
          Ints(links, {++link, op.call, op.id});
          links.EndRow();
        }
        store::duck::Appender& detail = op.is_copy ? copy : dispatch;
        detail.Int(op.id);
        op.call != kNoTestCall ? detail.Int(op.call) : detail.Null();
        if (op.is_copy) {
          Ints(detail, {op.bytes, -1, 1, 0, 0, 0, 0, SubmitOf(op), op.timed ? 1 : 0});
        } else {
          const auto [at, is_new] =
              kernels.emplace(op.name, static_cast<int64_t>(kernels.size()) + 1);
          if (is_new) {
            Ints(kernel, {at->second, string(op.name), string(op.name), 0, op.code_object, 0, 1});
            kernel.EndRow();
          }
          Ints(detail,
               {at->second, op.grid[0], op.grid[1], op.grid[2], op.workgroup[0], op.workgroup[1],
                op.workgroup[2], 0, 0, op.queue, 1, SubmitOf(op), op.timed ? 1 : 0});
        }
        detail.EndRow();
      }
      for (store::duck::Appender* one : {&rows, &links, &dispatch, &copy, &kernel})
        Good(one->Finish());
    }
    {
      store::duck::Appender rows = Append(connection, "rocpd_string");
      for (const auto& [text, id] : strings) rows.Int(id).Text(text).EndRow();
      Good(rows.Finish());
    }
    if (!processes.empty()) {
      store::duck::Appender rows = Append(connection, "rochound_process");
      int64_t session = 0;
      for (const Process& one : processes) {
        Ints(rows, {session++, one.pid, one.parent});
        rows.Text("program").Text("program").Text("host");
        Ints(rows, {one.start, one.end, 0, 0, 0});
        rows.Text("").EndRow();
      }
      Good(rows.Finish());
    }
    if (!lost.empty()) {
      store::duck::Appender rows = Append(connection, "rochound_lost");
      int64_t id = 0;
      for (const Lost& one : lost)
        rows.Int(++id).Int(1).Text(one.what).Int(one.count).Text(one.note).EndRow();
      Good(rows.Finish());
    }
    if (!unrecorded.empty()) {
      store::duck::Appender rows = Append(connection, "rochound_unrecorded");
      int64_t id = 0;
      for (const Unrecorded& one : unrecorded)
        rows.Int(++id).Int(1).Int(one.start).Int(one.end).Text(one.why).EndRow();
      Good(rows.Finish());
    }
    Good(connection.Run("COMMIT"));
  }

 private:
  int64_t Add(TestOp op) {
    if (op.id == 0) op.id = static_cast<int64_t>(ops.size()) + 1;
    ops.push_back(std::move(op));
    return ops.back().id;
  }

  static void Good(const base::Result<void>& result) {
    EXPECT_TRUE(result.ok()) << result.error().message;
  }
  static store::duck::Appender Append(store::duck::Connection& connection, const char* table) {
    auto appender = connection.Append("main", table);
    EXPECT_TRUE(appender.ok()) << appender.error().message;
    return std::move(appender).value();
  }
  static void Ints(store::duck::Appender& to, std::initializer_list<int64_t> values) {
    for (const int64_t value : values) to.Int(value);
  }
};

}  // namespace rochound::analysis
