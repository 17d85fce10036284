# SPDX-License-Identifier: MIT
"""Control of running recorders, one case per run: control.py --case NAME ..., or --list for the names.

Every case runs real HIP programs on the software GPU with the agent loaded, in a folder of its own that also holds the
control sockets and the log, and asks the recorder through `rochound ctl`, the C interface or Python.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time

import control_place
from control_place import (
    Failure, NOBODY, PATIENCE, Place, REASON_ROOT, SKIP, Skip, as_nobody,
    ask, check, connect, equal, need_roctx, operations, wait_until)


def case_start_and_stop_by_pid(place):
    """What lies between start and stop is in the log, exactly; several times over."""
    program = place.obedient(ROCHOUND_START="off")
    program.tell("launch 5")
    equal(place.status(program.pid)["state"], "armed", "state with --start-off")
    equal(place.dispatches(program.pid), 0, "dispatches before the start")
    place.ctl("start", program.pid)
    program.tell("launch 7")
    place.ctl("stop", program.pid)
    program.tell("launch 11")
    equal(place.dispatches(program.pid), 7, "dispatches of the first stretch")
    place.ctl("start", program.pid)
    place.ctl("start", program.pid)  # one switch, not a count
    program.tell("launch 13")
    place.ctl("stop", program.pid)
    program.tell("launch 17")
    equal(place.dispatches(program.pid), 20, "dispatches of both stretches")
    equal(program.end(), "end launched=53", "last line")


def case_starts_on_by_default(place):
    program = place.obedient()
    program.tell("launch 3")
    equal(place.status(program.pid)["state"], "recording", "state")
    place.ctl("stop", program.pid)
    program.tell("launch 4")
    equal(place.dispatches(program.pid), 3, "dispatches")
    program.end()


def case_tree(place):
    """A shell with two programs, and a third one beside: only the tree is started."""
    shell = place.start("sh", "-c", 'keep=$(mktemp -u) && mkfifo $keep && ("$0" --steady <$keep & "$0" --steady <$keep & '
                        'exec 9>$keep; cat; exec 9>&-; wait; rm $keep)', control_place.arguments.program, ROCHOUND_START="off")
    outsider = place.obedient("--steady", ROCHOUND_START="off")
    wait_until(lambda: len(place.rows("list")) == 3, "three programs with sockets")
    members = set(place.rows("list")) - {outsider.pid}
    equal(set(place.rows("start", "--tree", shell.pid)), members, "members of the tree")
    for pid in members:
        wait_until(lambda pid=pid: place.dispatches(pid) >= 20, "20 dispatches of a member")
    equal(set(place.rows("stop", "--tree", shell.pid)), members, "members of the tree")
    counts = {pid: place.dispatches(pid) for pid in members}
    time.sleep(0.2)
    equal({pid: place.dispatches(pid) for pid in members}, counts, "dispatches after the stop")
    equal(place.dispatches(outsider.pid), 0, "dispatches outside the tree")
    equal({row["state"] for row in place.rows("start", "--all").values()}, {"recording"}, "states after start --all")
    outsider.end()
    shell.end()


def case_run_start_off(place):
    """The whole way: rochound run, ctl by the launcher's tree, and the trace."""
    trace = place.folder / "trace.rpd"
    program = place.start(control_place.arguments.rochound, "run", "--softgpu", control_place.arguments.gpu, "--start-off", "-o", str(trace), "--",
                          control_place.arguments.program, gpu=False, HSA_TOOLS_LIB=None, ROCHOUND_LOG_DIR=None)
    launcher, program.pid = program.pid, None
    program.tell("launch 2")
    place.ctl("start", "--tree", launcher)
    program.tell("launch 3")
    place.ctl("stop", "--tree", launcher)
    program.tell("launch 5")
    equal(program.end(), "end launched=10", "last line")
    equal(operations(trace), 3, "operations in the trace")


def case_run_range(place):
    need_roctx()
    trace = place.folder / "trace.rpd"
    program = place.start(control_place.arguments.rochound, "run", "--softgpu", control_place.arguments.gpu, "--range", "wanted", "-o", str(trace), "--",
                          control_place.arguments.program, gpu=False, HSA_TOOLS_LIB=None, ROCHOUND_LOG_DIR=None)
    program.pid = None
    for line in ("launch 2", "roctx wanted 3", "launch 5", "range wanted 7", "launch 11"):
        program.tell(line)
    program.end()
    equal(operations(trace), 10, "operations in the trace")


def case_path_with_a_space(place):
    """The recorder is found before the runtime loads it, wherever it is installed."""
    folder = place.folder / "in stalled"
    folder.mkdir()
    shutil.copy(control_place.arguments.agent, folder)
    program = place.obedient(ROCHOUND_START="off", HSA_TOOLS_LIB=f"{folder}/librochound_agent.so".replace(" ", "\\ "))
    program.tell("start")
    equal(program.tell("recording"), "yes", "recording before the first GPU call")
    program.tell("launch 3")
    program.tell("stop")
    program.tell("launch 4")
    equal(place.dispatches(program.pid), 3, "dispatches")
    program.end()


def case_status(place):
    program = place.obedient()
    program.tell("launch 9")
    status = place.status(program.pid)
    equal(status["state"], "recording", "state")
    equal(status["kinds"]["dispatch"], 9, "dispatches")
    check(status["records"] >= 18 and status["bytes"] >= 1024 and status["threads"] >= 2, f"figures: {status}")
    equal(status["dropped"], 0, "dropped")
    check(os.path.samefile(os.path.dirname(status["log_directory"]), place.log), f"log: {status['log_directory']}")
    check(control_place.arguments.program in status["command"], f"command: {status['command']}")
    text = place.ctl("status", program.pid).stdout
    check(f"{program.pid}  recording" in text and status["log_directory"] in text, f"text: {text}")
    check(f"{program.pid}  recording" in place.ctl("list").stdout, "list")
    equal(set(place.rows("list")), {program.pid}, "list")
    program.end()
    check(not place.socket(program.pid).exists(), "the socket is still there after an orderly end")
    equal(place.rows("list"), {}, "list after the end")


def case_flush_and_dump(place):
    """After a flush the times of all finished kernels are in the log."""
    faults = place.folder / "faults"
    faults.touch()
    program = place.obedient(ROCHOUND_SOFTGPU_FAULT_LOG=str(faults))
    program.tell("launch 50")
    place.ctl("flush", program.pid)

    def times():
        return place.status(program.pid)["kinds"]["kernel_time"]

    # Of a kernel that the GPU took before its doorbell nobody knows at once that no time comes.
    early = sum('"early-packets"' in line for line in faults.read_text().splitlines())
    check(50 - early <= times() <= 50, f"{times()} kernel times, and {early} kernels that were taken early")
    wait_until(lambda: times() == 50, "a time, or word that there is none, for each kernel")
    folder = place.ctl("dump", program.pid).stdout.strip()
    equal(folder, place.status(program.pid)["log_directory"], "dump's answer")
    program.end()


def case_dump_to_trace(place):
    """A trace of a program that goes on running."""
    program = place.obedient()
    program.tell("launch 50")
    trace = place.folder / "trace.rpd"
    place.ctl("dump", program.pid, "-o", trace)
    equal(operations(trace), 50, "operations in the trace")
    program.tell("launch 1")
    program.end()


def case_from_c(place):
    """Counted starts and stops, the first before any GPU call; the outside's switch is apart."""
    program = place.obedient(ROCHOUND_START="off")
    equal(program.tell("recording"), "no", "recording")
    program.tell("start")
    equal(program.tell("recording"), "yes", "recording before the first GPU call")
    program.tell("start")
    program.tell("launch 3")
    program.tell("stop")
    program.tell("launch 4")
    equal(place.status(program.pid)["program_starts"], 1, "starts without a stop")
    note = place.ctl("stop", program.pid).stdout
    check("the program itself has started it once" in note, f"what stop says: {note}")
    program.tell("launch 5")
    program.tell("stop")
    program.tell("stop")  # one too many is none
    equal(program.tell("recording"), "no", "recording after the last stop")
    program.tell("launch 6")
    program.tell("start")
    program.tell("launch 7")
    program.tell("mark here")
    program.tell("flush")
    program.tell("stop")
    equal(place.dispatches(program.pid), 3 + 4 + 5 + 7, "dispatches")
    equal(place.status(program.pid)["kinds"]["range"], 1, "marks")
    program.end()


def case_c_without_recorder(place):
    program = place.obedient(HSA_TOOLS_LIB=None)
    for line in ("start", "launch 2", "range name 2", "mark text", "flush", "stop"):
        program.tell(line)
    equal(program.tell("recording"), "no", "recording")
    program.end()
    check(not place.log.exists() and not place.control.exists(), "something was left behind")


PYTHON_PROGRAM = """
import ctypes, os, sys
import rochound
hip = ctypes.CDLL("libamdhip64.so")
def work(count):
    for _ in range(count):
        assert hip.hipDeviceSynchronize() == 0
tracer = rochound.Tracer()
print("available", tracer.available, tracer.recording, flush=True)
with tracer:
    work(3)
    with rochound.Tracer() as inner:
        work(4)
    assert tracer.recording
    with tracer.range("outer"):
        work(5)
    tracer.mark("here")
    tracer.flush()
work(6)
print("recording", tracer.recording, flush=True)
input()
"""


def case_from_python(place):
    program = place.start(sys.executable, "-c", PYTHON_PROGRAM, ROCHOUND_START="off", ROCHOUND_RECORD="hip,roctx")
    equal(program.child.stdout.readline(), "available True False\n", "before the start")
    equal(program.child.stdout.readline(), "recording False\n", "after the stop")
    kinds = place.status(program.pid)["kinds"]
    equal(kinds["call"], 12, "HIP calls between start and stop")
    equal(kinds["range"], 3, "a push, a pop and a mark")
    program.child.stdin.write("\n")
    program.end()


def case_python_without_recorder(place):
    code = """
import warnings
import rochound
from rochound.rpdTracerControl import rpdTracerControl
with rochound.Tracer() as tracer:
    tracer.mark("text")
    with tracer.range("name"):
        assert not tracer.recording and not tracer.available
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for _ in range(3):
        with rochound.Tracer(warn=True) as tracer:
            tracer.flush()
assert len(said) == 1 and "not recorded" in str(said[0].message), said
rpdTracerControl.skipLoad()
control = rpdTracerControl()
with control:
    control.rangePush("domain", "name", "")
    control.rangePop()
    control.setPythonTrace(True)
    control.setPythonTrace(False)
    control.flush()
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], env=place.environment(HSA_TOOLS_LIB=None), check=False,
                          capture_output=True, text=True, timeout=PATIENCE, cwd=place.folder)
    equal((done.returncode, done.stdout, done.stderr), (0, "", ""), "outcome")
    check(not place.log.exists() and not place.control.exists(), "something was left behind")


def case_rpd_control(place):
    """What RPD's users wrote, under the launcher's environment: counted starts, ranges, Python functions as ranges."""
    code = """
import ctypes
from rochound.rpdTracerControl import rpdTracerControl
hip = ctypes.CDLL("libamdhip64.so")
def work(count):
    for _ in range(count):
        assert hip.hipDeviceSynchronize() == 0
rpdTracerControl.skipCreate()
control = rpdTracerControl()
other = rpdTracerControl()
work(1)
control.start()
other.start()
work(2)
control.stop()
control.rangePush("domain", "name", "arguments")
work(3)
control.rangePop()
other.setPythonTrace(True)
work(4)
other.setPythonTrace(False)
other.stop()
work(5)
control.flush()
print("ready", flush=True)
input()
"""
    program = place.start(sys.executable, "-c", code, ROCHOUND_START="off", ROCHOUND_RECORD="hip,roctx")
    equal(program.child.stdout.readline(), "ready\n", "output")
    kinds = place.status(program.pid)["kinds"]
    equal(kinds["call"], 9, "HIP calls between the first start and the last stop")
    equal(kinds["range"], 4, "two pushes and two pops")
    program.child.stdin.write("\n")
    program.end()


def case_rpd_without_launcher(place):
    """python3 program.py, as RPD's users start it: the trace is there when the program has ended."""
    code = """
import ctypes, os, subprocess, sys
from rochound.rpdTracerControl import rpdTracerControl
rpdTracerControl.setFilename("mine.rpd")
control = rpdTracerControl()
hip = ctypes.CDLL("libamdhip64.so")
def work(count):
    for _ in range(count):
        assert hip.hipDeviceSynchronize() == 0
work(2)
with control:
    work(3)
    # A child inherits the wish to be recorded, but nobody starts it.
    subprocess.run([sys.executable, "-c",
                    "import ctypes; assert ctypes.CDLL('libamdhip64.so').hipDeviceSynchronize() == 0"], check=True)
work(4)
"""
    path = os.path.dirname(control_place.arguments.rochound) + os.pathsep + os.environ["PATH"]
    environment = {"HSA_TOOLS_LIB": None, "ROCHOUND_LOG_DIR": None, "PATH": path}
    for _ in range(2):  # the second trace replaces the first
        program = place.start(sys.executable, "-c", code, **environment)
        equal(program.end(), "", "output")
        check("rochound" not in program.stderr(), f"stderr: {program.stderr()}")
        equal(os.listdir(place.folder / "mine.rpd.log") if (place.folder / "mine.rpd.log").exists() else [], [], "log")
        with contextlib.closing(sqlite3.connect(place.folder / "mine.rpd")) as database:
            equal(database.execute("select count(*) from api where apiName = 'hipDeviceSynchronize'").fetchone()[0], 3,
                  "HIP calls in the trace")


def case_range_of_roctx(place):
    """ROCHOUND_RANGE: only inside ranges of that name, which are themselves in the log."""
    need_roctx()
    program = place.obedient(ROCHOUND_RANGE="wanted")
    program.tell("launch 2")
    equal(place.status(program.pid)["state"], "armed", "state outside the range")
    check("waits for the range 'wanted'" in place.ctl("status").stdout, "status tells what it waits for")
    program.tell("roctx wanted 3")
    program.tell("roctx other 5")
    program.tell("range wanted 7")
    program.tell("range wanted2 11")
    equal(place.dispatches(program.pid), 10, "dispatches")
    equal(place.status(program.pid)["kinds"]["range"], 4, "two pushes and two pops")
    place.ctl("stop", program.pid)  # the outside's wish holds inside ranges too
    program.tell("roctx wanted 13")
    equal(place.dispatches(program.pid), 10, "dispatches after a stop")
    program.end()


def case_range_of_c(place):
    program = place.obedient(ROCHOUND_RANGE="step*")
    for line in ("launch 2", "range step1 3", "range other 5", "range step2 7", "launch 11"):
        program.tell(line)
    equal(place.dispatches(program.pid), 10, "dispatches")
    equal(place.status(program.pid)["kinds"]["range"], 4, "two pushes and two pops")
    program.end()


def case_delay_and_duration(place):
    """Judged by the log's own times, so that a busy machine does not matter."""
    program = place.obedient("--steady", ROCHOUND_DELAY="1500ms", ROCHOUND_DURATION="700ms")
    place.wait_for_socket(program.pid)
    wait_until(lambda: place.status(program.pid)["kinds"].get("state", 0) >= 3, "a start and a stop")
    count = place.dispatches(program.pid)
    time.sleep(0.2)
    equal(place.dispatches(program.pid), count, "dispatches after the end")
    records = place.records("host_anchor,state,dispatch")
    set_up = min(record["now_tsc"] for record in records if record["record"] == "host_anchor")
    states = [record for record in records if record["record"] == "state"]
    equal([record["state"] for record in states], ["armed", "recording", "armed"], "states")
    begin, end = ((record["now_tsc"] - set_up) / 1e9 for record in states[1:])
    check(1.4 < begin < 30 and 2.1 < end < 30, f"recorded from {begin:.2f} s to {end:.2f} s")
    times = [(record["submit_tsc"] - set_up) / 1e9 for record in records if record["record"] == "dispatch"]
    check(times and all(begin - 0.1 <= at <= end + 0.1 for at in times), f"{len(times)} dispatches, from {min(times, default=0):.2f} s on")
    place.ctl("start", program.pid)  # somebody may still switch it on
    wait_until(lambda: place.dispatches(program.pid) > count, "more dispatches after a start")
    program.end()


def case_stuck_clients(place):
    """Clients that say nothing, too much, or do not listen keep nobody waiting."""
    program = place.obedient("--steady")
    place.wait_for_socket(program.pid)
    path = place.socket(program.pid)
    silent = [connect(path) for _ in range(30)]
    for connection in silent[::2]:
        with contextlib.suppress(OSError):
            connection.sendall(b"stat")
    deaf = [connect(path) for _ in range(5)]
    for connection in deaf:
        with contextlib.suppress(OSError):
            connection.sendall(b"status\n")
            connection.shutdown(socket.SHUT_WR)
    # ctl waits for an answer for 3 s; one after the other, the silent ones would have kept it waiting for ten times as long.
    place.status(program.pid)
    check(ask(path, b"x" * 10000).startswith("error the request is too long"), "a long request")
    check(ask(path, b"\0\xff\n").startswith("error unknown request"), "an unknown request")
    equal(ask(path, b"status\nstart\n").count("end\n"), 1, "answers to two requests at once")
    equal(ask(path, b"status\n").split("\n")[-2], "end", "last line of an answer")
    for connection in silent:
        connection.settimeout(PATIENCE)
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            equal(connection.recv(1), b"", "what a silent client gets")
        connection.close()
    for connection in deaf:
        connection.close()
    equal(place.status(program.pid)["state"], "recording", "state afterwards")
    program.end()


def case_asked_while_it_begins_and_ends(place):
    """Every request at every moment of a short life; the program does not notice."""
    requests = (b"flush\n", b"status\n", b"stop\n", b"start\n")
    answered = 0
    for life in range(200):
        if life >= 20 and answered > 40:
            break
        program = place.obedient()
        program.child.stdin.write("launch 20\n" * 3)
        program.child.stdin.close()
        asked = 0
        while program.child.poll() is None:
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
                asked += ask(place.socket(program.pid), requests[asked % len(requests)]).startswith("ok\n")
        equal(program.child.returncode, 0, f"exit code ({program.stderr()})")
        equal(program.child.stdout.read().split("\n")[-2], "end launched=60", "last line")
        answered += asked
        check(not place.socket(program.pid).exists(), "the socket is still there")
    check(answered > 40, f"only {answered} requests were answered")


def case_second_user(place):
    """Another user reaches neither the directory nor, if both were opened to him, the recorder."""
    if os.geteuid() != 0:
        raise Skip(REASON_ROOT)
    program = place.obedient()
    program.tell("launch 1")
    path = place.socket(program.pid)
    code = """
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
try:
    connection.sendall(b"stop\\n")
except BrokenPipeError:
    pass  # refused before the request came; the answer is there all the same
print(connection.recv(4096).decode())
"""
    for folder in (place.folder, *place.folder.parents):
        if not os.stat(folder).st_mode & stat.S_IXOTH:
            os.chmod(folder, os.stat(folder).st_mode | stat.S_IXOTH)
            check(folder == place.folder, f"{folder} is closed to others")
    check("PermissionError" in as_nobody(code, path), "the directory lets another user in")
    os.chmod(place.control, 0o711)
    check("PermissionError" in as_nobody(code, path), "the socket lets another user in")
    os.chmod(path, 0o777)
    answer = as_nobody(code, path)
    check(answer.startswith("error this process belongs to another user"), f"the recorder's answer: {answer}")
    row = place.rows("status", program.pid, code=1)[program.pid]
    check("not being recorded" in row["error"], f"ctl uses a directory that is open to others: {row}")
    os.chmod(place.control, 0o700)
    equal(place.status(program.pid)["state"], "recording", "state afterwards")
    program.end()


def case_root_reads_with_the_users_rights(place):
    """Whoever listens on a user's socket may name any folder; root opens it as that user would."""
    if os.geteuid() != 0:
        raise Skip(REASON_ROOT)
    program = place.obedient()
    program.tell("launch 3")
    program.end()
    theirs = place.folder / "theirs"
    shutil.copytree(next(place.log.iterdir()), theirs)
    for path in (theirs, *theirs.iterdir()):
        os.chown(path, NOBODY, NOBODY)
        os.chmod(path, 0o700)
    place.folder.chmod(0o711)
    place.log.chmod(0o700)
    place.control.chmod(0o700)
    os.chown(place.control, NOBODY, NOBODY)
    code = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(f"{os.environ['ROCHOUND_CONTROL_DIR']}/{os.getpid()}.sock")
listener.listen()
print("ready", flush=True)
while True:
    connection, _ = listener.accept()
    connection.recv(256)
    connection.sendall(f"ok\\nprotocol=1\\nstate=recording\\ndirectory={sys.argv[1]}\\nend\\n".encode())
    connection.close()
"""
    for folder, readable in ((next(place.log.iterdir()), False), (theirs, True)):
        with subprocess.Popen([sys.executable, "-c", code, str(folder)], user=NOBODY, group=NOBODY, extra_groups=[],
                              env=place.environment(HSA_TOOLS_LIB=None), stdout=subprocess.PIPE, text=True, cwd="/") as listener:
            try:
                equal(listener.stdout.readline(), "ready\n", "the listener's first line")
                equal("records" in place.status(listener.pid), readable, f"ctl status reads {folder}")
                done = place.ctl("dump", listener.pid, "-o", place.folder / "stolen.rpd", code=1)
                check("sudo -u" in done.stderr, f"ctl dump: {done.stderr}")
                check(not (place.folder / "stolen.rpd").exists(), "a trace was made with root's rights")
            finally:
                listener.kill()


def case_directory_attacks(place):
    """A directory that somebody else prepared is refused; the program is recorded all the same."""
    target = place.folder / "target"

    def link():
        target.mkdir(mode=0o700)
        place.control.symlink_to(target)

    def open_to_all():
        place.control.mkdir()
        place.control.chmod(0o777)

    def somebody_elses():
        place.control.mkdir(mode=0o700)
        os.chown(place.control, NOBODY, NOBODY)

    attacks = {"symbolic link": link, "open to other users": open_to_all}
    if os.geteuid() == 0:
        attacks["belongs to user 65534"] = somebody_elses
    for reason, attack in attacks.items():
        attack()
        program = place.obedient()
        program.tell("launch 3")
        check(not any(place.control.iterdir()), f"{reason}: a socket was made there")
        program.end()
        complaints = [line for line in program.stderr().split("\n") if "cannot be controlled" in line]
        check(len(complaints) == 1 and reason in complaints[0], f"{reason}: {program.stderr()}")
        if place.control.is_symlink():
            place.control.unlink()
        else:
            place.control.rmdir()
    equal(len(list(place.log.iterdir())), len(attacks), "logs")
    if os.geteuid() != 0:
        raise Skip(f"a directory of another user was not tried: {REASON_ROOT}; the rest passed")


def case_no_control_wanted(place):
    program = place.obedient(ROCHOUND_CONTROL_DIR="")
    program.tell("launch 1")
    program.end()
    check("rochound" not in program.stderr(), f"stderr: {program.stderr()}")


def case_default_directory(place):
    """XDG_RUNTIME_DIR, and /tmp where there is none; ctl finds a process by what its environment says."""
    runtime = place.folder / "runtime"
    runtime.mkdir(mode=0o700)
    program = place.obedient(ROCHOUND_CONTROL_DIR=None, XDG_RUNTIME_DIR=str(runtime))
    program.tell("launch 1")
    found = runtime / "rochound" / f"{program.pid}.sock"
    check(found.is_socket(), f"{found} is not there")
    equal(stat.S_IMODE(found.stat().st_mode), 0o600, "mode of the socket")
    equal(stat.S_IMODE(found.parent.stat().st_mode), 0o700, "mode of the directory")
    equal(place.status(program.pid)["state"], "recording", "state, asked from another environment")
    program.end()
    program = place.obedient(ROCHOUND_CONTROL_DIR=None, XDG_RUNTIME_DIR=str(place.folder / "missing"))
    program.tell("launch 1")
    check(pathlib.Path(f"/tmp/rochound-{os.geteuid()}/{program.pid}.sock").is_socket(), "no socket in /tmp")
    equal(place.status(program.pid)["state"], "recording", "state")
    program.end()


def case_long_directory(place):
    """Longer than a socket's address may be."""
    place.control = place.folder / ("x" * 200)
    program = place.obedient()
    program.tell("launch 1")
    equal(place.status(program.pid)["state"], "recording", "state")
    program.end()


def case_killed(place):
    """A stale socket is no error, and ctl list takes it away."""
    program = place.obedient()
    program.tell("launch 1")
    program.kill()
    check(place.socket(program.pid).exists(), "the socket of a killed process is gone by itself?")
    check("No program of yours" in place.ctl("list").stderr, "list")
    check(not place.socket(program.pid).exists(), "the stale socket is still there")
    equal(place.rows("status", program.pid, code=1)[program.pid]["error"], "there is no such process", "error")
    place.ctl("start", "--all", code=1)


def case_stopped_process(place):
    """A process that does not run does not answer; ctl says so and does not wait for ever."""
    program = place.obedient()
    program.tell("launch 1")
    os.kill(program.pid, signal.SIGSTOP)
    row = place.rows("status", program.pid, code=1)[program.pid]
    check("does not answer" in row["error"], f"error: {row}")
    os.kill(program.pid, signal.SIGCONT)
    equal(place.status(program.pid)["state"], "recording", "state")
    program.end()


def case_exec(place):
    """The same process number, another program: its own socket."""
    program = place.obedient()
    program.tell("launch 2")
    program.tell("exec")
    program.tell("launch 3")
    equal(place.dispatches(program.pid), 3, "dispatches after exec")
    program.end()


def case_fork(place):
    """A child that only waits holds nothing of its parent's socket."""
    program = place.obedient()
    program.tell("launch 2")
    with connect(place.socket(program.pid)) as held:
        held.sendall(b"sta")
        program.tell("fork")
        held.sendall(b"tus\n")
        answer = b""
        while piece := held.recv(4096):
            answer += piece
        check(answer.endswith(b"end\n"), "the child keeps the parent's connection open")
    equal(place.dispatches(program.pid), 2, "dispatches")
    os.kill(program.pid, signal.SIGKILL)
    program.child.wait()
    check(os.path.exists(f"/proc/{program.forked}"), "the child is gone")
    place.ctl("list")
    check(not place.socket(program.pid).exists(), "the child holds the parent's socket")
    os.kill(program.forked, signal.SIGKILL)


def case_sockets_closed_by_the_program(place):
    """As daemons do: there is a new socket, and what the program opens instead is left alone."""
    program = place.obedient()
    program.tell("launch 2")
    for _ in range(3):
        program.tell("lose")
        equal(place.status(program.pid)["state"], "recording", "state")
    program.tell("launch 2")
    equal(place.dispatches(program.pid), 4, "dispatches")
    program.end()


def case_ctl_usage(place):
    for words, complaint in ((("start",), "which process?"), ((), "what is to be done?"), (("begin",), "no action 'begin'"),
                             (("start", "1", "--all"), "--all goes without"), (("start", "-5"), ""),
                             (("start", "0"), "0 is not a process id"), (("list", "-o", "x"), "-o goes with dump")):
        done = place.ctl(*words, code=2)
        check(complaint in done.stderr and "rochound ctl --help" in done.stderr, f"{words}: {done.stderr}")
    check("Examples:" in place.ctl("--help").stdout, "help")
    unrecorded = place.start("sleep", "60", gpu=False)
    check("not being recorded" in place.ctl("start", unrecorded.pid, code=1).stderr, "a process without a recorder")
    check("not being recorded" in place.ctl("start", "--tree", unrecorded.pid, code=1).stderr, "a tree without one")
    check("no such process" in place.ctl("stop", 2**22 + 1, code=1).stderr, "a process that is not there")


# --- running them


def cases():
    return {name[len("case_"):]: value for name, value in globals().items() if name.startswith("case_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--case")
    for name in ("rochound", "agent", "program", "python", "gpu"):
        parser.add_argument("--" + name)
    control_place.arguments = parser.parse_args()
    if control_place.arguments.list:
        print("\n".join(cases()))
        return 0
    folder = tempfile.mkdtemp(prefix="rochound-control-")
    place = Place(folder)
    try:
        cases()[control_place.arguments.case](place)
        print("PASS", control_place.arguments.case)
        return 0
    except Skip as reason:
        print(f"SKIP {control_place.arguments.case}: {reason}")
        return SKIP
    except (Failure, subprocess.TimeoutExpired) as problem:
        print(f"FAIL {control_place.arguments.case}: {problem}")
        for child in place.children:
            print(f"  process {child.pid}: {child.stderr()}")
        return 1
    finally:
        place.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
