# SPDX-License-Identifier: MIT
"""What the tests with AMD-like runtimes share: a place to run programs in, bare and recorded."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).parent
for folder in ("programs", "recorder"):
    sys.path.insert(0, str(here.parent / folder))
import exact  # noqa: E402
import process  # noqa: E402
from trace import Trace, parse_counts  # noqa: E402


class Run:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __str__(self):
        return f"exit code {self.code}\n--- stdout\n{self.out[-1500:]}\n--- stderr\n{self.err[-2500:]}"


class Place:
    """A folder, and what the command line named."""

    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        self.sdk = f"{options.neighbours}/libneighbour_sdk.so"
        self.tool = f"{options.neighbours}/libneighbour_tool.so"

    def program(self, name):
        return f"{self.options.programs}/{name}"

    def run(self, command, environment=None):
        """On the software GPU. A variable that is None is not set."""
        variables = {**os.environ, **(environment or {})}
        variables = {name: str(value) for name, value in variables.items() if value is not None}
        done = subprocess.run([self.options.rochound, "softgpu", "--gpu", self.options.gpu, "--", *command], env=variables,
                              capture_output=True, text=True, errors="replace", timeout=200, check=False,
                              stdin=subprocess.DEVNULL)
        return Run(done.returncode, done.stdout, done.stderr)

    def record(self, command, environment=None, options=()):
        """The run, and its trace."""
        trace = self.folder / "trace.rpd"
        run = self.run([self.options.rochound, "run", "-o", str(trace), *options, "--", *command], environment)
        return run, Trace(trace) if trace.exists() else None

    def with_preload(self, library):
        """The command's first words that preload a library into the program, and into nothing before it."""
        return ["/bin/sh", "-c", f'LD_PRELOAD="{library}${{LD_PRELOAD:+:$LD_PRELOAD}}" exec "$0" "$@"']


def same(run, bare):
    """How a run differs from the bare one, as the program's user sees it."""
    if run.code != bare.code:
        return [f"exit code {run.code} instead of {bare.code}: {run}"]
    if process.untimed(run.out) != process.untimed(bare.out):
        return [f"other output:\n--- bare\n{bare.out[-1500:]}\n--- recorded\n{run.out[-1500:]}"]
    return []


def main(description, cases):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the cases' names")
    parser.add_argument("--case", choices=cases)
    for name in ("rochound", "programs", "neighbours", "agent", "gpu"):
        parser.add_argument("--" + name)
    options = parser.parse_args()
    if options.list:
        print("\n".join(cases))
        return 0
    with tempfile.TemporaryDirectory(prefix="rochound-test-") as folder:
        found = cases[options.case](Place(options, folder))
    print("\n".join([f"FAIL {options.case}"] + found) if found else f"PASS {options.case}")
    return 1 if found else 0
