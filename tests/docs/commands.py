#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the commands of a page as it writes them, from a fresh folder.

usage: commands.py --checkout FOLDER --bin FOLDER --scratch FOLDER [--gpu GPU] PAGE

A command block is fenced as sh and runs in bash, which stops at the first command that fails. All blocks of a page run in
one folder, one after the other. It looks like the checkout, with an empty build/ and a home of its own; the built rochound
is on the PATH. With --gpu, each block runs where `rochound softgpu --gpu GPU -- bash` leads to. ./dev root and ./dev build
are not repeated: whoever runs this has done both. What a block leaves running ends with the page.

Comments on the lines straight above a fence tell what to expect:
  <!-- not run: REASON -->         the block cannot run in a test; it is counted, and shown with its reason
  <!-- needs WHAT...: REASON -->   likewise where these programs and files are not there
  <!-- exit code 134: REASON -->   its last command ends so
  <!-- prints: TEXT -->            its output has this text in it
Above a fence of text:
  <!-- output of the block above -->  these lines are in the output of the commands before, in this order; numbers, and
                                      addresses, may be others. A line "..." stands for any.
Every other fence names its language (text, c, python, ...), so that no command is overlooked.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys

LIMIT = 600  # seconds per block
FENCE = re.compile(r"^(\s*)```(.*)$")
OUTPUT = "<!-- output of the block above -->"
NUMBER = re.compile(r"0x[0-9a-f]+|\d[\d.,]*(?: ?(?:ns|us|ms|s|%|B|KiB|MiB|GiB|KB|MB|GB)\b)?%?")
COMMENT = re.compile(r"^<!-- (not run|needs [^:]+|exit code (\d+)|prints): (.*) -->$")
DEV = """#!/bin/bash
case ${{1:-}} in
  root | build) echo "./dev $1: done before"; exit ;;
esac
exec {checkout}/dev "$@"
"""


class Failed(Exception):
    pass


@dataclasses.dataclass
class Block:
    line: int
    commands: str
    reason: str = ""  # why it is not run
    code: int = 0
    prints: list = dataclasses.field(default_factory=list)
    shown: list = dataclasses.field(default_factory=list)  # lines that the page says it prints


def blocks_of(text):
    """The command blocks of a page, in order. Raises Failed where a page leaves open what a block is."""
    blocks = []
    comments = []
    fence = None  # line, language, lines
    for number, line in enumerate(text.split("\n"), 1):
        match = FENCE.match(line)
        if fence is not None:
            if match and not match[2]:
                if fence[1] == "sh":
                    blocks.append(make_block(fence[0], fence[2], comments))
                elif comments == [OUTPUT]:
                    if not blocks or blocks[-1].reason:
                        raise Failed(f"line {fence[0]}: there is no block above that is run")
                    blocks[-1].shown += fence[2]
                elif comments:
                    raise Failed(f"line {fence[0]}: only blocks of commands (sh) are run")
                fence, comments = None, []
            else:
                fence[2].append(line)
        elif match:
            if not match[2]:
                raise Failed(f"line {number}: a fence without a language; sh for commands, text for what is none")
            fence = (number, match[2], [])
        elif line.startswith("<!--"):
            comment = OUTPUT if line == OUTPUT else COMMENT.match(line)
            if not comment or comment != OUTPUT and not comment[3].strip():
                raise Failed(f"line {number}: this comment is not understood: {line}")
            comments.append(comment)
        elif comments:
            raise Failed(f"line {number}: a comment about a block stands straight above its fence")
    if fence is not None:
        raise Failed(f"line {fence[0]}: this fence does not end")
    return blocks


def make_block(line, lines, comments):
    block = Block(line, "\n".join(lines) + "\n")
    for comment in comments:
        if comment == OUTPUT:
            raise Failed(f"line {line}: output is text, not commands")
        if comment[1] == "not run":
            block.reason = comment[3]
        elif comment[1].startswith("needs "):
            missing = [what for what in comment[1].split()[1:] if not shutil.which(what) and not pathlib.Path(what).is_file()]
            if missing:
                block.reason = f"there is no {', '.join(missing)}: {comment[3]}"
        elif comment[1] == "prints":
            block.prints.append(comment[3])
        else:
            block.code = int(comment[2])
    return block


def make_scratch(checkout, scratch):
    shutil.rmtree(scratch, ignore_errors=True)
    for folder in ("build", "home"):
        (scratch / folder).mkdir(parents=True)
    for entry in checkout.iterdir():
        if entry.name not in ("build", "dev", "home") and not entry.name.startswith("."):
            (scratch / entry.name).symlink_to(entry)
    dev = scratch / "dev"
    dev.write_text(DEV.format(checkout=shlex.quote(str(checkout))))
    dev.chmod(0o755)


def end_all(sessions):
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            # PID (NAME) STATE PARENT GROUP SESSION
            session = int((process / "stat").read_text().rsplit(")", 1)[1].split()[3])
            if session in sessions:
                os.kill(int(process.name), signal.SIGKILL)
        except (OSError, IndexError):
            pass  # it has ended


def run(block, options, environment, sessions):
    """Raises Failed with what the commands printed, if they do not do what the page says."""
    command = ["bash", "-e", "-u", "-o", "pipefail", "-c", block.commands]
    if options.gpu:
        command = [str(options.bin / "rochound"), "softgpu", "--gpu", options.gpu, "--", *command]
    with subprocess.Popen(command, cwd=options.scratch, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True) as child:
        sessions.append(child.pid)
        try:
            output = child.communicate(timeout=LIMIT)[0]
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            output = child.communicate()[0]
            raise Failed(f"not done after {LIMIT} s\n{output[-4000:]}") from None
    code = child.returncode if child.returncode >= 0 else 128 - child.returncode
    if code != block.code:
        raise Failed(f"exit code {code} instead of {block.code}\n{output[-4000:]}")
    for text in block.prints:
        if text not in output:
            raise Failed(f"does not print '{text}', but\n{output[-4000:]}")
    missing = first_missing(block.shown, output)
    if missing is not None:
        raise Failed(f"does not print the line '{missing}', but\n{output[-4000:]}")


def without_numbers(line):
    return " ".join(NUMBER.sub("#", line).split())


def first_missing(shown, output):
    """The first of the lines that is not in the output, after those before it; None: all are."""
    printed = [without_numbers(line) for line in output.split("\n")]
    at = 0
    for line in shown:
        wanted = without_numbers(line)
        if wanted in ("", "..."):
            continue
        if wanted not in printed[at:]:
            return line
        at = printed.index(wanted, at) + 1
    return None


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkout", type=pathlib.Path, required=True)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--gpu")
    parser.add_argument("page", type=pathlib.Path)
    options = parser.parse_args(arguments)
    environment = {**os.environ, "PATH": f"{options.bin}:{os.environ['PATH']}", "HOME": str(options.scratch / "home")}
    environment.pop("XDG_CONFIG_HOME", None)
    # That a page's command works does not test what each of its options does (tests/options).
    environment.pop("ROCHOUND_TEST_OPTIONS_RUN", None)
    name = options.page.name
    try:
        blocks = blocks_of(options.page.read_text())
    except Failed as problem:
        print(f"{name}, {problem}")
        return 1
    make_scratch(options.checkout, options.scratch)
    sessions = []
    try:
        for block in blocks:
            if block.reason:
                continue
            try:
                run(block, options, environment, sessions)
            except Failed as problem:
                print(f"{name}, line {block.line}: {problem}\nThe block:\n{block.commands}")
                return 1
    finally:
        end_all(sessions)
    skipped = [block for block in blocks if block.reason]
    print(f"{name}: {len(blocks) - len(skipped)} of {len(blocks)} blocks run")
    for block in skipped:
        print(f"  line {block.line} not run: {block.reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
