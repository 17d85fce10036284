#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lists the options that no test has run, and fails when there is one.

usage: untested.py --bin FOLDER --ran FILE [--ci]

Run all tests with ROCHOUND_TEST_OPTIONS_RUN=FILE first, which rochound, rochound-fleet and rochoundd append to
(src/base/options_run.h); `./dev test` without a label does both. What counts is a command line that its command took: not
a word in a test's source, not a line that was refused, not --help. Whether a test looks at the option's effect is for
people to see: commands of pages (tests/docs/commands.py) look at few of them and do not count.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

# The parser answers these itself: no command runs.
ANSWERED = {"--help", "--version"}

# Options of several commands that one function adds and one place reads: a run with one of the commands is enough.
SHARED = [
    # cli/open_trace.cpp
    (r"rochound (explain|query|shell|merge|open|convert|top|report)", {"--memory"}),
    # JudgeSettings of cli/judge_command.cpp
    (r"rochound (judge|optimize)", {"--verify", "--as", "--reference", "--validate", "--margin", "--timeout", "--rounds", "--vary",
                                    "--no-special", "--flags", "--softgpu", "--on-gpu"}),
    # fleet/command/bus_options.cpp
    (r"rochound-fleet \w+", {"--bus", "--credentials", "--authority", "--certificate", "--key"}),
    # JobRequests of fleet/command/job_request.cpp
    (r"rochound-fleet (window|hang|start|stop|capture|watch|events)", {"--tenant", "--patience"}),
    (r"rochound-fleet (window|hang|start|stop|capture)", {"--job", "--hosts"}),
]

# What only tests of label not-in-ci run, which .ci/run leaves out -> such a test. With --ci these need not have run.
NOT_IN_CI = {
    "rochoundd --replicas": "fleet.cluster",
    "rochound-fleet aggregate --replicas": "fleet.cluster",
    "rochound-fleet compact --rows": "fleet.compaction",
    "rochound-fleet compact --least": "fleet.compaction",
    "rochound-fleet window --by": "control.s3_window",
    "rochound-fleet capture --by": "control.s3_window",
    "rochound-fleet watch --by": "control.s3_window",
    "rochound-fleet watch --store": "control.s3_window",
    "rochound-fleet watch --job": "control.watch_hang",
    "rochound-fleet watch --every": "control.watch_hang",
    "rochound-fleet watch --before": "control.watch_hang",
    "rochound-fleet watch --stragglers-every": "control.watch_stragglers",
    "rochound-fleet events --job": "control.watch_hang",
}

# What the build runs, for programs of tests that look at it.
AT_BUILD = {("rochound probe", "--blocks")}  # tests/probe/CMakeLists.txt, label probe-analyzers


def options_of_reference(reference):
    """(command, names of an option) of what `rochound reference` prints."""
    for command in reference["commands"]:
        for one in [command, *command["subcommands"]]:
            for option in one["options"]:
                yield f"rochound {one['name']}", tuple(option["names"])


def options_of_help(command, text):
    """(command, names of an option) of what CLI11 prints for --help."""
    listed = re.search(r"^OPTIONS:\n(.*?)(?:\n\n|\Z)", text, re.M | re.S)
    for match in re.finditer(r"^ {2,10}(?:(-\w), +)?(--[\w-]+)", listed[1] if listed else "", re.M):
        yield command, tuple(name for name in match.groups() if name)


def help_of(*command):
    return subprocess.run([*map(str, command), "--help"], check=True, capture_output=True, text=True).stdout


def options_of_programs(folder):
    told = subprocess.run([folder / "rochound", "reference"], check=True, capture_output=True, text=True).stdout
    yield from options_of_reference(json.loads(told))
    fleet = folder / "rochound-fleet"
    if not fleet.exists():
        return
    commands = re.search(r"^SUBCOMMANDS:\n(.*)", help_of(fleet), re.M | re.S)[1]
    for name in re.findall(r"^  ([a-z]+) ", commands, re.M):
        yield from options_of_help(f"rochound-fleet {name}", help_of(fleet, name))
    yield from options_of_help("rochoundd", help_of(folder / "rochoundd"))


def options_that_ran(lines):
    """{(command, option)} of the lines of programs: `PID ran PROGRAM OPTION... COMMAND OPTION...`, and `PID refused`, which
    is about the last run of that process."""
    runs = []
    last = {}  # process -> its last run
    for line in lines:
        process, what, *words = line.split()
        if what == "refused":
            last[process].clear()
            continue
        command, last[process] = [], set()
        runs.append(last[process])
        for word in words:
            if word.startswith("-"):
                last[process].add((" ".join(command), word))
            else:
                command.append(word)
    return set().union(*runs)


def untested(known, ran, shared=None, left_out=None):
    """What is wrong, a line each. known: (command, names); ran: {(command, option)}; left_out: what need not have run."""
    shared = SHARED if shared is None else shared
    left_out = set(left_out or ())
    problems = []
    for command, names in known:
        if ANSWERED & set(names):
            continue
        commands = [re.escape(command)] + [pattern for pattern, options in shared
                                           if re.fullmatch(pattern, command) and options & set(names)]
        has_run = any(name in names and any(re.fullmatch(pattern, one) for pattern in commands) for one, name in ran)
        text = f"{command} {names[-1]}"
        if text in left_out and has_run:
            problems.append(f"{text}: a test in CI runs it, and untested.py says that none does")
        elif text not in left_out and not has_run:
            problems.append(f"{text}: no test runs it")
        left_out.discard(text)
    return problems + [f"{text}: there is no such option, and untested.py names it" for text in sorted(left_out)]


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--ran", type=pathlib.Path, required=True)
    parser.add_argument("--ci", action="store_true", help="tests of label not-in-ci have not run")
    options = parser.parse_args(arguments)
    if not options.ran.is_file():
        print(f"there is no {options.ran}: run the tests with ROCHOUND_TEST_OPTIONS_RUN={options.ran}")
        return 1
    known = list(options_of_programs(options.bin))
    ran = options_that_ran(options.ran.read_text().splitlines()) | AT_BUILD
    # A build without the fleet has none of these options.
    left_out = [text for text in NOT_IN_CI if (options.bin / text.split()[0]).exists()] if options.ci else []
    problems = untested(known, ran, left_out=left_out)
    print("\n".join(problems) or f"{len(known)} options of {len({command for command, _ in known})} commands: tests run all of them")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
