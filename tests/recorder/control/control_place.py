# SPDX-License-Identifier: MIT
"""Where a case of control.py runs: its folder, programs in it, and how recorders are asked."""

import contextlib
import ctypes
import json
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import sys
import time

SKIP = 77
PATIENCE = 60  # seconds for anything that must happen
NOBODY = 65534
REASON_ROOT = "only root can act as a second user"

arguments = None  # of the command line


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def check(truth, message):
    if not truth:
        raise Failure(message)


def equal(found, wanted, what):
    check(found == wanted, f"{what}: {found!r}, wanted {wanted!r}")


def wait_until(happened, what):
    end = time.monotonic() + PATIENCE
    while not happened():
        check(time.monotonic() < end, f"not within {PATIENCE} s: {what}")
        time.sleep(0.02)


class Place:
    """The folder of a case."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.control = self.folder / "control"
        self.log = self.folder / "log"
        self.children = []

    def environment(self, **more):
        environment = dict(os.environ, ROCHOUND_CONTROL_DIR=str(self.control), ROCHOUND_LOG_DIR=str(self.log),
                           HSA_TOOLS_LIB=arguments.agent, PYTHONPATH=arguments.python, PYTHONDONTWRITEBYTECODE="1")
        environment.update(more)
        return {name: value for name, value in environment.items() if value is not None}

    def start(self, *command, gpu=True, **environment):
        """A recorded program, told what to do through stdin."""
        if gpu:
            command = (arguments.rochound, "softgpu", "--gpu", arguments.gpu, "--", *command)
        child = Program(command, self, self.environment(**environment))
        self.children.append(child)
        return child

    def obedient(self, *options, **environment):
        return self.start(arguments.program, *options, **environment)

    def ctl(self, *words, code=0, user=None):
        """The answer of `rochound ctl`."""
        extra = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        done = subprocess.run([arguments.rochound, "ctl", *map(str, words)], env=self.environment(HSA_TOOLS_LIB=None),
                              capture_output=True, text=True, timeout=PATIENCE, cwd="/", **extra)
        equal(done.returncode, code, f"exit code of ctl {' '.join(map(str, words))} ({done.stdout}{done.stderr})")
        return done

    def rows(self, *words, code=0):
        return {row["pid"]: row for row in json.loads(self.ctl(*words, "--json", code=code).stdout)}

    def status(self, pid):
        return self.rows("status", pid)[pid]

    def dispatches(self, pid):
        """Kernels in the log so far."""
        self.ctl("flush", pid)
        return self.status(pid)["kinds"].get("dispatch", 0)

    def records(self, kinds):
        """The log's records of these kinds, in the order of each thread."""
        done = subprocess.run([arguments.rochound, "log", "dump", str(self.log), "--kind", kinds, "--json"],
                              capture_output=True, text=True, timeout=PATIENCE, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def socket(self, pid):
        return self.control / f"{pid}.sock"

    def wait_for_socket(self, pid):
        wait_until(self.socket(pid).exists, f"a socket of process {pid}")

    def close(self):
        for child in self.children:
            child.kill()


class Program:
    def __init__(self, command, place, environment):
        self.errors = open(place.folder / f"errors-{len(place.children)}", "w+", encoding="utf-8")
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                      env=environment, cwd=place.folder, start_new_session=True)
        self.pid = self.child.pid
        self.launched = 0
        self.forked = 0

    def tell(self, line):
        """Waits until it is done; the first word of the answer."""
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()
        answer = self.child.stdout.readline().split()
        check(answer, f"no answer to '{line}': {self.stderr()}")
        values = dict(word.split("=") for word in answer if "=" in word)
        if self.pid is None:  # started by a launcher
            self.pid = int(values["pid"])
        equal(int(values["pid"]), self.pid, "process id")
        self.launched = int(values["launched"])
        self.forked = int(values["child"])
        return answer[0]

    def end(self, code=0):
        """Lets it end; its last line."""
        out, _ = self.child.communicate(timeout=PATIENCE)
        equal(self.child.returncode, code, f"exit code ({self.stderr()})")
        return out.strip()

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read()

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()
        self.errors.close()


def connect(path):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(str(path))  # waits while others do
    connection.settimeout(PATIENCE)
    return connection


def ask(path, request):
    """Without the command, as docs/formats/control.md says."""
    with connect(path) as connection:
        connection.sendall(request)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(4096):
                answer += piece
        return answer.decode()


def need_roctx():
    try:
        ctypes.CDLL("libroctx64.so.4")
    except OSError as problem:
        raise Skip(f"this ROCm has no roctx: {problem}") from None


def operations(trace):
    """Kernels in a trace; the programs here do nothing else on the GPU."""
    with contextlib.closing(sqlite3.connect(trace)) as database:
        return database.execute("select count(*) from rocpd_op").fetchone()[0]


def as_nobody(code, *words):
    """Runs Python code as another user; its output."""
    done = subprocess.run([sys.executable, "-c", code, *map(str, words)], user=NOBODY, group=NOBODY, extra_groups=[],
                          capture_output=True, text=True, timeout=PATIENCE, check=False, cwd="/")
    return done.stdout + done.stderr


# --- cases: every function whose name starts with case_
