// SPDX-License-Identifier: MIT
//
// side_by_side MODE: threads and GPUs beside each other.
//   thread_steps   three threads of one process, each with steady steps of another length
//   pipeline       GPU 0 and GPU 1 take turns: each waits for the other's last kernel
//   bubbles        two stages of a pipeline: both wait for each other in each step
//   filled         the same, and the first goes on with the next step
//   starved_gpu    GPU 1 waits for its thread, which sleeps in a range
//   exposed        a collective that nothing runs beside
//   hidden         the same beside computing
//   late           two ranks meet in a collective's kernel, and rank 1 comes late each time
//   even           two GPUs work side by side, equally long
#include <atomic>

#include "truth.h"

using namespace truth;

// By its name a kernel of RCCL: it ends once the other rank has come.
__global__ void ncclDevKernel_Generic(volatile int* mine, volatile int* other, int turn) {
  if (threadIdx.x != 0 || blockIdx.x != 0) return;
  *mine = turn;
  __threadfence_system();
  while (*other < turn) {
  }
}

// Another one, which takes time.
__global__ void ncclDevKernel_AllReduce(unsigned long long ticks) {
  const unsigned long long begin = wall_clock64();
  while (wall_clock64() - begin < ticks) {
  }
}

namespace {

hipStream_t MakeStream() {
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  return stream;
}

void ThreadSteps() {
  constexpr double kSleepMs[] = {20, 90, 250};
  std::vector<std::thread> threads;
  for (const double sleep : kSleepMs) {
    threads.emplace_back([sleep] {
      BusyKernels kernels;
      const hipStream_t stream = MakeStream();
      for (int i = 0; i < 8; ++i) {
        const Range step("step " + std::to_string(i));
        kernels.Launch(3, stream);
        CHECK(hipStreamSynchronize(stream));
        SleepMs(sleep);
      }
    });
    SleepMs(20);
  }
  for (std::thread& thread : threads) thread.join();
}

void Pipeline(Truth* truth) {
  BusyKernels on[2] = {BusyKernels(4096, 0), BusyKernels(4096, 1)};
  hipStream_t streams[2];
  hipEvent_t done[2];
  for (int gpu = 0; gpu < 2; ++gpu) {
    CHECK(hipSetDevice(gpu));
    streams[gpu] = MakeStream();
    CHECK(hipEventCreateWithFlags(&done[gpu], hipEventDisableTiming));
  }
  for (int i = 0; i < 12; ++i) {
    for (int gpu = 0; gpu < 2; ++gpu) {
      CHECK(hipSetDevice(gpu));
      if (i > 0 || gpu > 0) CHECK(hipStreamWaitEvent(streams[gpu], done[1 - gpu], 0));
      on[gpu].Launch<1>(gpu == 0 ? 60 : 20, streams[gpu]);
      CHECK(hipEventRecord(done[gpu], streams[gpu]));
    }
  }
  CHECK(hipStreamSynchronize(streams[1]));
  truth->Add("shorter_ms", on[1].Milliseconds());
}

// GPU 0 computes two parts, GPU 1 each of them after that.
void Stages(bool wait, Truth* truth) {
  constexpr int kSteps = 10;
  constexpr double kPartMs = 20;
  BusyKernels on[2] = {BusyKernels(4096, 0), BusyKernels(4096, 1)};
  hipStream_t streams[2];
  hipEvent_t part, step;
  for (int gpu = 0; gpu < 2; ++gpu) {
    CHECK(hipSetDevice(gpu));
    streams[gpu] = MakeStream();
  }
  CHECK(hipEventCreateWithFlags(&step, hipEventDisableTiming));
  CHECK(hipSetDevice(0));
  CHECK(hipEventCreateWithFlags(&part, hipEventDisableTiming));
  for (int i = 0; i < kSteps; ++i) {
    CHECK(hipSetDevice(0));
    if (wait && i > 0) CHECK(hipStreamWaitEvent(streams[0], step, 0));
    for (int j = 0; j < 2; ++j) {
      CHECK(hipSetDevice(0));
      on[0].Launch<1>(kPartMs, streams[0]);
      CHECK(hipEventRecord(part, streams[0]));
      CHECK(hipSetDevice(1));
      CHECK(hipStreamWaitEvent(streams[1], part, 0));
      on[1].Launch<2>(kPartMs, streams[1]);
    }
    CHECK(hipEventRecord(step, streams[1]));
  }
  CHECK(hipStreamSynchronize(streams[1]));
  if (wait) truth->Add("rule", "pipeline-bubbles").Add("ms", kSteps * kPartMs).Add("unseen_ms", 60);
}

void StarvedGpu(Truth* truth) {
  double slept = 0;
  const auto work = [&](int gpu) {
    BusyKernels kernels(4096, gpu);
    const hipStream_t stream = MakeStream();
    for (int i = 0; i < 12; ++i) {
      kernels.Launch<1>(gpu == 0 ? 60 : 15, stream);
      CHECK(hipStreamSynchronize(stream));
      if (gpu == 0) continue;
      const Range range("slow loader");
      const double from = NowMs();
      SleepMs(45);
      slept += NowMs() - from;
    }
  };
  std::thread first(work, 0), second(work, 1);
  first.join();
  second.join();
  truth->Add("slept_ms", slept);
}

void Communicate(bool beside, Truth* truth) {
  constexpr int kTurns = 12;
  constexpr double kMs = 20;
  BusyKernels kernels;
  const hipStream_t computing = MakeStream(), communicating = MakeStream();
  for (int i = 0; i < kTurns; ++i) {
    kernels.Launch<1>(kMs, computing);
    if (!beside) CHECK(hipStreamSynchronize(computing));
    ncclDevKernel_AllReduce<<<1, 64, 0, communicating>>>(
        static_cast<unsigned long long>(kMs * kernels.ticks_per_ms()));
    if (!beside) CHECK(hipStreamSynchronize(communicating));
  }
  CHECK(hipDeviceSynchronize());
  if (!beside)
    truth->Add("rule", "exposed-communication").Add("ms", kTurns * kMs).Add("unseen_ms", 30);
}

void Late() {
  int* flags = nullptr;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&flags), 4096,
                      hipHostMallocPortable | hipHostMallocCoherent));
  memset(flags, 0, 4096);
  std::atomic<int> ready{0};
  const auto rank = [&](int gpu) {
    BusyKernels kernels(4096, gpu);
    const hipStream_t stream = MakeStream();
    ++ready;
    while (ready < 2) SleepMs(1);
    for (int i = 1; i <= 12; ++i) {
      const Range step("step " + std::to_string(i));
      kernels.Launch<1>(20, stream);
      if (gpu == 1) {
        CHECK(hipStreamSynchronize(stream));
        const Range loading("data loading");
        SleepMs(40);
      }
      ncclDevKernel_Generic<<<4, 64, 0, stream>>>(flags + 64 * gpu, flags + 64 * (1 - gpu), i);
      CHECK(hipStreamSynchronize(stream));
    }
  };
  std::thread first(rank, 0), second(rank, 1);
  first.join();
  second.join();
}

void Even() {
  const auto work = [](int gpu) {
    BusyKernels kernels(4096, gpu);
    const hipStream_t stream = MakeStream();
    for (int i = 0; i < 12; ++i) kernels.Launch<1>(30, stream);
    CHECK(hipStreamSynchronize(stream));
  };
  std::thread first(work, 0), second(work, 1);
  first.join();
  second.join();
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  if (mode == "thread_steps") ThreadSteps();
  Truth truth;
  if (mode == "pipeline") Pipeline(&truth);
  if (mode == "bubbles" || mode == "filled") Stages(mode == "bubbles", &truth);
  if (mode == "starved_gpu") StarvedGpu(&truth);
  if (mode == "exposed" || mode == "hidden") Communicate(mode == "hidden", &truth);
  if (mode == "late") Late();
  if (mode == "even") Even();
  truth.Add("mode", mode).Print();
}
