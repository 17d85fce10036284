// SPDX-License-Identifier: MIT
//
// Ranks of which one is late, or none:
//   steps MODE         two processes with steps, the second does 60 ms more: "outside" waits for
//   the
//                      other after each step, "inside" within it, "even" has no slow rank
//   threads            two threads of one process with steps, the second 60 ms longer
//   collectives MODE   processes that meet in a kernel which waits for all ranks, as RCCL's do:
//   "late"
//                      has two on one GPU, the second 60 ms late; "even" nobody late; "groups" two
//                      groups of two on two GPUs, nobody late, which work 150 ms after each other;
//                      "extra" is "late", and rank 0 has one collective of its own before
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>

#include "truth.h"

// Named as RCCL's kernels are. Ends when `ranks` of this turn have begun, as a collective does.
__global__ void ncclDevKernel_AllReduce_Sum_f32(int* arrived, int wanted) {
  if (threadIdx.x != 0) return;
  __hip_atomic_fetch_add(arrived, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  while (__hip_atomic_load(arrived, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM) < wanted)
    __builtin_amdgcn_s_sleep(64);
}

namespace {

using truth::NowMs;
using truth::Range;
using truth::SleepMs;
using truth::Truth;

constexpr int kMostRanks = 4;

// Shared by the processes of a run.
struct Shared {
  std::atomic<int> waiting;  // of a barrier
  std::atomic<int> turn;
  alignas(4096) int arrived[kMostRanks * 16];  // per group, on lines of their own
  double launched_ms[kMostRanks];              // when each rank launched its collective
};

Shared* MakeShared() {
  void* const memory = mmap(nullptr, sizeof(Shared) + 4096, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (memory) Shared{};
}

void Barrier(Shared* shared, int ranks) {
  const int turn = shared->turn;
  if (++shared->waiting == ranks) {
    shared->waiting = 0;
    ++shared->turn;
    return;
  }
  while (shared->turn == turn) SleepMs(0.2);
}

// Runs `rank` in processes of their own.
template <typename Function>
void EachRank(int ranks, Function rank) {
  for (int i = 0; i < ranks; ++i) {
    if (fork() != 0) continue;
    rank(i);
    exit(0);
  }
  int status = 0;
  while (wait(&status) > 0)
    if (status != 0) exit(9);
}

constexpr int kSteps = 10;
constexpr int kStepMs = 40;
constexpr int kLateMs = 60;
constexpr int kRounds = 20000;

void Steps(const std::string& mode) {
  Shared* const shared = MakeShared();
  EachRank(2, [&](int rank) {
    // Kernels that take a fixed time: what else the machine does then makes no rank slow.
    truth::BusyKernels gpu(kSteps + 1, rank);
    Barrier(shared, 2);
    for (int step = 0; step < kSteps; ++step) {
      {
        const Range range("step " + std::to_string(step));
        gpu.Launch(kStepMs, nullptr, 1);
        CHECK(hipDeviceSynchronize());
        if (rank == 1 && mode != "even") SleepMs(kLateMs);
        if (mode == "inside") Barrier(shared, 2);
      }
      if (mode != "inside") Barrier(shared, 2);
    }
    if (rank == 1) Truth().Add("late_pid", getpid()).Print();
  });
}

void Threads() {
  int devices = 0;
  CHECK(hipGetDeviceCount(&devices));
  const auto rank = [](int device, Shared* shared, double* wall_ms) {
    CHECK(hipSetDevice(device));
    int* const memory = truth::Allocate(64);
    truth::Spin<0><<<1, 64>>>(memory, kRounds);
    CHECK(hipDeviceSynchronize());
    Barrier(shared, 2);
    for (int step = 0; step < kSteps; ++step) {
      {
        const Range range("step " + std::to_string(step));
        const double begin = NowMs();
        truth::Spin<0><<<1, 64>>>(memory, kRounds);
        CHECK(hipDeviceSynchronize());
        if (device == 1) SleepMs(kLateMs);
        *wall_ms += NowMs() - begin;
      }
      Barrier(shared, 2);
    }
  };
  Shared* const shared = MakeShared();
  double wall_ms[2] = {};
  pid_t late = 0;
  std::thread first(rank, 0, shared, &wall_ms[0]);
  std::thread second([&] {
    late = gettid();
    rank(1, shared, &wall_ms[1]);
  });
  first.join();
  second.join();
  Truth()
      .Add("late_thread", late)
      .Add("longer_ms", (wall_ms[1] - wall_ms[0]) / kSteps)
      .Add("kernels_per_step", 1)
      .Print();
}

void Collectives(const std::string& mode) {
  constexpr int kTurns = 10;
  const int ranks = mode == "groups" ? 4 : 2;
  Shared* const shared = MakeShared();
  EachRank(ranks, [&](int rank) {
    const int group = rank / 2;
    CHECK(hipSetDevice(mode == "groups" ? rank % 2 : 0));
    CHECK(hipHostRegister(shared->arrived, sizeof shared->arrived, hipHostRegisterDefault));
    int* arrived = nullptr;
    CHECK(hipHostGetDevicePointer(reinterpret_cast<void**>(&arrived), shared->arrived, 0));
    arrived += group * 16;
    truth::Spin<0><<<1, 64>>>(truth::Allocate(64), 10);
    CHECK(hipDeviceSynchronize());
    if (mode == "extra" && rank == 0) {  // of a communicator of its own
      ncclDevKernel_AllReduce_Sum_f32<<<1, 64>>>(truth::Allocate(64), -1);
      CHECK(hipDeviceSynchronize());
    }
    double late_ms = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
      Barrier(shared, ranks);
      if (group == 1) SleepMs(150);
      if (rank == 1 && (mode == "late" || mode == "extra")) SleepMs(kLateMs);
      shared->launched_ms[rank] = NowMs();
      ncclDevKernel_AllReduce_Sum_f32<<<1, 64>>>(arrived, 2 * (turn + 1));
      CHECK(hipDeviceSynchronize());
      if (rank == 1) late_ms += shared->launched_ms[1] - shared->launched_ms[0];
    }
    if (rank == 1)
      Truth().Add("late_pid", getpid()).Add("turns", kTurns).Add("late_ms", late_ms).Print();
  });
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "", mode = count > 2 ? arguments[2] : "";
  if (what == "steps") Steps(mode);
  if (what == "threads") Threads();
  if (what == "collectives") Collectives(mode);
}
