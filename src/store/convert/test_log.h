// SPDX-License-Identifier: MIT
//
// Flight logs for tests, written by the real writer. Times are given in nanoseconds: when the log
// is done its clock anchors are rewritten so that a time stamp is a time, exactly.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "trace/layout.h"
#include "trace/writer.h"

namespace rochound::store {

class TestLog {
 public:
  explicit TestLog(const std::string& run, trace::Writer::Options options = {}) {
    options.directory = run;
    std::string error;
    writer_ = trace::Writer::Open(options, &error);
    if (writer_ == nullptr) ADD_FAILURE() << error;
    writer_->Maintain();
    writer_->WriteText("info", kInfo);
    writer_->WriteText("functions", kFunctions);
    drain_ = writer_->Attach();
  }

  trace::Writer* writer() { return writer_; }
  trace::ThreadLog* drain() { return drain_; }  // another thread's, for times
  trace::ThreadLog* NewThread() { return writer_->Attach(); }

  template <typename T, typename Fill>
  void Put(trace::ThreadLog* log, uint16_t small, uint32_t wide, Fill fill) {
    T* record = log->Reserve<T>();
    if (record == nullptr) {
      writer_->Maintain();
      record = log->Reserve<T>();
    }
    ASSERT_NE(record, nullptr);
    fill(*record);
    log->Commit(record, small, wide);
    if (writer_->hurry()) writer_->Maintain();
  }

  void Call(trace::ThreadLog* log, uint16_t function, uint64_t begin, uint64_t end,
            uint64_t correlation, const std::vector<uint64_t>& words = {}, uint32_t result = 0) {
    for (size_t first = 0; first < words.size(); first += 6) {
      const size_t count = std::min<size_t>(6, words.size() - first);
      Put<trace::ApiArguments>(log, static_cast<uint16_t>(count), static_cast<uint32_t>(first),
                               [&](auto& record) {
                                 record.correlation = correlation;
                                 std::copy_n(&words[first], count, record.words);
                               });
    }
    Put<trace::ApiCall>(log, function, result, [&](auto& record) {
      record.begin_tsc = begin;
      record.end_tsc = end;
      record.correlation = correlation;
    });
  }

  void Kernel(uint32_t id, std::string_view name) {
    Put<trace::KernelSymbol>(drain_, 1, id, [&](auto& record) {
      record.kernel_object = 0x1000 * id;
      record.name = writer_->Intern(name);
      record.code_object = 1;
      record.kernarg_bytes = 64;
    });
  }

  void Queue(uint32_t index, uint16_t agent) {
    Put<trace::Queue>(drain_, agent, index, [&](auto& record) {
      record.hsa_id = 77;
      record.packets = 16384;
      record.now_tsc = kStart;
    });
  }

  static uint64_t Number(uint32_t queue, uint64_t packet) {
    return trace::DispatchNumber(queue, packet);
  }

  void Dispatch(trace::ThreadLog* log, uint64_t correlation, uint32_t queue, uint64_t packet,
                uint32_t kernel, uint64_t submit) {
    Put<trace::KernelDispatch>(log, 0, queue, [&](auto& record) {
      record.correlation = correlation;
      record.dispatch = Number(queue, packet);
      record.submit_tsc = submit;
      record.kernel = kernel;
      record.grid[0] = 256, record.grid[1] = 2, record.grid[2] = 1;
      record.workgroup[0] = 64, record.workgroup[1] = 1, record.workgroup[2] = 1;
      record.dimensions = 2;
      record.group_bytes = 512;
      record.private_bytes = 16;
    });
  }

  void Time(uint32_t queue, uint64_t packet, uint16_t agent, uint64_t begin, uint64_t end) {
    Put<trace::KernelTime>(drain_, agent, queue, [&](auto& record) {
      record.dispatch = Number(queue, packet);
      record.begin_ticks = begin;
      record.end_ticks = end;
    });
  }

  void Copy(trace::ThreadLog* log, uint64_t correlation, uint64_t number, trace::CopyKind kind,
            uint16_t from, uint16_t to, uint64_t bytes, uint64_t submit) {
    Put<trace::Copy>(log, static_cast<uint16_t>(kind), uint32_t{from} << 16 | to,
                     [&](auto& record) {
                       record.correlation = correlation;
                       record.copy = number;
                       record.submit_tsc = submit;
                       record.bytes = bytes;
                       record.destination = 0xd000;
                       record.source = 0x5000;
                       record.width = record.height = 0;
                     });
  }

  void CopyTime(uint64_t number, uint16_t agent, uint64_t begin, uint64_t end) {
    Put<trace::CopyTime>(drain_, agent, 0, [&](auto& record) {
      record.copy = number;
      record.begin_ticks = begin;
      record.end_ticks = end;
    });
  }

  void Range(trace::ThreadLog* log, trace::RangeKind kind, std::string_view message, uint64_t now,
             uint64_t range = 0) {
    Put<trace::Range>(log, static_cast<uint16_t>(kind), writer_->Intern(message),
                      [&](auto& record) {
                        record.now_tsc = now;
                        record.range = range;
                        record.correlation = log->NextCorrelation();
                      });
  }

  // Orderly end. Without it the process was killed.
  void Finish() {
    for (const uint16_t agent : {1, 2}) {
      for (const uint64_t at : {kStart, kEnd}) {
        Put<trace::GpuAnchor>(drain_, agent, 0, [&](auto& record) {
          record.gpu_ticks = at;
          record.system_ns = at;
          record.now_tsc = at;
        });
      }
    }
    writer_->Finish();
  }

  // Makes every time stamp mean itself in nanoseconds. After the last record.
  void SetClocks() const {
    for (const auto& file : std::filesystem::directory_iterator(writer_->process_directory())) {
      if (file.path().filename().string().rfind("segment-", 0) != 0) continue;
      std::fstream stream(file.path(), std::ios::in | std::ios::out | std::ios::binary);
      trace::SegmentHeader header{};
      stream.read(reinterpret_cast<char*>(&header), sizeof header);
      header.created_tsc = kStart;
      header.alive_tsc = 0;
      stream.seekp(0);
      stream.write(reinterpret_cast<const char*>(&header), sizeof header);
      const uint64_t size = file.file_size();
      std::vector<char> chunk(header.chunk_bytes);
      for (uint64_t at = header.header_bytes; at + chunk.size() <= size; at += chunk.size()) {
        stream.seekg(static_cast<std::streamoff>(at));
        stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
        Rewrite(chunk);
        stream.seekp(static_cast<std::streamoff>(at));
        stream.write(chunk.data(), static_cast<std::streamsize>(chunk.size()));
      }
    }
  }

  static constexpr uint64_t kStart = 1'000'000;  // the log's first and last instant
  static constexpr uint64_t kEnd = 3'000'000'000'000;
  static constexpr uint64_t kRealtime = 1'700'000'000'000'000'000;  // at time zero

  static constexpr const char* kInfo =
      "pid=1\nppid=42\nexe=/usr/bin/example\ncommand=example --fast\nhost=somewhere\n"
      "agent=0,0,cpu,CPU,Some CPU,CPU-XX\n"
      "agent=1,1,gpu,gfx942,AMD Instinct MI300X,GPU-11\n"
      "agent=2,2,gpu,gfx942,AMD Instinct MI300X,GPU-22\n";
  enum Function : uint16_t {
    kMalloc = 1,
    kLaunch = 2,
    kMemcpy = 3,
    kGraphLaunch = 4,
    kSynchronize = 5,
    kSetDevice = 6,
    kStoreSignal = 7,
    kMemcpyAsync = 8,
  };
  static constexpr const char* kFunctions =
      "1\thip\thipMalloc\tenum\tptr:*ptr,size:u64\n"
      "2\thip\thipLaunchKernel\tenum\tfunction:ptr,numBlocks:dim3,dimBlocks:dim3,args:ptr,"
      "sharedMemBytes:u64,stream:ptr\n"
      "3\thip\thipMemcpy\tenum\tdst:ptr,src:ptr,sizeBytes:u64,kind:enum\n"
      "4\thip\thipGraphLaunch\tenum\tgraphExec:ptr,stream:ptr\n"
      "5\thip\thipDeviceSynchronize\tenum\t\n"
      "6\thip\thipSetDevice\tenum\tdeviceId:i32\n"
      "7\thsa\thsa_signal_store_relaxed\tvoid\tsignal:handle,value:i64\n"
      "8\thip\thipMemcpyAsync\tenum\tdst:ptr,src:ptr,sizeBytes:u64,kind:enum,stream:ptr\n";

 private:
  static void Rewrite(std::vector<char>& chunk) {
    bool first = true;
    for (size_t at = sizeof(trace::ChunkHeader); at + 32 <= chunk.size();) {
      auto& head = *reinterpret_cast<trace::Head*>(&chunk[at]);
      if (head.kind == trace::Kind::kEnd || head.units == 0) break;
      if (head.kind == trace::Kind::kHostAnchor) {
        auto& anchor = reinterpret_cast<trace::HostAnchor&>(head);
        anchor.now_tsc = anchor.monotonic_ns = first ? kStart : kEnd;
        anchor.realtime_ns = kRealtime + anchor.monotonic_ns;
        first = false;
      }
      if (head.kind == trace::Kind::kThreadHere)
        reinterpret_cast<trace::ThreadHere&>(head).now_tsc = kStart;
      at += head.units * size_t{32};
    }
  }

  trace::Writer* writer_ = nullptr;  // never freed, as in the agent
  trace::ThreadLog* drain_ = nullptr;
};

}  // namespace rochound::store
