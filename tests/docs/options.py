#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every command and option of rochound that a page, a help text or a message of ours names is there.

usage: options.py --rochound PATH FILE...

Found are texts such as `rochound run --last 30s -- ./server`: the command must exist, and each option before a lone -- must
be in its help. Source files are looked through, too: messages tell people what to type.
"""

import argparse
import functools
import pathlib
import re
import subprocess
import sys

# rochound, a command, and what follows in that code span, line or string.
MENTION = re.compile(r"(?<![\w/.'-])rochound ((?:[a-z]+)(?:[^`\n\"\\]*))")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
NESTED = {"doctor": ("ab", "apply", "undo")}


def mentions(text):
    """Command words, options, whether it is where code begins (a code span, a line of a help's examples), line number."""
    for match in MENTION.finditer(text):
        words = match[1].split(" -- ")[0]
        words = words[:-3] if words.endswith(" --") else words
        words = re.split(r" rochound |[;|&#(]|, | {3,}", words)[0].split()
        if not words:
            continue
        command = [words[0]]
        if len(words) > 1 and words[1] in NESTED.get(words[0], ()):
            command.append(words[1])
        start = match.start()
        as_code = text[:start].endswith(("`", "\n  "))
        yield tuple(command), OPTION.findall(" ".join(words[1:])), as_code, text.count("\n", 0, start) + 1


@functools.cache
def help_of(rochound, command):
    done = subprocess.run([rochound, *command, "--help"], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def problems_in(rochound, name, text):
    problems = []
    for command, options, as_code, line in mentions(text):
        if not options and not as_code:
            continue  # prose: rochound says, rochound itself
        known = help_of(rochound, command)
        if known is None:
            problems.append(f"{name}:{line}: there is no rochound {' '.join(command)}")
            continue
        problems += [f"{name}:{line}: rochound {' '.join(command)} has no {option}" for option in options
                     if not re.search(rf"(?<![\w-]){option}(?![\w-])", known)]
    return problems


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    options = parser.parse_args(arguments)
    texts = {str(path): path.read_text(errors="replace") for path in options.files}
    overview = help_of(options.rochound, ())
    for command in re.findall(r"^  ([a-z]+) {2,}", overview, re.MULTILINE):
        texts[f"rochound {command} --help"] = help_of(options.rochound, (command,)) or ""
    problems = [problem for name, text in texts.items() for problem in problems_in(options.rochound, name, text)]
    count = sum(1 for text in texts.values() for one in mentions(text) if one[1] or one[2])
    print("\n".join(problems) or f"{count} commands named in {len(texts)} texts, all of them right")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
