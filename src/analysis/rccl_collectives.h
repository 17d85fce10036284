// SPDX-License-Identifier: MIT
//
// Collectives as RCCL's recorded calls tell them, or PyTorch beside their kernels: the n-th
// collective of a communicator is one and the same on all its ranks. A communicator is known by the
// unique id with which its ranks were made; PyTorch names its process group. Used by `stragglers`;
// one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/open/duck.h"

namespace rochound::analysis {

struct RcclCollective {
  struct Part {
    int64_t pid = 0, gpu = 0;
    int64_t start = 0, end = 0;  // of its kernels; of the call where none is known
  };
  std::string name;
  int64_t bytes = 0;        // of a rank
  int64_t ranks = 0;        // of the communicator; some may not be in the trace
  std::vector<Part> parts;  // by start
};

struct RcclCollectives {
  std::vector<RcclCollective> all;
  std::map<int64_t, int64_t> ranks_by_pid;  // RCCL's rank, in the largest communicator
};

// Leaves the operations that belong to these collectives in the table found.rccl_op (op_id). Empty
// where no calls of RCCL were recorded, or their communicators were made before the recording, and
// nothing is told beside the kernels, or not the same by all ranks.
base::Result<RcclCollectives> ReadRcclCollectives(store::duck::Connection& connection);

}  // namespace rochound::analysis
