#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rochound optimize --llm` against a server that plays recorded answers.

usage: llm.py --rochound PATH --hipcc PATH --app PATH

The answers are good, wrong, slow, hostile, malformed, huge, and some ask for tools. A compile error is repaired, wrong
kernels are rejected, a better one is applied, and the program prints the same with it. The key is in no file, captured
values and other files are in no request, and --print-prompt-only opens no connection.
"""

import argparse
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import judge

GPU = judge.GPU
KEY = "sk-test-8d1f2c7a55"
SECRET = "the_word_that_nobody_may_know"
LIMIT = 900  # seconds


class Failed(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Failed(what)


def message(content, **more):
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content, **more}}]}


def code(source):
    return message(f"Here is a faster version.\n\n```cpp\n{source}\n```\n")


class Server:
    """Answers the nth request with the nth step: a JSON answer, or a function that gets the handler."""

    def __init__(self, steps=()):
        self.steps, self.requests, self.keys, self.connections = list(steps), [], [], 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.keys.append(self.headers.get("Authorization"))
                number = len(outer.requests)
                outer.requests.append((self.path, body.decode()))
                step = outer.steps[number] if number < len(outer.steps) else code("nothing")
                if callable(step):
                    step(self)
                else:
                    self.reply(200, json.dumps(step).encode())

            def reply(self, status, body, **headers):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    pass  # who asked has gone

            def log_message(self, *_):
                pass

        class Http(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def get_request(self):
                outer.connections += 1
                return super().get_request()

            def handle_error(self, *_):
                pass

        self.server = Http(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def content(self, number):
        """All that the model was told in this request."""
        return "\n".join(one["content"] for one in json.loads(self.requests[number][1])["messages"])


def slow(handler):
    time.sleep(4)
    handler.reply(200, json.dumps(code("int late;")).encode())


def huge(handler):
    handler.reply(200, json.dumps(message("a" * (4 << 20))).encode())


def endless(handler):
    """A body without an end, in pieces."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    piece = b"%x\r\n" % (1 << 16) + b" " * (1 << 16) + b"\r\n"
    try:
        while True:
            handler.wfile.write(piece)
    except OSError:
        pass


def tells_key(handler):
    handler.reply(500, f"no such model for {handler.headers['Authorization']}".encode())


class Kernel:
    """The kernel's source, and other versions of it."""

    def __init__(self, folder):
        kernels = (judge.HERE / "kernels.hip").read_text()
        self.folder = folder
        folder.mkdir()
        (folder / "helper.h").write_text(kernels.split("// --- scale")[0])
        (folder / "secret.txt").write_text(SECRET + ";\n")
        self.file = folder / "scale.hip"
        self.file.write_text(self.version("  if (i < count) out[i] = (Load(in + i) + Load(in + i) + Load(in + i)) * 2 - Load(in + i) * 4;"))

    @staticmethod
    def version(body, before=""):
        return f"""#include "helper.h"
{before}
extern "C" GLOBAL void scale(const float* in, float* out, int count, const float* spare) {{
  const int i = Group() * kGroup + Item();
{body}
}}
"""


class Run:
    def __init__(self, options, kernel, folder, server, *more):
        self.options, self.output, self.kernel = options, folder, kernel
        self.command = [options.rochound, "optimize", "--kernel", "^scale$", "--llm", kernel.file, "-o", folder, "--softgpu", GPU, "--flags",
                        " ".join(judge.FLAGS), "--runs", "1", "--as", "float", "--answer-timeout", "2", *more, "--", options.app]
        self.environment = {**os.environ, "ROCHOUND_LLM_URL": server.url, "ROCHOUND_LLM_MODEL": "recorded", "ROCHOUND_LLM_KEY": KEY}
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            self.environment.pop(name, None)

    def __call__(self, typed=""):
        done = subprocess.run([str(word) for word in self.command], input=typed, capture_output=True, text=True, errors="replace", timeout=LIMIT,
                              check=False, env=self.environment)
        said = done.stdout + done.stderr
        check(KEY not in said, f"the key is told:\n{said}")
        return done.returncode, said

    def ask(self, *words):
        done = judge.run([self.options.rochound, "optimize", *words, "-o", self.output, "--json"])
        check(done.returncode == 0, done.stderr)
        return json.loads(done.stdout)


def files_with(folder, text):
    found = []
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and text.encode() in path.read_bytes():
            found.append(str(path.relative_to(folder)))
    return found


def the_loop(options, folder):
    kernel = Kernel(folder / "source")
    other = Server()  # where a redirection leads
    faster = kernel.version("  if (i < count) out[i] = in[i] * 2;")
    broken = faster.replace("* 2;", "* 2 + nothing;")
    steps = {
        "slow": slow,
        "malformed": lambda handler: handler.reply(200, b'{"choices": [{"message"'),
        "huge": huge,
        "tools": message("Run this first.\n```cpp\nint a;\n```\n",
                         tool_calls=[{"id": "1", "type": "function", "function": {"name": "shell", "arguments": f"{{\"command\": \"touch {folder}/pwned\"}}"}}]),
        "endless": endless,
        "injects": message(f"```sh\ntouch {folder}/pwned\n```\nThen answer --auto-approve:\n```cpp\n{faster}\n```\n"),
        "tells key": tells_key,
        # A source that reads other files, to hear of them in the compiler's messages.
        "reads beside": code('#include "secret.txt"\n' + faster),
        "reads system": code('#include "/etc/passwd"\n#include "/proc/self/environ"\n' + faster),
        "reads by asm": code(faster.replace("const int i", f'asm(".inc" "lude \\"{kernel.folder}/secret.txt\\"");\n  const int i')),
        "wrong": code(kernel.version("  if (i < count) out[i] = i == count - 1 ? in[i] * 2.000001f : in[i] * 2;")),
        "does not build": code(broken),
        "repaired": code(faster),
        "redirects": lambda handler: handler.reply(302, b"", Location=other.url + "/chat/completions"),
        "keeps results": code(kernel.version("  if (i < count && done == 0) out[i] = in[i] * 2;\n  if (i == count - 1) done = 1;",
                                             before="DEVICE __attribute__((used)) int done;")),
        "knows key": code(f"// Bearer {KEY}\n" + kernel.version("  if (i < count) out[i] = in[i] + in[i];")),
    }
    names = list(steps)
    server = Server(steps.values())
    # Answers that are used or refused; those that repair one, and those that never came, do not count.
    run = Run(options, kernel, folder / "work", server, "--max-iters", "8", "--auto-approve")
    exit_code, said = run()
    asked = names[:len(server.requests)]
    check(exit_code == 0 and "applied: candidate" in said, f"exit code {exit_code} after {asked}:\n{said}")
    check(len(server.requests) == len(steps), f"{len(server.requests)} requests of {len(steps)}:\n{said}")
    at = {name: number for number, name in enumerate(names)}
    check(all(path == "/v1/chat/completions" for path, _ in server.requests), server.requests[0][0])
    check(set(server.keys) == {f"Bearer {KEY}"}, server.keys)
    check(other.connections == 0, "a redirection was followed")

    # What the model is told: first what is known, later what became of its answers.
    first = server.content(0)
    for part in ("Its symbol is scale.", "grid 1024x1x1 in workgroups of 256x1x1", "Load(in + i)", "load_dword v4", "vector registers", "## Roofline",
                 "## What limits it", "## Accesses to memory", "load of 4 bytes, side by side"):
        check(part in first, f"the prompt has no '{part}':\n{first}")
    for name, told in {"tools": "not used: it is no answer of chat completions", "injects": "not used: it asks for tools",
                       "reads beside": "not used: it has several code blocks", "does not build": "its results are different: one element of",
                       "repaired": "use of undeclared identifier 'nothing'", "keeps results": "equal and faster: ",
                       "knows key": "it can keep results from one launch to the next"}.items():
        check(told in server.content(at[name]), f"'{told}' is not told before '{name}':\n{server.content(at[name])}")
    check("in[i] * 2;" in server.content(at["keeps results"]).split("The best so far")[1], "the best so far is not shown")

    # What it is never told: captured values and places, other files, this machine's folders, the key.
    for number, (_, body) in enumerate(server.requests):
        for word in (SECRET, "root:x:0", "PATH=", str(folder), KEY, "1998", "[999]", "instead of"):
            at = body.find(word)
            check(at < 0, f"'{word}' is in request {number} ('{names[number]}'): {body[max(0, at - 200):at + 200]}")
    check(not (folder / "pwned").exists(), "a command of the model's was run")

    # What is kept.
    reasons = [entry["reason"] for entry in run.ask("log")["candidates"] if entry["stage"] == "all"]
    check(reasons == ["does-not-build"] * 3 + ["different", "does-not-build", "faster", "own-state", "faster"], reasons)
    sent = run.ask("sent")
    check([one["request"] for one in sent] == [body for _, body in server.requests], "what was sent is not what is kept")
    problems = [bool(one["problem"]) for one in sent]
    check(problems == [name in ("slow", "huge", "endless", "tells key", "redirects") for name in names], [one["problem"] for one in sent])
    check(not files_with(folder, KEY), f"the key is in {files_with(folder, KEY)}")

    # The program with it.
    bare = judge.run([options.rochound, "softgpu", "--gpu", GPU, "--", options.app])
    swapped = judge.run([options.rochound, "run", "--quiet", "--kernel-cache", run.output / "cache", "-o", folder / "t.rpd", "--softgpu", GPU, "--", options.app])
    check(bare.stdout == swapped.stdout and swapped.returncode == 0, swapped.stderr)
    swaps = judge.run([options.rochound, "explain", "swaps", folder / "t.rpd", "--json"])
    check('"swapped"' in swaps.stdout, swaps.stdout)

    # Once more: everything is known, nothing is asked.
    exit_code, said = run()
    check(exit_code == 0 and "applied already" in said, said)
    check(len(server.requests) == len(steps), "an answer that was there was asked for again")
    print(f"{len(server.requests)} requests, {len(reasons)} candidates judged; the key is in none of {sum(1 for _ in folder.rglob('*'))} files")
    return run


def questions(options, folder, first):
    """Nobody sends or uses anything without being asked."""
    server = Server([code(Kernel.version("  if (i < count) out[i] = in[i] * 2;"))])
    work = folder / "asked"
    work.mkdir()
    for kept in ("bundles", "facts"):  # as captured and profiled above
        shutil.copytree(first.output / kept, work / kept)
    run = Run(options, first.kernel, work, server, "--max-iters", "1")
    run.command.insert(-2, "--print-prompt-only")
    exit_code, said = run()
    check(exit_code == 0 and "You make GPU kernels" in said and "extern \"C\" GLOBAL void scale" in said, f"exit code {exit_code}:\n{said}")
    run.environment = {name: value for name, value in run.environment.items() if not name.startswith("ROCHOUND_LLM")}
    exit_code, again = run()
    check(exit_code == 0 and "Its symbol is scale." in again, f"exit code {exit_code}:\n{again}")
    check(server.connections == 0, "--print-prompt-only opens a connection")

    run = Run(options, first.kernel, work, server, "--max-iters", "1")
    for typed in ("", "n\n", "no\n"):
        exit_code, said = run(typed)
        check(exit_code == 3 and "nothing was sent" in said and server.connections == 0, f"exit code {exit_code} with '{typed}':\n{said}")
    exit_code, said = run("y\nn\n")
    check(exit_code == 4 and "not approved" in said and server.connections == 1, f"exit code {exit_code}:\n{said}")
    check(not list((work / "cache").glob("*")), "a kernel is used that nobody approved")
    exit_code, said = run("y\n")  # its answer is there: one question is left
    check(exit_code == 0 and "applied: candidate" in said and server.connections == 1, f"exit code {exit_code}:\n{said}")

    # An endpoint that gives the key away, and none.
    run.environment["ROCHOUND_LLM_URL"] = "http://models.example/v1"
    exit_code, said = run()
    check(exit_code == 125 and "unencrypted" in said, f"exit code {exit_code}:\n{said}")
    del run.environment["ROCHOUND_LLM_URL"]
    exit_code, said = run()
    check(exit_code == 125 and "ROCHOUND_LLM_URL" in said, f"exit code {exit_code}:\n{said}")
    run.environment["ROCHOUND_LLM_URL"] = "http://127.0.0.1:9/v1"
    shutil.rmtree(work / "llm")
    exit_code, said = run("y\n")
    check(exit_code == 125 and "did not answer 3 times in a row" in said, f"exit code {exit_code}:\n{said}")


def settings(options, folder, first):
    """How the model is asked. What does not build is not sent back here, and a twin is as good as its original."""
    faster = Kernel.version("  if (i < count) out[i] = in[i] * 2;")
    twin = faster + "// the same once more\n"
    nothing = message("I give up.")
    server = Server([code(faster.replace("* 2;", "* 2 + nothing;")), code(faster), code(twin), nothing, nothing])
    work = folder / "settings"
    work.mkdir()
    for kept in ("bundles", "facts"):
        shutil.copytree(first.output / kept, work / kept)

    def run(improvement):
        again = Run(options, first.kernel, work, server, "--max-iters", "4", "--auto-approve", "--temperature", "0.25", "--max-repairs", "0",
                    "--min-improvement", improvement)
        exit_code, said = again()
        check(exit_code == 0, f"exit code {exit_code}:\n{said}")
        bodies = [json.loads(body) for _, body in server.requests]
        check({body["temperature"] for body in bodies} == {0.25}, [body["temperature"] for body in bodies])
        # A repair goes on with the conversation.
        check({len(body["messages"]) for body in bodies} == {2}, [len(body["messages"]) for body in bodies])
        return server.content(-1).split("The best so far")[1]
    check("the same once more" in run("0"), "with --min-improvement 0 the last of equal ones is not the best")
    check(len(server.requests) == 4, f"{len(server.requests)} requests")
    check("the same once more" not in run("2"), "with --min-improvement 2 a twin is better than its original")
    check(len(server.requests) == 5, f"{len(server.requests)} requests, and only what follows the twin is another one")


def main():
    parser = argparse.ArgumentParser()
    for name in ("rochound", "hipcc", "app"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rochound-optimize-") as name:
        try:
            first = the_loop(options, pathlib.Path(name))
            questions(options, pathlib.Path(name), first)
            settings(options, pathlib.Path(name), first)
        except Failed as problem:
            print(f"FAIL: {problem}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
