// SPDX-License-Identifier: MIT
//
// The question `graphs`: what HIP graphs are made of and what their launches cost. Graphs are known
// by the calls that captured, instantiated and launched them; a graph's kernels by what its first
// launch put into queues. A handle that is used again after its graph was destroyed is another
// graph. Used by the question and by extend.h, which writes the same into an .rpd. One thread.
#pragma once

#include "analysis/questions.h"
#include "base/result.h"
#include "store/open/duck.h"

namespace rochound::analysis {

// Makes tables in the database's schema `found`, replaced each time:
//   found.graph         id, pid, graph, graphExec, stream, start, end: one per instantiation;
//   stream
//                       and times are of its capture; those that were made by hand have no stream
//   found.graph_launch  api_id, graph_id, graphExec, stream, gpuId, queueId, op_ns, gpu_ns: one per
//                       launch; the last four NULL if it caused no operation that is known
//   found.graph_kernel  graph_id, sequence, op_id, kernelName_id, gridX, gridY, gridZ, workgroupX,
//                       workgroupY, workgroupZ, groupSegmentSize, privateSegmentSize
base::Result<void> FindGraphs(store::duck::Connection& connection);

base::Result<Answer> AskGraphs(store::TraceDatabase& trace, const AskOptions& options);

}  // namespace rochound::analysis
