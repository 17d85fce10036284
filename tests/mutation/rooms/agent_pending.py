# SPDX-License-Identifier: MIT
"""Faults in how the recorder waits for work that is in flight."""

NAME = "agent/pending"
TESTS = ["agent_test"]
CODE = ["src/agent/pending.cpp", "src/agent/signal_pool.cpp"]

FAULTS = [
    ("a kernel begins when it ends", "src/agent/pending.cpp", "record->begin_ticks = «begin»;", "end"),
    ("times that the next kernel is writing are recorded", "src/agent/pending.cpp",
     "const bool whole = «begin <= end»;", "true"),
    ("a copy that was given up gets times", "src/agent/pending.cpp",
     "if («known &&» Real().amd.hsa_amd_profiling_get_async_copy_time_fn", "true &&"),
    ("a copy's times are taken for the GPU's ticks", "src/agent/pending.cpp",
     "Write(&trace::CopyTime::copy, pending, «trace::kSystemClock», time.start, time.end);", "pending.agent"),
    ("what was taken stays in its list", "src/agent/pending.cpp", "*link = «pending->next_same_bucket»;", "*link"),
    ("work on a program's signal seems finished one too late", "src/agent/pending.cpp",
     "value «<=» one->done_at;", "<"),
    ("of several on a signal the first to finish gets the times of the last", "src/agent/pending.cpp",
     "one->done_at «<» last->done_at)", ">"),
    ("a copy gets times that the next one on its signal may have changed", "src/agent/pending.cpp",
     "last->work == Work::kCopy && «more_to_come») last = nullptr;", "false"),
    ("what is given up gets what is in the signal", "src/agent/pending.cpp",
     "pending->given_up = true;\n    End(bucket, pending, «false»);\n  }", "true"),
    ("work on a program's signal has finished before it begins", "src/agent/pending.cpp",
     "int64_t done_at = Value(pending->signal)« - 1»;", ""),
    ("two on one signal wait for the same value", "src/agent/pending.cpp",
     "other->done_at <= done_at) done_at = «other->done_at - 1»;", "other->done_at"),
    ("work without a signal is looked at", "src/agent/pending.cpp",
     "if («pending->signal == 0 ||» Value(pending->signal) > pending->done_at) return false;", ""),
    ("a signal of ours seems to fire one too late", "src/agent/pending.cpp",
     "Value(pending->signal) «>» pending->done_at) return false;", ">="),
    ("what is added to a signal is taken off what waits on it", "src/agent/pending.cpp",
     "one->done_at «+=» added;", "-="),
    ("times are not taken before a signal is added to", "src/agent/pending.cpp",
     "if (!interrupted) «TakeFinishedOn(bucket, signal.handle, Value(signal.handle))»;", "(void)0"),
    ("a signal that somebody waits on changes unseen", "src/agent/pending.cpp",
     "if (bucket.waiting.load(std::memory_order_acquire) «==» 0) return;", "!="),
    ("a compare-and-swap that failed ends what waits", "src/agent/pending.cpp",
     "if (expected == nullptr || «before == *expected») TakeAllOn", "true"),
    ("a replaced signal is judged by its new value", "src/agent/pending.cpp",
     "TakeAllOn(bucket, signal.handle, «before»);", "Value(signal.handle)"),
    ("a refused copy stays in its list", "src/agent/pending.cpp",
     "kWaiting) return;\n  «Unlink(bucket, pending);»\n  pending->phase", ""),
    ("a lock stays taken after a change in a handler", "src/agent/pending.cpp",
     "  «bucket.lock.unlock();»\n}", ""),
    ("a forked child keeps what waits in its parent", "src/agent/pending.cpp",
     "new (&bucket.lock) SpinLock;\n    «bucket.first = nullptr;»", ""),
    ("a returned signal keeps the value of its last kernel", "src/agent/signal_pool.cpp",
     "__atomic_store_n(&memory->value, «1», __ATOMIC_RELEASE);", "0"),
    ("retired signals are never destroyed", "src/agent/signal_pool.cpp",
     "{&pool.free«, &pool.retired»}", ""),
]

SURVIVORS = {
    "a forked child keeps what waits in its parent":
        "Nobody looks at a list while its count is zero, and a forked child cannot use ROCm, so it adds nothing to the list.",
}
