#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A client that keeps to no rule, against the real `rochound mcp`: whatever it sends, the server answers or ends in order, uses
little memory, and leaves no process behind.

usage: hostile.py --rochound PATH
"""

import argparse
import json
import os
import pathlib
import random
import select
import signal
import subprocess
import sys
import tempfile
import time

MOST_MEMORY = 400 << 20  # bytes


class Failed(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Failed(what)


class Server:
    def __init__(self, rochound, folder, *options):
        self.process = subprocess.Popen([rochound, "mcp", "--folder", folder, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, bufsize=0)
        self.text = b""

    def send(self, data):
        """Raw bytes. What comes back meanwhile is read, so that nobody waits for the other."""
        view = memoryview(data)
        while view:
            readable, writable, _ = select.select([self.process.stdout], [self.process.stdin], [], 60)
            check(readable or writable, "the server neither reads nor writes")
            if readable:
                piece = os.read(self.process.stdout.fileno(), 1 << 16)
                check(piece, "the server ended")
                self.text += piece
            if writable:
                view = view[os.write(self.process.stdin.fileno(), view[:4096]):]

    def request(self, number, method, params=None):
        self.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}).encode() + b"\n")

    def receive(self, seconds=60):
        end = time.monotonic() + seconds
        while b"\n" not in self.text:
            readable, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            check(readable, f"no answer within {seconds} s")
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            check(piece, "the server ended")
            self.text += piece
        line, self.text = self.text.split(b"\n", 1)
        return json.loads(line)

    def initialize(self):
        self.request("first", "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}})
        check("result" in self.receive(), "initialize fails")
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def still_answers(self):
        """Whatever else is on its way."""
        number = f"still-{random.random()}"
        self.request(number, "ping")
        while self.receive().get("id") != number:
            pass

    def memory(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
        return 0

    def ends(self, seconds=10):
        self.process.stdin.close()
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failed(f"it does not end within {seconds} s after its input") from None
        check(code == 0, f"it ends with {code}")
        self.process.stdout.close()


def codes(server, lines):
    for line, code in lines:
        server.send(line + b"\n")
        answer = server.receive()
        check(answer.get("error", {}).get("code") == code, f"{line[:80]!r} is answered with {str(answer)[:200]}, not {code}")


def messages(server, _folder):
    codes(server, [
        (b"x" * (5 << 20), -32600), (b"[" * 900000, -32700), (b'{"a":' * 150000, -32700), (b"\xff\xfe\x00", -32700), (b"\x00", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xc3("}', -32700), (b"[]", -32600), (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b"null", -32600), (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":[],"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":"' + b"x" * 300 + b'","method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"nonsense"}', -32601), (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":7}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602), (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"../.."}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}', -32600)])
    for number in (-1, 0, -(2 ** 63), 2 ** 64 - 1, "", "\u0000", "\U0001f600"):
        server.request(number, "ping")
        check(server.receive().get("id") == number, f"the id {number!r} is not repeated")
    for params in ({}, {"requestId": None}, {"requestId": 12345}, {"requestId": {"a": []}}, {"requestId": "x" * 100000}):
        server.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).encode() + b"\n")
    server.send(b'{"jsonrpc":"2.0","id":77,"result":{}}\n{"jsonrpc":"2.0","id":77,"error":{}}\n\n\r\n')


def before_initialize(rochound, folder):
    server = Server(rochound, folder)
    for method in ("tools/list", "tools/call", "server/discover", "nonsense"):
        server.request(1, method, {"name": "doctor"})
        check(server.receive().get("error", {}).get("code") == -32602, f"{method} before initialize")
    server.still_answers()
    server.ends()


def arguments(server, folder):
    """Options, paths and types that are not to be. None of them is done."""
    names = sorted(os.listdir(folder))
    wrong = [("show", {"path": path}) for path in ("/etc/shadow", "../..", "/proc/self/environ", "--help", "-", "\0", "x" * 100000, "link/hostname", 7, None)]
    wrong += [("show", {"path": "file", "kernel": kernel}) for kernel in (["--all"], {"a": 1}, True)]
    wrong += [("explain", {"traces": ["file"], name: value}) for name, value in
              (("question", "--help"), ("steps", "--no-json"), ("memory", "1T"), ("no_write", False), ("against", ["/etc/passwd"]))]
    wrong += [("query", {"traces": ["file"], "sql": sql}) for sql in ("--help", "--version", "--", "-x", "[a,b]")]
    wrong += [("doctor", {"program": "--help"}), ("doctor", {"root": "/"}), ("doctor", {"python": "sh"}), ("doctor", {"hang": 1})]
    for number, (name, given) in enumerate(wrong):
        server.request(number, "tools/call", {"name": name, "arguments": given})
        answer = server.receive()
        check(answer.get("result", {}).get("isError") is True, f"{name} {str(given)[:100]} is answered with {str(answer)[:300]}")
        check("root:" not in json.dumps(answer), "a file outside was read")
    check(sorted(os.listdir(folder)) == names, "something was written")


def many(server, _folder):
    """Thousands of calls at once: each gets one answer."""
    count = 3000
    lines = b"".join(json.dumps({"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": "show", "arguments": {"path": "file"}}}).encode() + b"\n"
                     for i in range(count))
    server.send(lines)
    answered = [server.receive(120)["id"] for _ in range(count)]
    check(sorted(answered) == list(range(count)), "not every call has one answer")
    # Begun and cancelled.
    for i in range(500):
        server.request(i, "tools/call", {"name": "show", "arguments": {"path": "file"}})
        server.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": i}}).encode() + b"\n")


def noise(server, _folder):
    """Random changes of good messages."""
    chance = random.Random(7)
    good = [b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}', b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
            b'{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"show","arguments":{"path":"file"},"_meta":{"progressToken":1}}}']
    for _ in range(2000):
        line = bytearray(chance.choice(good))
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(line))
            if chance.random() < 0.5:
                line[at] = chance.randrange(256)
            else:
                line[at:at] = line[chance.randrange(len(line)):][:chance.randrange(20)]
        server.send(bytes(line) + b"\n")


def alive(pid):
    try:
        return ") Z " not in pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def limit(rochound, folder):
    """A call that takes longer than --timeout is ended, and the server goes on."""
    server = Server(rochound, folder, "--allow-run", "--timeout", "2")
    server.initialize()
    start = time.monotonic()
    server.request(1, "tools/call", {"name": "run", "arguments": {"program": ["sleep", "300"]}})
    answer = server.receive(60)
    check(answer.get("result", {}).get("isError") is True and "within 2 s" in json.dumps(answer), f"--timeout 2: {str(answer)[:500]}")
    check(time.monotonic() - start >= 2, "it was ended before its time")
    server.still_answers()
    server.ends()


def ends(rochound, folder):
    """However a client goes, nothing of its calls stays."""
    scratch = pathlib.Path(folder, "scratch")
    scratch.mkdir()
    os.environ["TMPDIR"] = str(scratch)
    ways = {"closed": lambda server: server.process.stdin.close(), "terminated": lambda server: server.process.send_signal(signal.SIGTERM),
            "half a line": lambda server: (server.send(b'{"jsonrpc":"2.0",'), server.process.stdin.close()),
            "killed": lambda server: server.process.kill()}
    for name, way in ways.items():
        server = Server(rochound, folder, "--allow-run")
        server.initialize()
        pids = pathlib.Path(folder, "pids")
        pids.unlink(missing_ok=True)
        server.request(1, "tools/call", {"name": "run", "arguments": {"program": ["sh", "-c", "echo $$ > pids; exec sleep 300"]}})
        for _ in range(600):
            if pids.exists() and pids.read_text().endswith("\n"):
                break
            time.sleep(0.1)
        pid = int(pids.read_text())
        check(alive(pid), "the program does not run")
        way(server)
        server.process.wait(20)
        for _ in range(100):
            if not alive(pid):
                break
            time.sleep(0.1)
        check(not alive(pid), f"{name}: the program goes on without the server")
        left = list(scratch.glob("rochound-mcp-*"))
        check(name == "killed" or not left, f"{name}: {left} are left")
    # One that never reads.
    server = Server(rochound, folder)
    server.initialize()
    for i in range(50):
        os.write(server.process.stdin.fileno(), json.dumps({"jsonrpc": "2.0", "id": i, "method": "tools/list"}).encode() + b"\n")
    time.sleep(1)
    server.ends()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    rochound = parser.parse_args().rochound
    with tempfile.TemporaryDirectory(prefix="mcp-hostile-") as folder:
        pathlib.Path(folder, "file").write_text("nothing")
        os.symlink("/etc", pathlib.Path(folder, "link"))
        try:
            before_initialize(rochound, folder)
            for attack in (messages, arguments, many, noise):
                server = Server(rochound, folder)
                server.initialize()
                start = time.monotonic()
                attack(server, folder)
                server.still_answers()
                memory = server.memory()
                check(memory < MOST_MEMORY, f"{attack.__name__}: {memory >> 20} MiB")
                server.ends()
                print(f"{attack.__name__}: {time.monotonic() - start:.1f} s, {memory >> 20} MiB")
            limit(rochound, folder)
            ends(rochound, folder)
        except Failed as problem:
            print(f"FAILED: {problem}")
            return 1
        print("all answered, all ended")
    return 0


if __name__ == "__main__":
    sys.exit(main())
