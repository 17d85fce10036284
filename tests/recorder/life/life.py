#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets a process live and end in one way, bare and recorded, and compares: exit code or signal, and standard output.

usage: rochound softgpu --gpu GPU -- life.py --case CASE --agent PATH --program "WORDS" --hip PATH --kernel PATH
                                             --calls PATH [--rounds N]
       life.py --list

A few rounds each; with ROCHOUND_FULL in the environment 1,000, of threads, queues and streams 10,000, of btrfs 100. Where
the two differ, the bare program is run some times more: one that ends in several ways may end in any of them.
"""

import argparse
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests" / "programs"))
import process  # noqa: E402

SKIP = 77
BARE_AGAIN = 5
# How much more than the bare program's a recorded one's own memory may grow, over all rounds.
MOST_GROWTH_KIB = 32 * 1024
# What any program may do at any moment, whether it was seen or not while the others were learned.
ALWAYS_ALLOWED = ("brk", "mmap", "munmap", "mprotect", "madvise", "futex", "sched_yield", "restart_syscall", "clock_nanosleep",
                  "nanosleep", "rt_sigreturn", "rt_sigprocmask", "exit", "exit_group", "gettid", "getpid", "tgkill", "write")
FULL = bool(os.environ.get("ROCHOUND_FULL"))


class Skipped(Exception):
    pass


class End:
    """How a process ended, and what it said."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def visible(self):
        return self.code, process.untimed(self.out)

    def __str__(self):
        end = self.code if not isinstance(self.code, int) or self.code >= 0 else signal.Signals(-self.code).name
        return f"end: {end}\n{self.out[-1500:]}{self.err[-1500:]}"


class Place:
    """One folder for one run."""

    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        self.log = self.folder / "log"

    def environment(self, recorded):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("HSA_TOOLS", "ROCHOUND_FULL"))}
        if recorded:
            environment.update(HSA_TOOLS_LIB=self.options.agent, ROCHOUND_LOG_DIR=str(self.log),
                               ROCHOUND_CONTROL_DIR=str(self.folder / "control"))
        return environment

    def words(self, case, rounds):
        return [*self.options.program.split(), case, str(rounds), self.options.kernel]

    def run(self, command, recorded, seconds=300, **extra):
        child = subprocess.Popen(command, cwd=self.folder, env=self.environment(recorded), start_new_session=True,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
                                 **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **extra})
        try:
            out, err = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.stop(child)
            return End("none", "", "")
        return End(child.returncode, (out or b"").decode(errors="replace"), (err or b"").decode(errors="replace"))

    def was_recorded(self):
        return any(self.log.glob("process-*/segment-*"))


CASES = {}


def case(name, few, many):
    """A function of (place, recorded, rounds) that returns an End."""
    def add(function):
        CASES[name] = (function, many if FULL else few)
        return function
    return add


def add_simple(name, few, many):
    @case(name, few, many)
    def simple(place, recorded, rounds):
        return place.run(place.words(name, rounds), recorded, 3600 if FULL else 300)


# The numbers are rounds of the program; of `ends` and `limits` each round has a child per way, or per limit.
for each, little, much in (("fork", 4, 1000), ("ends", 1, 125), ("vfork", 50, 1000), ("clone", 50, 1000), ("exec", 3, 1000),
                           ("handler", 4, 1000), ("cancel", 100, 1000), ("shut_down", 4, 1000), ("dlclose", 4, 1000),
                           ("threads", 1000, 10_000), ("queues", 200, 10_000), ("limits", 1, 67)):
    add_simple(each, little, much)


@case("streams", 200, 10_000)
def streams(place, recorded, rounds):
    return place.run([place.options.hip, "streams", str(rounds)], recorded, 3600 if FULL else 300)


@case("hip_fork", 3, 1000)
def hip_fork(place, recorded, rounds):
    return place.run([place.options.hip, "fork", str(rounds)], recorded, 3600 if FULL else 300)


# --- standard error that nobody reads; the recorder has something to say, since its log cannot be written

def unreadable_stderr(place, recorded, rounds, wrapper):
    place.log.write_text("a file where a folder should be")
    ends = [place.run([*wrapper, *place.words("once", 1)], recorded, stderr=subprocess.DEVNULL) for _ in range(rounds)]
    return End({end.code for end in ends}, "".join(end.out for end in ends), "")


@case("stderr_closed", 2, 1000)
def stderr_closed(place, recorded, rounds):
    return unreadable_stderr(place, recorded, rounds, ["/bin/sh", "-c", 'exec "$0" "$@" 2>&-'])


@case("streams_closed", 2, 1000)
def streams_closed(place, recorded, rounds):
    return unreadable_stderr(place, recorded, rounds, ["/bin/sh", "-c", 'exec "$0" "$@" 0<&- 2>&-'])


@case("stderr_broken", 2, 1000)
def stderr_broken(place, recorded, rounds):
    """A pipe whose reader is gone; SIGPIPE kills, as it does by default."""
    place.log.write_text("a file where a folder should be")
    ends = []
    for _ in range(rounds):
        reader, writer = os.pipe()
        os.close(reader)
        ends.append(place.run(place.words("once", 1), recorded, stderr=writer, restore_signals=True))
        os.close(writer)
    return End({end.code for end in ends}, "".join(end.out for end in ends), "")


# --- file systems

def mount(*words):
    done = subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Skipped(f"mount {' '.join(words)}: {done.stderr.strip()}")


def tmpfs(place, size):
    place.log.mkdir()
    mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place.log))


def image(place, kind, mib, make):
    """A file system of that kind in a file."""
    if shutil.which(make[0]) is None:
        raise Skipped(f"{make[0]} is not installed")
    file = place.folder / "image"
    with file.open("wb") as empty:
        empty.truncate(mib << 20)
    done = subprocess.run([*make, str(file)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Skipped(f"{make[0]}: {done.stderr.strip()}")
    place.log.mkdir()
    mount("-t", kind, "-o", "loop", str(file), str(place.log))


def step_by_step(place, recorded, changes):
    """Runs the program; each change is made while it waits."""
    errors = (place.folder / "stderr").open("w+")
    child = subprocess.Popen(place.words("until_told_to", 1), cwd=place.folder, env=place.environment(recorded),
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True)
    out = child.stdout.readline()
    try:
        for change in (lambda: None, *changes, lambda: None):
            change()
            child.stdin.write("x")
            child.stdin.flush()
            out += child.stdout.readline()
        rest, _ = child.communicate(timeout=120)
        out += rest
    except (BrokenPipeError, subprocess.TimeoutExpired):
        out += "no answer\n"
    finally:
        process.stop(child)
    errors.seek(0)
    return End(child.wait(), out, errors.read())


def often(rounds, place, run):
    """The same in a fresh folder each time, as one End."""
    ends = []
    for number in range(rounds):
        inner = Place(place.options, place.folder / str(number))
        inner.folder.mkdir()
        try:
            ends.append(run(inner))
        finally:
            subprocess.run(["umount", "-l", str(inner.log)], capture_output=True, check=False)
            (inner.folder / "image").unlink(missing_ok=True)
    return End({end.code for end in ends}, "".join(end.out for end in ends), ends[-1].err)


def check_recorded(place, recorded):
    if recorded and not any(place.log.rglob("segment-*")):
        raise RuntimeError("nothing was recorded: this shows nothing")


def fill(folder):
    """Leaves no room, neither for data nor for what describes files. Then what is written next to a mapped page is its first
    write again."""
    try:
        with (folder / "filler").open("wb", buffering=0) as file:
            while file.write(b"x" * 65536):
                pass
    except OSError:
        pass
    try:
        for number in range(100_000):
            (folder / f"filler-{number}").write_bytes(b"x" * 1500)
    except OSError:
        pass
    subprocess.run(["sync", "-f", str(folder)], capture_output=True, check=False)


def add_file_system(name, make, sizes, many=1000):
    @case(f"{name}_full", 1, many // len(sizes))
    def full(place, recorded, rounds):
        def one(inner, size):
            make(inner, size)
            return step_by_step(inner, recorded, [])
        ends = [often(rounds, Place(place.options, prepare(place.folder / str(size))), lambda inner, size=size: one(inner, size))
                for size in sizes]
        return End({str(end.code) for end in ends}, "".join(end.out for end in ends), ends[-1].err)

    @case(f"{name}_filling", 1, many)
    def filling(place, recorded, rounds):
        def one(inner):
            def fill_log():
                check_recorded(inner, recorded)
                if name == "btrfs":  # each page that is written to is then copied once, and needs room for that
                    subprocess.run(["btrfs", "subvolume", "snapshot", str(inner.log), str(inner.log / "snapshot")], check=True,
                                   capture_output=True)
                fill(inner.log)
            make(inner, sizes[-1])
            return step_by_step(inner, recorded, [fill_log, lambda: (inner.log / "filler").unlink()])
        return often(rounds, place, one)


def prepare(folder):
    folder.mkdir()
    return folder


add_file_system("tmpfs", lambda place, kib: tmpfs(place, f"{kib}k"), (4, 64, 1024, 4096))
add_file_system("ext4", lambda place, kib: image(place, "ext4", kib >> 10, ["mkfs.ext4", "-q", "-F"]), (2048, 8192))
# A full btrfs with a snapshot raises SIGBUS on writes to allocated blocks; the recorder ends its log before. To fill one takes
# seconds, so there are fewer rounds.
add_file_system("btrfs", lambda place, kib: image(place, "btrfs", kib >> 10, ["mkfs.btrfs", "-q", "-f"]), (128 << 10, 512 << 10),
                many=100)


@case("read_only", 2, 1000)
def read_only(place, recorded, rounds):
    def one(inner):
        tmpfs(inner, "1m")
        mount("-o", "remount,ro", str(inner.log))
        return step_by_step(inner, recorded, [])
    return often(rounds, place, one)


@case("log_removed", 2, 1000)
def log_removed(place, recorded, rounds):
    def remove(inner):
        check_recorded(inner, recorded)
        shutil.rmtree(inner.log, ignore_errors=True)
    return often(rounds, place, lambda inner: step_by_step(inner, recorded, [lambda: remove(inner)]))


# --- a filter that kills what makes an unknown system call

def numbers_of(names):
    header = pathlib.Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if not header.exists():
        raise Skipped(f"{header} is not there: install linux-libc-dev")
    known = {name: int(number) for name, number in re.findall(r"#define __NR_(\w+)\s+(\d+)", header.read_text())}
    return {known[name] for name in names}


def documented_calls():
    """The list in docs/safety.md."""
    text = (ROOT / "docs" / "safety.md").read_text()
    listed = re.search(r"<!-- system calls -->\n(.*?)\n\n", text, re.DOTALL)
    return re.findall(r"`(\w+)`", listed.group(1))


@case("system_calls", 2, 1000)
def system_calls(place, recorded, rounds):
    """The bare program's calls, and with the recorder those that are documented."""
    allowed = place.folder / "allowed"
    numbers = numbers_of(ALWAYS_ALLOWED) | (numbers_of(documented_calls()) if recorded else set())
    allowed.write_text("".join(f"{number}\n" for number in sorted(numbers)))

    def run(how, with_recorder):
        return place.run([place.options.calls, how, str(allowed), "--", *place.words("once", 1)], with_recorder)

    for _ in range(3):
        if run("learn", False).code == SKIP:
            raise Skipped("the kernel tells nobody about system calls")
    ends = [run("allow", recorded) for _ in range(rounds)]
    problem = ""
    if recorded and any(end.code != 0 for end in ends):
        before = set(allowed.read_text().split())
        run("learn", True)
        problem = f"system calls that docs/safety.md does not list: {sorted(set(allowed.read_text().split()) - before)}"
    return End({end.code for end in ends}, "".join(end.out for end in ends), problem)


# --- comparing

MOUNTING = re.compile("tmpfs|ext4|btrfs|read_only")
UNRECORDED = re.compile("^(stderr|streams_closed|read_only|log_removed)")


def growth(end):
    found = re.search(r"^elapsed: grew by (-?\d+) KiB", end.out, re.MULTILINE)
    return int(found.group(1)) if found else 0


def compare(options):
    function, rounds = CASES[options.case]
    rounds = options.rounds or rounds

    def run(recorded):
        with tempfile.TemporaryDirectory(prefix="rochound-test-") as folder:
            place = Place(options, folder)
            end = function(place, recorded, rounds)
            end.recorded = recorded and (place.was_recorded() or any(place.folder.rglob("segment-*")))
            return end

    bare, recorded = run(False), run(True)
    if not recorded.recorded and not UNRECORDED.match(options.case) and not MOUNTING.search(options.case):
        return [f"nothing was recorded: this shows nothing\n{recorded}"]
    more = growth(recorded) - growth(bare)
    print(f"{rounds} rounds; {bare.out.strip()}")
    if "grew by" in recorded.out:
        print(f"memory grew by {growth(bare)} KiB bare, {growth(recorded)} KiB recorded")
    if more > MOST_GROWTH_KIB:
        return [f"memory grew by {more} KiB more than without the recorder"]
    if recorded.visible() == bare.visible():
        return []
    for _ in range(BARE_AGAIN):
        process.again(f"life.{options.case}, bare: it may end in several ways, and the recorded run's must be one of them")
        if run(False).visible() == recorded.visible():
            return []
    return [f"--- bare\n{bare}\n--- recorded\n{recorded}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--rounds", type=int, default=0)
    for name in ("agent", "program", "hip", "kernel", "calls"):
        parser.add_argument("--" + name)
    parser.add_argument("--mounts-are-private", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.list:
        print("\n".join(CASES))
        return 0
    if MOUNTING.search(options.case) and not options.mounts_are_private:
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        # In a root that is no mount of its own this cannot be asked for; there the mounts are private already.
        private = ["unshare", *user, "--mount", "--propagation", "private"]
        if subprocess.run([*private, "true"], capture_output=True, check=False).returncode != 0:
            private[-1] = "unchanged"
        os.execvp("unshare", [*private, sys.executable, "-B", *sys.argv,
                              "--mounts-are-private"])
    try:
        problems = compare(options)
    except Skipped as reason:
        print(f"SKIP {options.case}: {reason}")
        return SKIP
    print("\n".join([f"FAIL {options.case}", *problems]) if problems else f"PASS {options.case}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
