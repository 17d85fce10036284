// SPDX-License-Identifier: MIT
//
// The HIP streams of an open trace. A stream is a handle of one process; here each has a small
// number in its process: 0 is the default stream, the others count in the order of their first use.
// Used by the report's timeline and by the CSV export; one thread. Errors are of the trace.
#pragma once

#include "base/result.h"
#include "store/open/duck.h"

namespace rochound::store {

// Leaves two temporary tables, replaced by each call:
//   operation_stream  op_id, pid, stream: operations whose stream is known
//   stream_handle     pid, stream, handle; tid is the thread of a per-thread default stream, or
//   NULL
base::Result<void> FindStreams(duck::Connection& connection);

}  // namespace rochound::store
