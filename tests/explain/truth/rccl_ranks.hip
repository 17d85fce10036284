// SPDX-License-Identifier: MIT
//
// Two ranks, a process and a GPU each, that reduce with the real RCCL. Rank 1 comes to each
// collective `late` milliseconds after rank 0: rccl_ranks LATE_MS
#include <rccl/rccl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>

#include "truth.h"

#define CHECK_RCCL(call)                                                                         \
  do {                                                                                           \
    const ncclResult_t result_ = (call);                                                         \
    if (result_ != ncclSuccess) {                                                                \
      fprintf(stderr, "%s:%d %s: %s\n", __FILE__, __LINE__, #call, ncclGetErrorString(result_)); \
      _exit(9);                                                                                  \
    }                                                                                            \
  } while (0)

namespace {

constexpr int kRanks = 2, kTurns = 4;
constexpr size_t kCount = 4096;  // floats

struct Shared {
  std::atomic<bool> has_id;
  ncclUniqueId id;
  std::atomic<int> waiting, turn;
};

void Barrier(Shared* shared) {
  const int turn = shared->turn;
  if (++shared->waiting == kRanks) {
    shared->waiting = 0;
    ++shared->turn;
  }
  while (shared->turn == turn) truth::SleepMs(0.2);
}

void Rank(int rank, Shared* shared, double late_ms) {
  CHECK(hipSetDevice(rank));
  if (rank == 0) {
    CHECK_RCCL(ncclGetUniqueId(&shared->id));
    shared->has_id = true;
  }
  while (!shared->has_id) truth::SleepMs(1);
  ncclComm_t communicator = nullptr;
  CHECK_RCCL(ncclCommInitRank(&communicator, kRanks, shared->id, rank));
  float* const data = truth::Allocate<float>(kCount);
  std::vector<float> host(kCount, static_cast<float>(rank + 1));
  CHECK(hipMemcpy(data, host.data(), kCount * sizeof(float), hipMemcpyHostToDevice));
  for (int turn = 0; turn < kTurns; ++turn) {
    Barrier(shared);
    if (rank == 1) truth::SleepMs(late_ms);
    CHECK_RCCL(ncclAllReduce(data, data, kCount, ncclFloat, ncclMax, communicator, nullptr));
    CHECK(hipDeviceSynchronize());
  }
  CHECK(hipMemcpy(host.data(), data, kCount * sizeof(float), hipMemcpyDeviceToHost));
  if (host[0] != kRanks || host[kCount - 1] != kRanks) _exit(8);
  CHECK_RCCL(ncclCommDestroy(communicator));
  if (rank == 1) {
    truth::Truth()
        .Add("late_pid", getpid())
        .Add("turns", kTurns)
        .Add("bytes", kCount * sizeof(float))
        .Add("late_ms", late_ms * kTurns)
        .Print();
  }
}

}  // namespace

int main(int count, char** arguments) {
  const double late_ms = count > 1 ? atof(arguments[1]) : 0;
  auto* const shared =
      new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
          Shared{};
  for (int rank = 0; rank < kRanks; ++rank) {
    if (fork() != 0) continue;
    Rank(rank, shared, late_ms);
    exit(0);
  }
  int status = 0, failed = 0;
  while (wait(&status) > 0) failed |= status;
  return failed == 0 ? 0 : 9;
}
