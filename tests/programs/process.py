# SPDX-License-Identifier: MIT
"""One run of a program by the test drivers: in a folder of its own, with a time limit, without core files."""

import os
import resource
import signal
import subprocess
import tempfile
import time


def untimed(text):
    """Without the lines in which a program tells how long something took."""
    return [line for line in text.split("\n") if not line.startswith("elapsed")]


def again(why):
    """Says that something is run once more, and why. Whoever repeats anything says so: `.ci/run` lists these lines."""
    print("AGAIN " + why.split("\n")[0], flush=True)


class Outcome:
    """How a run ended: exit code or signal name or hang, both outputs, and seconds."""

    def __init__(self, code, out, err, seconds, hung):
        self.code = code if code is not None and code >= 0 and not hung else None
        self.signal = signal.Signals(-code).name if code is not None and code < 0 and not hung else None
        self.out = out
        self.err = err
        self.seconds = seconds
        self.hung = hung

    def __str__(self):
        if self.hung:
            return f"no end within {self.seconds:.0f} s"
        return f"exit code {self.code}" if self.signal is None else f"signal {self.signal}"

    def tail(self, lines=25):
        """The end of both outputs, for a report."""
        parts = []
        for name, text in (("stdout", self.out), ("stderr", self.err)):
            last = text.rstrip("\n").split("\n")[-lines:] if text.strip() else []
            parts += [f"  {name}: {line}" for line in last]
        return "\n".join(parts)


def _no_core_files():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def start(command, folder, **extra):
    return subprocess.Popen(command, cwd=folder, start_new_session=True, preexec_fn=_no_core_files, text=True,
                            errors="replace", **extra)


def run(command, timeout):
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rochound-test-") as folder:
        child = start(command, folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        hung = False
        try:
            out, err = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            hung = True
            stop(child)
            out, err = child.communicate()
        return Outcome(child.returncode, out, err, time.monotonic() - begin, hung)


def stop(child):
    """Ends a child and everything it started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
