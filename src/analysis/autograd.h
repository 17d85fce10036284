// SPDX-License-Identifier: MIT
//
// The question `autograd`: which operators of PyTorch ran which kernels, by tensor size. Operators
// are ranges whose message carries what emit_nvtx() writes (", seq = 12, op_id = 3, sizes =
// [[..]]"), in any order; a kernel belongs to the innermost operator around the call that launched
// it. Used by the question and by extend.h. One thread.
#pragma once

#include "analysis/questions.h"
#include "base/result.h"
#include "store/open/duck.h"

namespace rochound::analysis {

// Makes tables in the database's schema `found`, replaced each time:
//   found.autograd       id (of the call), name, seq, op_id (NULL: not told), sizes, input_op_ids
//   found.autograd_call  api_id, autograd_id: a call with operations, and its operator
//   found.autograd_cost  id, cpu_inclusive, cpu_exclusive, gpu_inclusive, gpu_exclusive (of that
//                        operator alone), outermost (1: no operator of its name is around it)
base::Result<void> FindAutograd(store::duck::Connection& connection);

base::Result<Answer> AskAutograd(store::TraceDatabase& trace, const AskOptions& options);

}  // namespace rochound::analysis
