# SPDX-License-Identifier: MIT
"""Faults in the critical path and in the causes of idle times."""

NAME = "analysis/paths and idle"
TESTS = ["analysis_paths_test", "analysis_random_test"]
CODE = ["src/analysis/path_graph.cpp", "src/analysis/idle_sweep.cpp", "src/analysis/questions/idle.cpp",
        "src/analysis/questions/critical_path.cpp"]

GRAPH = "src/analysis/path_graph.cpp"
SWEEP = "src/analysis/idle_sweep.cpp"
IDLE = "src/analysis/questions/idle.cpp"
PATH = "src/analysis/questions/critical_path.cpp"
FAULTS = [
    ("a gap of the GPU begins at the last operation's start", SWEEP,
     "open.idle_since = «op.end»;\n    open.before", "op.start"),
    ("busy time counts what overlaps twice", SWEEP,
     "lane.busy += window_.Recorded(«open.idle_since», op.end);", "op.start"),
    ("time after the last operation is no gap", SWEEP,
     "«Gaps(gpu_, window_.end, nullptr, host);»", ""),
    ("queues of two processes are one", SWEEP, "return id >> «32»;", "62"),
    ("what a pause of the recording cut off is told from what came next", SWEEP,
     "Cut(open, from, to, «to == end ? next : nullptr», host);", "next"),
    ("a kernel that was launched in time waits for its launch", SWEEP,
     "const bool back_to_back = lane.ops > 0 && «called <= begin»;", "called > begin"),
    ("time between a call's return and its submission is lost", SWEEP,
     "Piece(IdleCause::kLaunchLatency, next->name, «returned, submit»);", "submit, submit"),
    ("what an operation waited for in other queues is launch latency", SWEEP,
     "Piece(«IdleCause::kDependency», next->name, submit, ready);", "IdleCause::kLaunchLatency"),
    ("time in a host function is launch latency", SWEEP,
     "if («next->host_function != kNoName») {", "false"),
    ("the main cause of a gap is its first one", SWEEP, "if (piece.ns > «gap.main.ns») gap.main = piece;", "0"),
    ("gaps that are shorter take the place of longer ones", SWEEP,
     "if («!»Longer(gap, gaps_.front())) return;", ""),
    ("of equal causes in a gap only the last counts", SWEEP, "piece.ns «+=» end - begin;", "="),
    ("waiting in a call is the call's own time", SWEEP,
     "return Piece(«IdleCause::kSync», what, from, to);", "in_call"),
    ("work of the same queue is a dependency", IDLE, "if («elsewhere &&» op.end <= step.op.start", "true &&"),
    ("what ended before the launch is a dependency", IDLE,
     "op.end <= step.op.start« && op.end > step.start»)", ""),
    ("of several dependencies the first one counts", IDLE,
     "delay.ready = «std::max(delay.ready, op.end)»;", "delay.ready == kNever ? op.end : delay.ready"),
    ("of calls that may have made a queue the longest is set-up", IDLE,
     "if (thread != kNoThread && best «<=» one) continue;", ">="),
    ("loading code is a call like others", IDLE, "if (HasPart(name, loads)) return «Activity::kLoading»;",
     "Activity::kCall"),
    ("ranges that differ by numbers are one name when there are eight", IDLE,
     "constexpr int kMostNumbered = «8»;", "1"),
    ("a submission may be after its kernel's start", GRAPH,
     "points_.push_back({.time = «std::clamp(time, window_.begin, std::max(window_.begin, start_[op]))»,", "time"),
    ("a queue's order goes on in the next queue", GRAPH,
     "if (op > 0 && «queue_[op] != queue_[op - 1]») {", "false"),
    ("an operation follows one that had not ended", GRAPH,
     "while (!running.empty() && end_[running.front()] <= «start_[op]») {", "end_[op]"),
    ("a wait for a value ends with the first write", GRAPH,
     "if (last == kNoNode || end_[writing] «>» end_[last]) last = writing;", "<"),
    ("a call that waits begins again at its start", GRAPH, "begin = std::max(begin, «one.end»);", "one.start"),
    ("a thread that was started follows nobody", GRAPH,
     "else\n    «after_thread(starter_[thread]);»", "(void)0;"),
    ("a call does not wait for what ended after its return by the clocks' error", GRAPH,
     "end_[op] <= start_[node]« + clock_error_»)", ""),
    ("slack leaves out what binds a node", GRAPH,
     "slack_[before] = std::min(slack_[before], slack_[node]« + bound - end»);", ""),
    ("slack is that of the loosest follower", GRAPH, "slack_[before] = std::«min»(slack_[before],", "max"),
    ("the path goes back to what ended first", GRAPH,
     "if (end «<» bound || (end == bound && !Before(binding, before))) return;", ">"),
    ("the path ends with the first of the last events", GRAPH,
     "if (last != kNoNode && end_[node] «<» end_[last]) continue;", "<="),
    ("a start after another operation is launch latency", GRAPH,
     ": before «<» op_count_ ? PieceKind::kOrderLatency", ">="),
    ("pauses of the recording are on the path", GRAPH, "if («!window_.unrecorded.empty()») {", "false"),
    ("a shorter kernel moves nothing that follows", GRAPH,
     "bound = std::max(bound, end« + later[before]»);", ""),
    ("host time at the end of a piece is lost", PATH,
     "    });\n    «between(piece.end);»", ""),
    ("two calls one after the other are one piece", PATH,
     "before.thread == after.thread« && a.call == b.call» && a.range == b.range;", ""),
    ("a median of slack is one place off", PATH,
     "graph.Slack(order[first + (last - first« - 1») / 2])", ""),
]

SURVIVORS = {
    "work of the same queue is a dependency": "While it runs the queue is busy, and only idle time is told.",
    "what ended before the launch is a dependency":
        "It only keeps the list short: of a dependency the time after the launch counts, and there is none.",
}
