# SPDX-License-Identifier: MIT
"""Pictures of reports and diagnoses: programs of examples/ and tests/doctor run on a software GPU, and what rochound says is
drawn, light and dark."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

GPU = "rx6800xt"
TARGET = "gfx1030"
# Pictures of terminals: their name, the program and its arguments, options of run.
FAULTS = [
    ("docs/pictures/fault", "examples/writes_past_the_end.hip", [], []),
    ("docs/guides/pictures/streams_far", "tests/doctor/truth/planted.hip", ["streams_far"], ["--stacks"]),
    ("docs/guides/pictures/field_freed", "tests/doctor/truth/planted.hip", ["field_freed"], ["--stacks"]),
    ("docs/guides/pictures/index_negative", "tests/doctor/truth/planted.hip", ["index_negative"], ["--stacks"]),
]
# Pictures of reports: their name, the program, the page of the report.
REPORTS = [("docs/pictures/report", "examples/prepares_batches.hip", "")]


class Studio:
    def __init__(self, source, build, work):
        self.source, self.build, self.work = source, build, work
        self.environment = {**os.environ, "PATH": f"{build / 'bin'}:{os.environ['PATH']}"}

    def run(self, *command, fine=(0,), **more):
        done = subprocess.run([str(word) for word in command], cwd=self.work, env=self.environment, capture_output=True, text=True,
                              check=False, **more)
        if fine and done.returncode not in fine:
            raise SystemExit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def compile(self, program):
        binary = self.work / pathlib.Path(program).stem
        if not binary.exists():
            self.run("hipcc", f"--offload-arch={TARGET}", "-O2", "-gline-tables-only", f"-I{self.source / 'include'}",
                     self.source / program, "-o", binary)
        return f"./{binary.name}"

    def fault(self, name, program, arguments, options):
        """What a person sees in the terminal, from rochound's first line on."""
        binary = self.compile(program)
        done = self.run("rochound", "run", "-q", *options, "-o", "fault.rpd", "--force", "--softgpu", GPU, "--", binary, *arguments,
                        fine=())
        said = self.run("rochound", "doctor", "--fault", "fault.rpd.fault", fine=(3,)).stdout
        said = said.replace(f"{self.source}/", "")  # where the checkout is, is nobody's business
        if done.returncode == 0:
            raise SystemExit(f"{program} did not fail")
        shown = " ".join(["rochound", "run", *options, "--", binary, *arguments])
        for theme in ("light", "dark"):
            picture = self.run(sys.executable, self.source / "tools/terminal_svg.py", "--theme", theme, "--command", shown,
                               input=said).stdout
            path = self.source / f"{name}-{theme}.svg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(picture)
            print(path.relative_to(self.source))

    def report(self, name, program, page):
        binary = self.compile(program)
        self.run("rochound", "run", "-q", "-o", "report.rpd", "--force", "--softgpu", GPU, "--", binary)
        self.run("rochound", "report", "report.rpd", "-o", "report.html")
        chromium = next((found for found in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if found), None)
        if chromium is None:
            raise SystemExit("there is no Chromium; ./dev root --libraries brings it")
        (self.source / name).parent.mkdir(parents=True, exist_ok=True)
        self.run("node", self.source / "tools/docs/screenshot.mjs", "--modules", self.build / "src/report/web/node_modules",
                 "--chromium", chromium, "--page", f"report.html#{page}" if page else "report.html", "--output", self.source / name)
        print(f"{name}-light.png, {name}-dark.png")


def make(source, build):
    with tempfile.TemporaryDirectory(prefix="rochound-pictures-") as work:
        studio = Studio(source, build, pathlib.Path(work))
        for name, program, arguments, options in FAULTS:
            studio.fault(name, program, arguments, options)
        for name, program, page in REPORTS:
            studio.report(name, program, page)
    return 0
