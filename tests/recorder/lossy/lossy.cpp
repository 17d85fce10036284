// SPDX-License-Identifier: MIT
//
// Launches kernels by AQL packets of its own and goes on when a completion does not come. Every
// kernel leaves the times at which it ran, so that what a recorder says can be compared.
//
//   lossy KERNEL.hsaco LAUNCHES
//
// First each kernel has the same completion signal, which is made ready again in every way that
// HSA has; after a completion that did not come, in a way that does not depend on its value. Then
// kernels without a signal, in batches that end with a kernel that has the barrier bit, the last
// one with a barrier packet. At its end it waits for a line on stdin, so that somebody can look at
// it, and destroys its queue.
//
// Lines that begin with `elapsed` hold times: `elapsed kernel PACKET BEGIN END` and `elapsed clock
// HSA MONOTONIC`, in nanoseconds. The others are the same in every run with the same faults.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "../hsa_machine.h"

namespace {

constexpr uint64_t kLostAfterNs = 300'000'000;

uint64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000ull + now.tv_nsec;
}

struct Launch {
  volatile uint64_t begin = 0;  // in ticks; written by the kernel
  volatile uint64_t end = 0;
};

struct Arguments {
  Launch* launch;
  uint64_t ticks;
};

class Launcher {
 public:
  Launcher(const Machine& machine, uint64_t kernel, hsa_queue_t* queue, size_t most)
      : kernel_(kernel),
        queue_(queue),
        launches_(Allocate<Launch>(machine, most)),
        arguments_(Allocate<Arguments>(machine, most)) {}

  // Submits; the packet's index.
  uint64_t Submit(hsa_signal_t signal, bool barrier) {
    const uint64_t at = hsa_queue_add_write_index_screlease(queue_, 1);
    arguments_[at] = {&launches_[at], (1 + at % 7) * 5000};  // 50 to 350 us at 100 MHz
    WriteLaunch(queue_, at, kernel_, &arguments_[at], signal, barrier);
    if (at % 4 == 1) usleep(3000);  // somebody else runs before this one comes to ring
    hsa_signal_store_screlease(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(at));
    return at;
  }

  // Everything before has ended, whatever its signals say.
  void PassBarrier() {
    hsa_signal_t passed{};
    Check(hsa_signal_create(1, 0, nullptr, &passed), "signal");
    const uint64_t at = hsa_queue_add_write_index_screlease(queue_, 1);
    auto* packet = static_cast<hsa_barrier_and_packet_t*>(queue_->base_address) + at % queue_->size;
    memset(reinterpret_cast<char*>(packet) + sizeof packet->header, 0,
           sizeof *packet - sizeof packet->header);
    packet->completion_signal = passed;
    constexpr uint16_t kHeader = HSA_PACKET_TYPE_BARRIER_AND | 1 << HSA_PACKET_HEADER_BARRIER |
                                 HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
    __atomic_store_n(&packet->header, kHeader, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(at));
    while (hsa_signal_load_scacquire(passed) != 0) std::this_thread::yield();
    Check(hsa_signal_destroy(passed), "hsa_signal_destroy");
  }

  // The kernel has run, whatever its signal says.
  void WaitFor(uint64_t at) const {
    while (launches_[at].end == 0) std::this_thread::yield();
  }

  const Launch& At(uint64_t at) const { return launches_[at]; }

 private:
  const uint64_t kernel_;
  hsa_queue_t* const queue_;
  Launch* const launches_;
  Arguments* const arguments_;
};

// Makes a signal ready for the next kernel; the value from which that one will take one off. The
// first three ways say what the value shall be, whatever it counted before.
int64_t MakeReady(hsa_signal_t signal, unsigned way, int64_t value) {
  switch (way) {
    case 0:
      hsa_signal_store_screlease(signal, value + 1);
      break;
    case 1:
      hsa_signal_exchange_scacq_screl(signal, value + 1);
      break;
    case 2:
      hsa_signal_cas_scacq_screl(signal, value, value + 1);
      break;
    case 3:
      hsa_signal_add_screlease(signal, 1);
      break;
    case 4:
      hsa_signal_subtract_screlease(signal, -3);
      break;
    case 5:
      hsa_signal_or_screlease(signal, 0x100);
      break;
    case 6:
      hsa_signal_xor_screlease(signal, 0x40);
      break;
    default:
      hsa_signal_and_screlease(signal, 0xff);
      break;
  }
  return hsa_signal_load_scacquire(signal);
}

void OnError(hsa_status_t status, hsa_queue_t*, void*) {
  printf("queue error 0x%x\n", status);
  fflush(stdout);
  _exit(3);
}

void PrintClock(const Machine& machine) {
  const uint64_t before = Now();
  uint64_t now = 0;
  hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now);
  const uint64_t after = Now();
  const uint64_t middle = before + (after - before) / 2;
  printf("elapsed clock %.0f %llu\n",
         static_cast<double>(now) * 1e9 / static_cast<double>(machine.frequency),
         static_cast<unsigned long long>(middle));
}

uint64_t Nanoseconds(const Machine& machine, uint64_t ticks) {
  uint64_t time = 0;
  Check(hsa_amd_profiling_convert_tick_to_system_domain(machine.gpu, ticks, &time), "clock");
  return static_cast<uint64_t>(static_cast<long double>(time) * 1e9L /
                               static_cast<long double>(machine.frequency));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto launches = static_cast<unsigned>(atoi(argv[2]));
  const Machine machine = FindMachine();
  hsa_queue_t* queue = nullptr;
  Check(hsa_queue_create(machine.gpu, 1024, HSA_QUEUE_TYPE_MULTI, OnError, nullptr, UINT32_MAX,
                         UINT32_MAX, &queue),
        "hsa_queue_create");
  const uint64_t kernel = LoadKernel(machine, argv[1], "Timed.kd");
  Launcher launcher(machine, kernel, queue, launches * 2);
  PrintClock(machine);

  std::vector<uint64_t> packets;
  hsa_signal_t signal{};
  Check(hsa_signal_create(0x80, 0, nullptr, &signal), "signal");
  int64_t armed = 0x80;
  unsigned lost = 0;
  for (unsigned i = 0; i < launches; ++i) {
    const uint64_t at = launcher.Submit(signal, i % 3 == 0);
    packets.push_back(at);
    launcher.WaitFor(at);
    const uint64_t deadline = Now() + kLostAfterNs;
    bool done = false;
    while (!(done = hsa_signal_load_scacquire(signal) < armed) && Now() < deadline)
      std::this_thread::yield();
    if (!done) {
      printf("lost %llu\n", static_cast<unsigned long long>(at));
      ++lost;
    }
    armed = MakeReady(signal, done ? i % 8 : i % 3, hsa_signal_load_scacquire(signal));
  }

  constexpr unsigned kBatch = 8;
  for (unsigned i = 0; i < launches; ++i) {
    const bool last = i % kBatch == kBatch - 1 && i + kBatch < launches;
    packets.push_back(launcher.Submit(hsa_signal_t{0}, last));
    if (last) launcher.WaitFor(packets.back());
  }
  launcher.PassBarrier();
  PrintClock(machine);
  printf("launched %zu, lost %u\n", packets.size(), lost);
  for (const uint64_t at : packets)
    printf("elapsed kernel %llu %llu %llu\n", static_cast<unsigned long long>(at),
           static_cast<unsigned long long>(Nanoseconds(machine, launcher.At(at).begin)),
           static_cast<unsigned long long>(Nanoseconds(machine, launcher.At(at).end)));
  fflush(stdout);
  char line[16];
  if (fgets(line, sizeof line, stdin) == nullptr) puts("nobody looked");
  Check(hsa_signal_destroy(signal), "hsa_signal_destroy");
  Check(hsa_queue_destroy(queue), "hsa_queue_destroy");
  Check(hsa_shut_down(), "hsa_shut_down");
  puts("PASS lossy");
  return 0;
}
