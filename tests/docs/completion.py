#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Types half a command line into bash, zsh and fish, presses the tabulator, and reads what they make of it.

usage: completion.py --share FOLDER --shell bash|zsh|fish

FOLDER has the completions as they are installed. bash and zsh run on a terminal of their own; fish has a command for it.
"""

import argparse
import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time

# What is typed; what must be offered; what must not be.
CASES = [
    ("rochound softg", ["softgpu"], ["selftest"]),
    ("rochound se", ["selftest"], ["softgpu", "reference"]),
    ("rochound run --sta", ["--stacks", "--start-off"], ["--swap"]),
    ("rochound run --softgpu rx6", ["rx6800xt"], ["rx7900xtx"]),
    ("rochound run --softgpu rx6800xt,mi3", ["mi300x"], ["rx7900xtx"]),
    ("rochound doctor dec", ["decide"], ["apply"]),
    ("rochound doctor ab --rep", ["--repeat"], ["--root"]),
    ("rochound explain cr", ["critical-path"], ["overlap"]),
    ("rochound replay com", ["compare"], ["check"]),
    ("rochound probe bui", ["build"], ["read"]),
    ("rochound capture --memory rea", ["reachable"], ["all "]),
    ("rochound top here_is_a_tr", ["here_is_a_trace.rpd"], []),
    ("rochound run -o here_is_a_tr", ["here_is_a_trace.rpd"], []),
    ("rochound run --log-dir here_is", ["here_is_a_folder"], ["here_is_a_trace"]),
    ("rochound run -- ./here_is_a_pro", ["here_is_a_program"], []),
]
BASH = "bind 'set enable-bracketed-paste off'; bind 'set show-all-if-ambiguous on'; PS1='ready> '; source {file}\n"
ZSH = ("PS1='ready> '; fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; zstyle ':completion:*' menu no; "
       "unsetopt zle_bracketed_paste\n")


class Terminal:
    """A shell on a terminal, with which one talks as a person would."""

    def __init__(self, command, folder):
        environment = {**os.environ, "TERM": "dumb", "COLUMNS": "200", "LINES": "50", "HOME": str(folder), "ZDOTDIR": str(folder)}
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def read(self, quiet=0.7, limit=20):
        """What comes until nothing more does."""
        text = b""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            # The first answer may take long on a busy machine; what belongs to it comes at once.
            if not select.select([self.terminal], [], [], quiet if text else 5)[0]:
                break
            try:
                more = os.read(self.terminal, 65536)
            except OSError:
                break
            if not more:
                break
            text += more
        return text.decode(errors="replace")

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.child, 0)


def on_terminal(shell, share, folder):
    command = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}[shell]
    terminal = Terminal(command, folder)
    terminal.read()
    terminal.type(BASH.format(file=share / "bash-completion/completions/rochound") if shell == "bash"
                  else ZSH.format(folder=share / "zsh/site-functions"))
    terminal.read()

    def complete(line):
        terminal.type("\x15" + line)
        terminal.read()
        terminal.type("\t")
        # Without what was typed: the shell writes what it adds, and lists what it does not know.
        return line.split()[-1] + terminal.read()
    return complete, terminal.close


def on_fish(share, folder):
    def complete(line):
        script = f"source {share / 'fish/vendor_completions.d/rochound.fish'}; complete -C {line!r}"
        done = subprocess.run(["fish", "--no-config", "-c", script], cwd=folder, capture_output=True, text=True, check=False,
                              env={**os.environ, "HOME": str(folder)}, timeout=60)
        # Names only: what is beside them is about them.
        return "".join(one.split("\t")[0] + " \n" for one in done.stdout.split("\n")) + done.stderr
    return complete, lambda: None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", type=pathlib.Path, required=True)
    parser.add_argument("--shell", choices=("bash", "zsh", "fish"), required=True)
    options = parser.parse_args()
    if shutil.which(options.shell) is None:
        print(f"skipped: there is no {options.shell}")
        return 77
    problems = []
    with tempfile.TemporaryDirectory(prefix="rochound-completion-") as name:
        folder = pathlib.Path(name)
        for entry in ("here_is_a_trace.rpd", "here_is_a_program"):
            (folder / entry).write_text("#!/bin/sh\n")
            (folder / entry).chmod(0o755)
        (folder / "here_is_a_folder").mkdir()
        share = options.share.resolve()
        complete, close = on_fish(share, folder) if options.shell == "fish" else on_terminal(options.shell, share, folder)
        for line, wanted, unwanted in CASES:
            offered = complete(line)
            # What a shell adds to the word is written straight after it.
            text = offered.replace("\x07", "").replace("\r", "")
            problems += [f"'{line}' does not offer {word}: {text!r}" for word in wanted if word not in text]
            problems += [f"'{line}' offers {word}: {text!r}" for word in unwanted if word in text]
        close()
    print("\n".join(problems) or f"{options.shell}: {len(CASES)} lines completed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
