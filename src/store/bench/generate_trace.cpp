// SPDX-License-Identifier: MIT
#include "store/bench/generate_trace.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "store/rpd/rpd.h"

namespace rochound::store {
namespace {

constexpr int64_t kPid = 4242;
constexpr int64_t kStart = 1'000'000'000'000;
constexpr uint64_t kLayersPerStep = 12, kLaunchesPerLayer = 8;

// One host thread, its stream and its queue.
struct Thread {
  int64_t tid = 0, gpu = 0, queue = 0;
  int64_t now = kStart;        // of the host
  int64_t queue_end = kStart;  // of the GPU's queue
  int64_t sequence = 0;
  uint64_t step = 0;
  std::string stream;
};

class Generator {
 public:
  Generator(RpdWriter& rpd, const GeneratorOptions& options)
      : rpd_(rpd), options_(options), random_(options.seed) {}

  uint64_t Run() {
    rpd_.BeginSession();
    Names();
    std::vector<Thread> threads(options_.threads);
    for (uint32_t i = 0; i < options_.threads; ++i) {
      Thread& thread = threads[i];
      thread.tid = kPid + i;
      thread.gpu = i % options_.gpus;
      thread.queue = i / options_.gpus + 1;
      thread.stream = "0x" + std::to_string(1000 + i);
      rpd_.AddQueue({.queue = i + 1,
                     .agent = thread.gpu + 1,
                     .hsa_id = i,
                     .packets = 16384,
                     .created = kStart});
    }
    for (uint32_t i = 0; i <= options_.gpus; ++i) {
      rpd_.AddAgent({.agent = i,
                     .node = i,
                     .type = i == 0 ? "cpu" : "gpu",
                     .name = i == 0 ? "CPU" : "gfx942",
                     .product = "generated",
                     .uuid = std::to_string(i),
                     .gpu = i == 0 ? std::nullopt : std::optional<int64_t>(i - 1)});
    }
    int64_t last = kStart;
    while (events_ < options_.events) {
      for (Thread& thread : threads) {
        Step(thread);
        last = std::max({last, thread.now, thread.queue_end});
        if (events_ >= options_.events) break;
      }
    }
    rpd_.AddProcess({.pid = kPid,
                     .ppid = 1,
                     .executable = "/generated",
                     .command = "generated",
                     .host = "bench",
                     .start = kStart,
                     .end = last,
                     .calls = calls_,
                     .dispatches = dispatches_,
                     .copies = copies_,
                     .note = ""});
    rpd_.AddMetadata("rochound_realtime_offset_ns", "1700000000000000000");
    return events_;
  }

 private:
  void Names() {
    hip_ = rpd_.String("hip");
    roctx_ = rpd_.String("roctx");
    launch_ = rpd_.String("launch");
    copy_ = rpd_.String("copy");
    synchronize_ = rpd_.String("synchronize");
    marker_category_ = rpd_.String("range");
    launch_kernel_ = rpd_.String("hipLaunchKernel");
    memcpy_async_ = rpd_.String("hipMemcpyAsync");
    stream_synchronize_ = rpd_.String("hipStreamSynchronize");
    user_marker_ = rpd_.String("UserMarker");
    kernel_execution_ = rpd_.String("KernelExecution");
    host_to_device_ = rpd_.String("CopyHostToDevice");
    empty_ = rpd_.String("");
    for (uint32_t i = 0; i < options_.kernels; ++i) {
      Kernel("void layers::gemm_kernel<" + std::to_string(i) +
             ", 128, 64, float>(float const*, float const*, float*, int, int, int)");
    }
    for (const std::string& name : options_.extra_names) Kernel(name);
  }

  void Kernel(const std::string& name) {
    kernel_names_.push_back(rpd_.String(name));
    kernel_ids_.push_back(rpd_.AddKernel({.name = kernel_names_.back(),
                                          .mangled_name = kernel_names_.back(),
                                          .kernel_object = 4096,
                                          .code_object = 1,
                                          .kernarg_bytes = 64,
                                          .agent = 1}));
  }

  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }

  int64_t Call(const Thread& thread, int64_t start, int64_t name, int64_t category, int64_t domain,
               const std::string& args) {
    ++events_;
    calls_ += domain == hip_;
    return rpd_.AddApi({.pid = kPid,
                        .tid = thread.tid,
                        .start = start,
                        .end = thread.now,
                        .name = name,
                        .category = category,
                        .domain = domain},
                       args);
  }

  int64_t Operation(Thread& thread, int64_t submit, int64_t duration, int64_t description,
                    int64_t type, int64_t api) {
    ++events_;
    const int64_t start = std::max(submit + Between(1500, 4000), thread.queue_end + 300);
    thread.queue_end = start + duration;
    const int64_t op = rpd_.AddOp({.gpu = thread.gpu,
                                   .queue = thread.queue,
                                   .sequence = thread.sequence++,
                                   .start = start,
                                   .end = thread.queue_end,
                                   .description = description,
                                   .type = type});
    rpd_.AddApiOp(api, op);
    return op;
  }

  void Launch(Thread& thread) {
    const size_t kernel = random_() % kernel_names_.size();
    const int64_t start = thread.now;
    const int64_t submit = start + Between(2000, 5000);
    thread.now = submit + Between(200, 800);
    const auto blocks = static_cast<uint32_t>(64 << (kernel % 5));
    const int64_t api =
        Call(thread, start, launch_kernel_, launch_, hip_,
             "function_address=0x" + std::to_string(4096 + kernel) + "|numBlocks={" +
                 std::to_string(blocks) +
                 ",1,1}|dimBlocks={256,1,1}|sharedMemBytes=0|stream=" + thread.stream);
    const int64_t duration = (1500 + static_cast<int64_t>(kernel) * 400) * Between(90, 130) / 100;
    const int64_t op =
        Operation(thread, submit, duration, kernel_names_[kernel], kernel_execution_, api);
    rpd_.AddKernelApi(api, {.stream = thread.stream,
                            .grid_x = blocks * 256,
                            .grid_y = 1,
                            .grid_z = 1,
                            .workgroup_x = 256,
                            .workgroup_y = 1,
                            .workgroup_z = 1,
                            .group_bytes = 0,
                            .private_bytes = 0,
                            .kernel_name = kernel_names_[kernel]});
    rpd_.AddDispatch(op, {.api = api,
                          .kernel = kernel_ids_[kernel],
                          .grid_x = blocks * 256,
                          .grid_y = 1,
                          .grid_z = 1,
                          .workgroup_x = 256,
                          .workgroup_y = 1,
                          .workgroup_z = 1,
                          .group_bytes = 0,
                          .private_bytes = 0,
                          .queue = thread.queue,
                          .agent = thread.gpu + 1,
                          .submit = submit,
                          .timed = true});
    ++dispatches_;
  }

  void Copy(Thread& thread) {
    const int64_t start = thread.now;
    const int64_t submit = start + Between(2000, 4000);
    thread.now = submit + 500;
    const int64_t size = int64_t{4096} << Between(0, 10);
    const int64_t api =
        Call(thread, start, memcpy_async_, copy_, hip_,
             "dst=0x7f0000000000|src=0x7f1000000000|sizeBytes=" + std::to_string(size) +
                 "|kind=1|stream=" + thread.stream);
    const int64_t op = Operation(thread, submit, 1000 + size / 20, empty_, host_to_device_, api);
    rpd_.AddCopyApi(api, {.stream = thread.stream,
                          .size = size,
                          .width = 0,
                          .height = 0,
                          .kind = 1,
                          .destination = "0x7f0000000000",
                          .source = "0x7f1000000000",
                          .destination_device = thread.gpu,
                          .source_device = -1,
                          .sync = false,
                          .pinned = true});
    rpd_.AddCopy(op, {.api = api,
                      .size = size,
                      .source_agent = 0,
                      .destination_agent = thread.gpu + 1,
                      .source = 0x7f1000000000,
                      .destination = 0x7f0000000000,
                      .width = 0,
                      .height = 0,
                      .submit = submit,
                      .timed = true});
    ++copies_;
  }

  void Synchronize(Thread& thread) {
    const int64_t start = thread.now;
    thread.now = std::max(thread.now + 800, thread.queue_end + Between(4000, 9000));
    Call(thread, start, stream_synchronize_, synchronize_, hip_, "stream=" + thread.stream);
  }

  void Step(Thread& thread) {
    const int64_t start = thread.now;
    thread.now += Between(2000, 30000);  // the program's own work
    Copy(thread);
    for (uint64_t layer = 0; layer < kLayersPerStep; ++layer) {
      const int64_t layer_start = thread.now;
      thread.now += Between(300, 2500);
      for (uint64_t i = 0; i < kLaunchesPerLayer; ++i) {
        Launch(thread);
        thread.now += Between(100, 1500);
      }
      Call(thread, layer_start, user_marker_, marker_category_, roctx_,
           "layer " + std::to_string(layer));
    }
    Synchronize(thread);
    Call(thread, start, user_marker_, marker_category_, roctx_,
         "step " + std::to_string(thread.step++));
  }

  RpdWriter& rpd_;
  const GeneratorOptions& options_;
  std::mt19937_64 random_;
  std::vector<int64_t> kernel_names_, kernel_ids_;
  int64_t hip_ = 0, roctx_ = 0, launch_ = 0, copy_ = 0, synchronize_ = 0, marker_category_ = 0,
          launch_kernel_ = 0, memcpy_async_ = 0, stream_synchronize_ = 0, user_marker_ = 0,
          kernel_execution_ = 0, host_to_device_ = 0, empty_ = 0;
  uint64_t events_ = 0;
  int64_t calls_ = 0, dispatches_ = 0, copies_ = 0;
};

}  // namespace

base::Result<uint64_t> GenerateRpd(const std::filesystem::path& path,
                                   const GeneratorOptions& options) {
  ROCHOUND_TRY(const std::unique_ptr<RpdWriter> rpd, RpdWriter::Create(path));
  const uint64_t events = Generator(*rpd, options).Run();
  ROCHOUND_CHECK(rpd->Finish());
  return events;
}

}  // namespace rochound::store
