// SPDX-License-Identifier: MIT
//
// stuck RANKS HOW [PYTHON SCRIPT]: a process and a GPU per rank, which reduce a few times with the
// real RCCL and then get stuck, in the way that HOW says; the last rank is the reason, unless HOW
// says otherwise. "healthy" goes on for ever and "slow" does with a last rank that computes for a
// while before each collective; both until they are ended. Prints "ready RANK" before it gets stuck.
#include <signal.h>

#include "../libraries/rccl_ranks.h"

__global__ void Endless(volatile int* stop) {
  while (*stop == 0) __builtin_amdgcn_s_sleep(1);
}

__global__ void Work(float* data, int rounds) {
  float value = data[threadIdx.x];
  for (int i = 0; i < rounds; ++i) value = value * 1.0001f + 0.5f;
  data[threadIdx.x] = value;
}

namespace {

constexpr size_t kCount = 4096;
constexpr int kTurns = 3;

class Rank {
 public:
  explicit Rank(const ranks::Place& place) : place_(place) {}

  bool last() const { return place_.rank == place_.ranks - 1; }

  void Start() {
    all_ = ranks::Connect(place_);
    CHECK_HIP(hipStreamCreateWithFlags(&stream_, hipStreamNonBlocking));
    CHECK_HIP(hipMalloc(&data_, kCount * static_cast<size_t>(place_.ranks) * sizeof *data_));
    CHECK_HIP(hipMemset(data_, 0, kCount * static_cast<size_t>(place_.ranks) * sizeof *data_));
    CHECK_HIP(hipHostMalloc(&stop_, sizeof *stop_));
    *stop_ = 0;
    for (int turn = 0; turn < kTurns; ++turn) Reduce();
  }

  void Ready() const {
    const std::string text = "ready " + std::to_string(place_.rank) + "\n";
    if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(1);
  }

  void Call(ncclComm_t communicator, size_t count = kCount) {
    CHECK_RCCL(ncclAllReduce(data_, data_, count, ncclFloat, ncclSum, communicator, stream_));
  }
  void Wait() { CHECK_HIP(hipStreamSynchronize(stream_)); }
  void Reduce() {
    Call(all_);
    Wait();
  }
  [[noreturn]] void Away() {
    for (;;) pause();
  }
  void LaunchEndless() {
    Endless<<<1, 64, 0, stream_>>>(stop_);
    CHECK_HIP(hipGetLastError());
  }
  void Compute(int rounds) {
    Work<<<1, 64, 0, stream_>>>(data_, rounds);
    CHECK_HIP(hipGetLastError());
  }

  // All ranks call it; it does not return, or the ranks end.
  void GetStuck(const std::string& how) {
    if (how == "healthy" || how == "slow")
      for (;;) {
        for (int i = 0; i < (how == "slow" && last() ? 40 : 2); ++i) {
          Compute(2000);
          Wait();
        }
        Reduce();
      }
    if (how == "different") {
      // The others wait for a second part that never comes.
      if (!last()) return Reduce();
      CHECK_RCCL(ncclReduceScatter(data_, data_, kCount / static_cast<size_t>(place_.ranks),
                                   ncclFloat, ncclSum, all_, stream_));
      Wait();
      Away();
    }
    if (how == "root") {
      CHECK_RCCL(
          ncclBroadcast(data_, data_, kCount, ncclFloat, last() ? place_.rank : 0, all_, stream_));
      Wait();
      Away();
    }
    if (how == "crossed") {
      ncclComm_t other = nullptr;
      CHECK_RCCL(ncclCommSplit(all_, 0, place_.rank, &other, nullptr));
      Call(other);
      Wait();
      Call(last() ? other : all_);
      Wait();
      Call(last() ? all_ : other);
      return Wait();
    }
    if (how == "halves") {
      // The halves {0, 1} and {2, 3}: the last rank does not come, and only rank 2 waits for it.
      ncclComm_t half = nullptr;
      CHECK_RCCL(ncclCommSplit(all_, place_.rank / 2, place_.rank, &half, nullptr));
      Call(half);
      Wait();
      if (last()) Away();
      for (;;) {
        Call(half);
        Wait();
        usleep(200000);
      }
    }
    if (how == "skipped") {
      // One turn less: the others wait in theirs.
      for (int turn = 0; turn < (last() ? 2 : 3); ++turn) Reduce();
      Away();
    }
    if (how == "receive") {
      if (place_.rank == 0) {
        CHECK_RCCL(ncclRecv(data_, kCount, ncclFloat, place_.ranks - 1, all_, stream_));
        Wait();
      }
      Away();
    }
    if (how == "stopped_inside" && !last()) {
      sleep(4);  // the last one is in it, and stopped, before we come
      return Reduce();
    }
    if (!last()) return Reduce();
    if (how == "dead") kill(getpid(), SIGKILL);
    if (how == "ended") _exit(0);
    if (how == "stopped") raise(SIGSTOP);
    if (how == "stopped_inside") {
      Call(all_);
      sleep(1);
      raise(SIGSTOP);
    }
    if (how == "endless") {
      LaunchEndless();
      Wait();
    }
    if (how == "queued") {
      LaunchEndless();
      Call(all_);
      Wait();
    }
    if (how == "computing")
      for (volatile uint64_t i = 0;; i = i + 1) {
      }
    Away();
  }

 private:
  const ranks::Place place_;
  ncclComm_t all_ = nullptr;
  hipStream_t stream_ = nullptr;
  float* data_ = nullptr;
  int* stop_ = nullptr;
};

}  // namespace

int main(int count, char** arguments) {
  const std::string how = count > 2 ? arguments[2] : "healthy";
  if (getenv("RANK") == nullptr) {
    const int wanted = atoi(arguments[1]);
    return ranks::Launch(wanted, [&](int rank) -> std::vector<std::string> {
      const bool last = rank == wanted - 1;
      if (last && how == "missing") return {};
      if (last && how == "python") return {"python3", arguments[3]};
      return {arguments[0], arguments[1], how};
    });
  }
  Rank rank(ranks::OfThisProcess());
  if (how == "not_connected" && rank.last()) {
    // It uses its GPU, and never comes to the others.
    CHECK_HIP(hipSetDevice(0));
    void* memory = nullptr;
    CHECK_HIP(hipMalloc(&memory, 4096));
    rank.Ready();
    rank.Away();
  }
  if (how == "not_connected" || how == "missing") rank.Ready();
  rank.Start();
  rank.Ready();
  rank.GetStuck(how);
  return 0;
}
