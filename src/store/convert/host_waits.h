// SPDX-License-Identifier: MIT
//
// By when work was done, because the host had waited for it: calls that returned with success and
// wait for a device, a stream, an event or bytes of a stream. The recorder collects a GPU's times a
// little later than work ends, so a process that ends at once leaves work without times that was
// over. Used by the joiner, one thread. Threads' chunks come one after the other: times decide, not
// the order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "store/convert/joined_events.h"

namespace rochound::store {

class HostWaits {
 public:
  explicit HostWaits(const ProcessContext& process) : process_(process) {}

  // The call copied to the host and had waited for that when it returned.
  static bool CopiedToHost(const trace::CallEvent& event, const FunctionFacts& facts);

  // A call that returned. device: HIP's current one; gpu: that it launched a kernel on, or -1.
  void Add(const trace::CallEvent& event, const FunctionFacts& facts, int64_t device, int64_t gpu);

  // The end of the first call that had waited for what was submitted then. stream: nothing, if it
  // is not known.
  std::optional<uint64_t> DoneBy(int64_t gpu, std::optional<uint64_t> stream,
                                 uint64_t submit) const;

 private:
  struct Wait {
    uint64_t before;  // for what was submitted before this
    uint64_t end;
    int64_t device;
    std::optional<uint64_t> stream;  // nothing: all of the device
  };
  struct Recorded {
    uint64_t time, stream;
    int64_t device;
  };

  void Waited(Wait wait);
  bool IsOn(int64_t device, int64_t gpu) const;

  const ProcessContext& process_;
  std::map<int64_t, int64_t> gpu_of_device_;  // as launches showed
  std::map<uint64_t, std::vector<Recorded>> events_;
  std::vector<Wait> waits_;
};

}  // namespace rochound::store
