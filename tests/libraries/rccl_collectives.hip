// SPDX-License-Identifier: MIT
//
// rccl_collectives RANKS: a process and a GPU per rank, which do every collective and send and receive
// with the real RCCL, and compare the results with what each rank knows by itself. Then each rank
// prints what it called, for who recorded it:
//
//   rank RANK PID
//   called RANK FUNCTION COUNT
//   kernels RANK COUNT          kernels of RCCL that this should have needed
//   right RANK COUNT            results that were compared, all of them right
#include <algorithm>
#include <functional>
#include <map>

#include "rccl_ranks.h"

namespace {

constexpr size_t kCount = 1031;  // elements of a rank; no multiple of anything

// What rank `rank` has at place i: small whole numbers, whose sums are exact in every type.
int Own(int rank, size_t i) { return static_cast<int>((rank * 7 + i * 3) % 13) + rank; }

class Rank {
 public:
  Rank(const ranks::Place& place, ncclComm_t communicator)
      : rank_(place.rank), ranks_(place.ranks), communicator_(communicator) {
    CHECK_HIP(hipStreamCreateWithFlags(&stream_, hipStreamNonBlocking));
  }

  // One kernel each, or one for a whole group.
  void Called(const char* function, int times = 1) { called_[function] += times; }
  void Launched() { ++kernels_; }

  template <typename T>
  using Truth = std::function<T(size_t place)>;

  // `sent` elements of our own go in, `received` come out; nothing received: 0.
  template <typename T, typename Do>
  void Try(const char* what, size_t sent, size_t received, Do call, const Truth<T>& truth) {
    std::vector<T> in(sent), out(received, static_cast<T>(-1));
    for (size_t i = 0; i < sent; ++i) in[i] = static_cast<T>(Own(rank_, i));
    T *from = nullptr, *to = nullptr;
    CHECK_HIP(hipMalloc(&from, std::max<size_t>(sent, 1) * sizeof(T)));
    CHECK_HIP(hipMalloc(&to, std::max<size_t>(received, 1) * sizeof(T)));
    CHECK_HIP(hipMemcpy(from, in.data(), sent * sizeof(T), hipMemcpyHostToDevice));
    CHECK_HIP(hipMemcpy(to, out.data(), received * sizeof(T), hipMemcpyHostToDevice));
    call(from, to);
    CHECK_HIP(hipStreamSynchronize(stream_));
    CHECK_HIP(hipMemcpy(out.data(), to, received * sizeof(T), hipMemcpyDeviceToHost));
    for (size_t i = 0; i < received; ++i)
      if (out[i] != truth(i)) {
        fprintf(stderr, "rank %d, %s: place %zu is %g, not %g\n", rank_, what, i,
                static_cast<double>(out[i]), static_cast<double>(truth(i)));
        _exit(2);
      }
    CHECK_HIP(hipFree(from));
    CHECK_HIP(hipFree(to));
    ++right_;
  }

  template <typename T>
  T Sum(size_t i) const {
    T sum = 0;
    for (int rank = 0; rank < ranks_; ++rank) sum += static_cast<T>(Own(rank, i));
    return sum;
  }

  void Collectives() {
    const int last = ranks_ - 1;
    const auto n = static_cast<size_t>(ranks_);
    Try<float>(
        "all-reduce, sum of floats", kCount, kCount,
        [&](float* in, float* out) {
          CHECK_RCCL(ncclAllReduce(in, out, kCount, ncclFloat, ncclSum, communicator_, stream_));
        },
        [&](size_t i) { return Sum<float>(i); });
    Called("ncclAllReduce"), Launched();
    Try<int>(
        "all-reduce, largest of integers", kCount, kCount,
        [&](int* in, int* out) {
          CHECK_RCCL(ncclAllReduce(in, out, kCount, ncclInt, ncclMax, communicator_, stream_));
        },
        [&](size_t i) {
          int most = 0;
          for (int rank = 0; rank < ranks_; ++rank) most = std::max(most, Own(rank, i));
          return most;
        });
    Called("ncclAllReduce"), Launched();
    Try<float>(
        "broadcast", kCount, kCount,
        [&](float* in, float* out) {
          CHECK_RCCL(ncclBroadcast(in, out, kCount, ncclFloat, last, communicator_, stream_));
        },
        [&](size_t i) { return static_cast<float>(Own(last, i)); });
    Called("ncclBroadcast"), Launched();
    Try<double>(
        "reduce", kCount, rank_ == 0 ? kCount : 0,
        [&](double* in, double* out) {
          CHECK_RCCL(ncclReduce(in, out, kCount, ncclDouble, ncclSum, 0, communicator_, stream_));
        },
        [&](size_t i) { return Sum<double>(i); });
    Called("ncclReduce"), Launched();
    Try<int>(
        "all-gather", kCount, n * kCount,
        [&](int* in, int* out) {
          CHECK_RCCL(ncclAllGather(in, out, kCount, ncclInt, communicator_, stream_));
        },
        [&](size_t i) { return Own(static_cast<int>(i / kCount), i % kCount); });
    Called("ncclAllGather"), Launched();
    Try<float>(
        "reduce-scatter", n * kCount, kCount,
        [&](float* in, float* out) {
          CHECK_RCCL(
              ncclReduceScatter(in, out, kCount, ncclFloat, ncclSum, communicator_, stream_));
        },
        [&](size_t i) { return Sum<float>(static_cast<size_t>(rank_) * kCount + i); });
    Called("ncclReduceScatter"), Launched();
    Try<float>(
        "all-to-all", n * kCount, n * kCount,
        [&](float* in, float* out) {
          CHECK_RCCL(ncclAllToAll(in, out, kCount, ncclFloat, communicator_, stream_));
        },
        [&](size_t i) {
          const auto from = static_cast<int>(i / kCount);
          return static_cast<float>(Own(from, static_cast<size_t>(rank_) * kCount + i % kCount));
        });
    Called("ncclAllToAll"), Launched();
  }

  void SendAndReceive() {
    const int next = (rank_ + 1) % ranks_, before = (rank_ + ranks_ - 1) % ranks_;
    Try<float>(
        "send and receive around", kCount, kCount,
        [&](float* in, float* out) {
          CHECK_RCCL(ncclGroupStart());
          CHECK_RCCL(ncclSend(in, kCount, ncclFloat, next, communicator_, stream_));
          CHECK_RCCL(ncclRecv(out, kCount, ncclFloat, before, communicator_, stream_));
          CHECK_RCCL(ncclGroupEnd());
        },
        [&](size_t i) { return static_cast<float>(Own(before, i)); });
    Called("ncclGroupStart"), Called("ncclSend"), Called("ncclRecv"), Called("ncclGroupEnd");
    Launched();
    if (rank_ > 1) return;
    Try<int>(
        "send from 0 to 1", kCount, rank_ == 1 ? kCount : 0,
        [&](int* in, int* out) {
          if (rank_ == 0)
            CHECK_RCCL(ncclSend(in, kCount, ncclInt, 1, communicator_, stream_));
          else
            CHECK_RCCL(ncclRecv(out, kCount, ncclInt, 0, communicator_, stream_));
        },
        [&](size_t i) { return Own(0, i); });
    Called(rank_ == 0 ? "ncclSend" : "ncclRecv"), Launched();
  }

  void Group() {
    Try<float>(
        "two collectives of a group", kCount, kCount,
        [&](float* in, float* out) {
          CHECK_RCCL(ncclGroupStart());
          CHECK_RCCL(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, communicator_, stream_));
          CHECK_RCCL(ncclAllReduce(in + 100, out + 100, kCount - 100, ncclFloat, ncclSum,
                                   communicator_, stream_));
          CHECK_RCCL(ncclGroupEnd());
        },
        [&](size_t i) { return Sum<float>(i); });
    Called("ncclGroupStart"), Called("ncclAllReduce", 2), Called("ncclGroupEnd");
    Launched();
  }

  // Ranks with even and with odd numbers, where both have several.
  void Halves() {
    if (ranks_ < 4) return;
    ncclComm_t half = nullptr;
    CHECK_RCCL(ncclCommSplit(communicator_, rank_ % 2, rank_, &half, nullptr));
    Try<float>(
        "all-reduce of a half", kCount, kCount,
        [&](float* in, float* out) {
          CHECK_RCCL(ncclAllReduce(in, out, kCount, ncclFloat, ncclSum, half, stream_));
        },
        [&](size_t i) {
          float sum = 0;
          for (int rank = rank_ % 2; rank < ranks_; rank += 2)
            sum += static_cast<float>(Own(rank, i));
          return sum;
        });
    CHECK_RCCL(ncclCommDestroy(half));
    Called("ncclCommSplit"), Called("ncclAllReduce"), Called("ncclCommDestroy"), Launched();
  }

  void Print() {
    std::string text = "rank " + std::to_string(rank_) + " " + std::to_string(getpid()) + "\n";
    for (const auto& [function, times] : called_)
      text +=
          "called " + std::to_string(rank_) + " " + function + " " + std::to_string(times) + "\n";
    text += "kernels " + std::to_string(rank_) + " " + std::to_string(kernels_) + "\n";
    text += "right " + std::to_string(rank_) + " " + std::to_string(right_) + "\n";
    // At once: all ranks write to the same place.
    if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(1);
  }

 private:
  const int rank_, ranks_;
  ncclComm_t communicator_;
  hipStream_t stream_ = nullptr;
  std::map<std::string, int> called_;
  int kernels_ = 0, right_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  if (getenv("RANK") == nullptr) {
    const int wanted = count > 1 ? atoi(arguments[1]) : 2;
    return ranks::Launch(wanted, [&](int) { return std::vector<std::string>{arguments[0]}; });
  }
  const ranks::Place place = ranks::OfThisProcess();
  ncclComm_t communicator = ranks::Connect(place);
  Rank rank(place, communicator);
  rank.Called("ncclCommInitRank");
  if (place.rank == 0) rank.Called("ncclGetUniqueId");
  rank.Collectives();
  rank.SendAndReceive();
  rank.Group();
  rank.Halves();
  CHECK_RCCL(ncclCommDestroy(communicator));
  rank.Called("ncclCommDestroy");
  rank.Print();
  return 0;
}
