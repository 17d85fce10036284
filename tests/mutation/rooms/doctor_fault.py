# SPDX-License-Identifier: MIT
"""Faults in why a GPU failed, or comes no further."""

NAME = "doctor/fault"
TESTS = ["explain_test", "judge_test", "reach_test", "loops_test"]
CODE = ["src/doctor/fault/*.cpp"]

MEMORY = "src/doctor/fault/memory_fault.cpp"
QUEUE = "src/doctor/fault/queue_fault.cpp"
HANG = "src/doctor/fault/hang.cpp"
RECORD = "src/doctor/fault/record.cpp"
LOOPS = "src/doctor/fault/loops.cpp"
FAULTS = [
    ("a kernel that had not started is a suspect", MEMORY, "if («!dispatch.started») {\n          if (++waiting", "false"),
    ("kernels of another GPU are suspects", MEMORY, "if («queue.agent != record_.agent && record_.agent >= 0») continue;",
     "false"),
    ("a kernel that cannot have done it is a suspect", MEMORY,
     "if (ways.empty() && «dispatch.reach.complete») {", "false"),
    ("where nobody can have done it one kernel is sure", MEMORY,
     "explanation.kernel_sure = theories.size() == 1« && !contradiction»;", ""),
    ("the least likely suspect is the explanation", MEMORY, "return a.weight «>» b.weight; });", "<"),
    ("a write to read-only memory may be a read", MEMORY,
     "return «!read_only_» || access.kind == Access::Kind::kWrite;", "true"),
    ("a wide range convinces like a narrow one", MEMORY,
     "const bool tight = access.bounded« && access.last - access.first < kTight»;", ""),
    ("the page has twice its size", MEMORY, "return address - page_ < «kPage»;", "2 * kPage"),
    ("a null pointer is one to no memory", MEMORY, "FaultExplanation explanation;\n    if («value < kFirstMapped») {",
     "value == 1"),
    ("freed memory is not looked for", MEMORY, "FaultMemory* freed = Find(«record_.freed», value)", "record_.live"),
    ("a page of live memory is out of its bounds", MEMORY,
     "if («page_ + kPage > memory.base && page_ < memory.end()») {\n      *convincing", "false"),
    ("before the start and past the end are mixed up", MEMORY, "const bool behind = page_ «>=» memory.end();", "<"),
    ("a page just past the end convinces nobody", MEMORY, "*convincing |= distance «<» kPage;", ">"),
    ("memory that is only reserved is host memory", MEMORY,
     "if («line.find(\" ---p \") != std::string::npos») return std::nullopt;", "false"),
    ("registered host memory is another GPU's", MEMORY, "memory.kind == \"locked\" «||» memory.kind == \"managed\")", "&&"),
    ("small indices lead to any page", MEMORY, "std::min(value, ~value) < «kPage / 16») return 0;", "0"),
    ("a 32-bit index is taken for unsigned", MEMORY, "if (origin.bytes == «4»)\n          value =", "3"),
    ("of two pointers the farther one is named", MEMORY,
     "return distance(one.value) «<» distance(other.value);", ">"),
    ("how long ago memory was freed is off by a thousand", MEMORY, "record_.when_ns - memory.freed_ns) * «1e-6»", "1e-3"),
    ("kernels of queues that did not fail are suspects", QUEUE, "if («queue.failed || any»)", "true"),
    ("cross-lane instructions count as LDS", QUEUE, "text.starts_with(\"ds_\")« && !text.starts_with(\"ds_bpermute\")» &&",
     ""),
    ("padding after the end is an illegal instruction", QUEUE,
     "text.starts_with(\".long\")« && text.find(\"0xbf9f0000\") == text.npos») {", ""),
    ("code for another GPU is no reason", QUEUE, "!generic« && !SameInstructions(code_target, target)»;", " && false"),
    ("generic code is code for another GPU", QUEUE, "!target.empty() && «!generic» && !SameInstructions", "true"),
    ("the real GPU is the one that was pretended", QUEUE, "if («!record.agents[index].real_target.empty()») return",
     "false"),
    ("one of several kernels on a queue is sure", QUEUE, "explanation.kernel_sure = «suspects.size() == 1»;", "true"),
    ("an override's aperture violation is sure", QUEUE,
     "compile for this GPU.\");\n    explanation->sure = «false»;", "explanation->sure"),
    ("work of half a second hangs", HANG, "constexpr double kLong = «1»;", "0.1"),
    ("a kernel that waits for a queue that goes on hangs", HANG,
     "if (!front.wait.deadlock && («!front.needs.empty()» || front.fed)) front.wait.hangs = false;", "false"),
    ("a deadlock is not noticed", HANG, "if (queue == start.queue) return «true»;", "false"),
    ("a packet that waits for a copy hangs", HANG, "front->wait.hangs = «front->wait.waits_for != \"copy\"»;", "true"),
    ("a kernel that runs would write what is waited for", HANG,
     "if («dispatch.started») {\n          front->fed = true;", "false"),
    ("what hangs longest is not the first", HANG,
     "return std::pair(a.wait.hangs, a.wait.seconds) «>» std::pair", "<"),
    ("what waits behind a barrier has started", RECORD, "dispatch.started &= dispatch.packet «<» packet.packet;", "!="),
    ("the oldest of a queue has not started", RECORD, "added.under_way.front().started = «true»;", "false"),
    ("a barrier of several signals waits for one only", RECORD,
     ": «!std::all_of»(waits.begin(), waits.end(), holds);", "!std::any_of"),
    ("a signal's mask is not looked at", RECORD, "const int64_t seen = *value« & mask»;", ""),
    ("saved memory is read past its end", RECORD, "piece->second.size() - offset < «bytes») return false;", "1"),
    ("memory is not sorted by address", RECORD, "{ return a.base «<» b.base; });", ">"),
    ("a loop that looks at a clock never ends", LOOPS, "if («flows_[i].clock» || flows_[i].unknown) {", "false"),
    ("a loop that counts waits for memory", LOOPS,
     "if ((flows_[i].computes || flows_[i].load) && «GoesRound(i)») {", "false"),
    ("a store is a load", LOOPS, "return name.find(\"load\") != name.npos «||» name.find(\"_read\")", "|| true ||"),
]

SURVIVORS = {}
