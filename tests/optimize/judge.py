#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges candidates for the kernels of kernels.hip: exactly the faster and right ones are accepted, each other one is
rejected for its reason, and nothing is left behind.

usage: judge.py --rochound PATH --hipcc PATH --app PATH --short-times PATH judge|asked|cheats|identical

A part of them, all with ROCHOUND_FULL in the environment. The part has every reason (reasons_test.py).
"""

import argparse
import concurrent.futures
import ctypes
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).parent
GPU, TARGET = "rx6800xt", "gfx1030"
FLAGS = ["-O3", "-nogpuinc", "-nogpulib", "-Wno-pragma-once-outside-header"]
FULL = bool(os.environ.get("ROCHOUND_FULL"))
FLOATS = ("scale", "blur", "transpose", "gemm")
HOLDS = {"sums": "int32", "bins": "uint32", "idle": "float", **{kernel: "float" for kernel in FLOATS}}
LAUNCHES = {"idle": (1,)}  # of app.hip; of the others two, of two shapes
LIMIT = 300  # seconds
EXIT_CODES = {"faster": 0, "no-difference": 3, "slower": 3, "slower-somewhere": 3, "not-verified": 4, "cannot-judge": 4}
WITHIN = "equal within the tolerance (float: relative "
COMPLETE_LANDLOCK = 6  # the version from which on the confinement has no gaps


@dataclasses.dataclass
class Candidate:
    kernel: str
    variant: str
    reason: str
    ci: bool = False  # whether it is one of those that always run
    options: tuple = ()
    message: str = ""  # a part of the verdict's sentence
    source: str = ""  # instead of kernels.hip: judged as source

    log: str = ""  # a part of what the compiler said
    proof: str = "equal in every byte, from the captured input and "  # of each launch of an accepted one
    title: str = ""  # where one variant is judged in several ways
    on_gpu: str = ""  # measured on this GPU, which is a software one, too
    short_times: bool = False  # that GPU's time stamps say that each kernel took one tick

    @property
    def name(self):
        return f"{self.kernel}.{self.variant}" + (f".{self.title}" if self.title else "")


JUDGED = [
    Candidate("scale", "faster", "faster", True),
    Candidate("scale", "faster_2", "faster"),
    Candidate("scale", "wrong_last", "different", True, message="1 element differs; the first is argument 1[999]"),
    Candidate("scale", "one_shape", "different", True, message="scale.2.bundle: 4000 elements differ"),
    Candidate("scale", "slower", "slower", True),
    Candidate("scale", "slower_somewhere", "slower-somewhere", True, message="'scale.1.bundle' is slower"),
    Candidate("scale", "signature", "signature", True, message="argument 2"),
    Candidate("scale", "not_c", "does-not-build", True, source="extern \"C\" GLOBAL void scale(const float* in, float* out, int count, const float* spare) { out[0] = nothing; }"),
    Candidate("scale", "time", "builds-differently", True,
              source="extern \"C\" GLOBAL void scale(const float* in, float* out, int count, const float* spare) { out[0] = __TIME__[7] + __TIME__[6] * 10 + __DATE__[4]; }"),
    Candidate("scale", "hangs", "hangs", True, options=("--timeout", "2")),
    Candidate("scale", "faults", "faults", True),
    Candidate("scale", "reads_outside", "reads-outside", True),
    Candidate("scale", "reads_neighbour", "reads-outside"),
    Candidate("scale", "writes_outside", "writes-outside", True),
    Candidate("scale", "changes_input", "writes-outside"),
    Candidate("scale", "writes_nothing", "writes-nothing", True),
    Candidate("scale", "skips_block", "different"),
    Candidate("scale", "varies", "not-deterministic", True),
    Candidate("scale", "own_state", "own-state", True, message="'done'"),
    Candidate("scale", "less_precise", "other-inputs"),
    Candidate("scale", "once", "different"),
    Candidate("scale", "original", "no-difference"),
    Candidate("idle", "hoards", "limits", True, message="a workgroup needs 81920 bytes of LDS"),
    Candidate("idle", "faster", "not-verified", True),
    Candidate("blur", "faster", "faster"),
    Candidate("blur", "faster_2", "faster"),
    Candidate("blur", "border", "different", message="is argument 1[255]"),
    Candidate("blur", "reads_outside", "reads-outside"),
    Candidate("blur", "reassociates", "other-inputs", True, message="of its value"),
    # With the captured input no byte differs: others tell.
    Candidate("blur", "reassociates", "faster", True, options=("--verify", "tol=float:1e-5"), title="tolerance", proof=WITHIN),
    Candidate("blur", "reassociates", "other-inputs", options=("--verify", "tol=half:1e-2"), title="other-type"),
    Candidate("sums", "faster", "faster"),
    Candidate("sums", "slower", "slower"),
    Candidate("sums", "wrong_last", "different"),
    Candidate("sums", "lds_left", "reads-uninitialised", True),
    Candidate("transpose", "faster", "faster"),
    Candidate("transpose", "skips_block", "different"),
    Candidate("transpose", "one_shape", "different"),
    Candidate("transpose", "border", "races"),
    Candidate("sums", "races", "races", True, message="no barrier is between"),
    Candidate("sums", "races_for_result", "races", True, message="no barrier is between"),
    Candidate("sums", "races_of_groups", "races", True, message="and nothing orders the two"),
    Candidate("gemm", "faster", "faster", True),
    Candidate("gemm", "border", "different"),
    Candidate("gemm", "reassociates", "other-inputs"),
    Candidate("gemm", "less_precise", "different"),
    Candidate("bins", "faster", "faster"),
    Candidate("bins", "wrong_last", "different"),
]
# What the command can be asked for. {folder} is the test's own.
ASKED = [
    Candidate("scale", "faster", "faster", True, options=("--validate", "diff -r"), title="valid"),
    Candidate("scale", "faster", "not-valid", True, options=("--validate", "echo no; false"), message="ended with exit code 1: no", title="not-valid"),
    Candidate("scale", "faster", "faster", True, options=("--source", "{folder}/source.hip", "--flags", "-DCANDIDATE=faster"), title="source"),
    Candidate("scale", "faster", "not-its-source", True, options=("--source", "{folder}/source.hip", "--flags", "-DCANDIDATE=slower"),
              title="other-source"),
    # A compiler that shows or keeps what somebody has in another folder.
    Candidate("scale", "secret", "does-not-build", True, source="#include \"{elsewhere}/secret.h\"\n", title="elsewhere",
              log="secret.h"),
    # Errors of sums in another order are those of the original; half precision is another matter, whatever the tolerance.
    Candidate("gemm", "reassociates", "faster", options=("--verify", "tol=float:1e-2", "--reference", "{folder}/reference.hsaco"), title="reference", proof=WITHIN),
    Candidate("gemm", "less_precise", "less-precise", True, options=("--verify", "tol=float:1e-2", "--reference", "{folder}/reference.hsaco"),
              message="against the reference it is off by", title="reference"),
    Candidate("gemm", "less_precise", "faster", options=("--verify", "tol=float:1e-2"), title="tolerance", proof=WITHIN),
    # What is told to be no number stays as it was.
    Candidate("scale", "drops_nan", "faster", True, options=("--no-special",), title="no-special"),
    # Right from the captured inputs alone.
    Candidate("scale", "knows_results", "faster", True, options=("--vary", "0"), title="captured-inputs",
              proof="equal in every byte, from the captured input"),
    Candidate("scale", "knows_results", "other-inputs", True, options=("--vary", "1"), title="one-other-input"),
    Candidate("scale", "faster", "faster", options=("--margin", "100"), title="margin"),
    Candidate("scale", "faster", "no-difference", True, options=("--margin", "200"), title="large-margin"),
    Candidate("gemm", "faster", "faster", True, title="on-gpu", on_gpu=GPU),
    Candidate("gemm", "original", "no-difference", title="on-gpu", on_gpu=GPU),
    # No kernel is as fast as this GPU says.
    Candidate("gemm", "faster", "below-floor", True, title="short-times", on_gpu=GPU, short_times=True),
    Candidate("scale", "faster", "cannot-judge", True, message="on this machine's GPU", title="other-gpu", on_gpu="mi300x"),
]
# Ways in which optimizers were seen to cheat, as far as a code object can try them.
CHEATS = [
    Candidate("scale", "knows_results", "other-inputs", True),  # results known, inputs not read
    Candidate("gemm", "knows_results", "other-inputs"),  # the captured inputs are recognised
    Candidate("bins", "knows_results", "other-inputs", True),  # the same with integers
    Candidate("sums", "knows_results", "other-inputs"),
    Candidate("scale", "drops_nan", "other-inputs", True, message="instead of nan"),  # right for numbers alone
    Candidate("scale", "overflows", "other-inputs"),  # right for small ones alone
    Candidate("scale", "own_state", "own-state"),  # results kept from the launch before
    Candidate("scale", "lds_left", "reads-uninitialised", True),  # the same, in LDS
    Candidate("bins", "lds_left", "not-deterministic"),
    Candidate("scale", "trusts_output", "different", True),  # the result is there already
    Candidate("scale", "adds", "different"),  # works from what the output held
    Candidate("scale", "writes_nothing", "writes-nothing"),
    Candidate("scale", "clock", "reads-clock", True),  # warm-up or measurement recognised
    Candidate("scale", "warm", "not-deterministic", True, options=("--rounds", "30")),  # the same, by counting launches
    Candidate("scale", "same_bytes_outside", "writes-outside", True),  # writes where nothing changes
    Candidate("scale", "changes_input", "writes-outside"),  # inputs set to zero
    Candidate("scale", "reads_neighbour", "reads-outside", True),  # expected results found in other memory
    Candidate("scale", "less_precise", "other-inputs"),  # lower precision
    Candidate("gemm", "less_precise", "different"),
    Candidate("scale", "skips_block", "different"),  # a part of the work
    Candidate("scale", "one_shape", "different"),  # one shape only
    Candidate("scale", "original", "no-difference"),  # the baseline once more
]


def identical():
    """The captured kernel as its own candidate, measured by time stamps, which vary: once, or 100 times."""
    return [Candidate("gemm", "original", "no-difference", True, title=str(i), on_gpu=GPU) for i in range(100 if FULL else 1)]


def short():
    """What runs without ROCHOUND_FULL."""
    return [one for one in (*JUDGED, *ASKED, *CHEATS, *identical()) if one.ci]


class Failed(Exception):
    pass


def landlock_version():
    """Of the kernel's own word, whatever the judge says; below 1: it has none."""
    create_ruleset, ask_version = 444, 1
    return ctypes.CDLL(None).syscall(create_ruleset, ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_uint(ask_version))


class FilterWatch(threading.Thread):
    """Looks, until it is stopped, whether the kernel filters the system calls of processes that work in a folder."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder = os.fsencode(folder) + b"/"
        self.filtered, self.unfiltered = set(), set()
        self.stopped = threading.Event()
        self.start()

    def run(self):
        while not self.stopped.wait(0.05):
            for process in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    command = (process / "cmdline").read_bytes()
                    if self.folder in command:
                        found = self.filtered if "\nSeccomp:\t2\n" in (process / "status").read_text() else self.unfiltered
                        found.add(command.replace(b"\0", b" ").decode(errors="replace"))
                except OSError:
                    pass  # it has ended

    def problem(self):
        self.stopped.set()
        self.join()
        if self.unfiltered:
            return f"not confined: {sorted(self.unfiltered)}"
        return None if self.filtered else "no process of the candidate's was seen"


def run(command, **more):
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", timeout=LIMIT, check=False, **more)


def compile_to(hipcc, variant, output):
    done = run([hipcc, "--genco", "--no-gpu-bundle-output", f"--offload-arch={TARGET}", *FLAGS, f"-DCANDIDATE={variant}", "-x", "hip",
                HERE / "kernels.hip", "-o", output])
    if done.returncode != 0:
        raise Failed(f"{variant} does not compile:\n{done.stderr[-2000:]}")


def capture(options, folder, kernels):
    """The launches of each kernel."""
    def one(job):
        kernel, nth = job
        bundle = folder / f"{kernel}.{nth}.bundle"
        done = run([options.rochound, "capture", "--kernel", f"^{kernel}$", "--nth", nth, "--softgpu", GPU, "-o", bundle, "--", options.app])
        if not bundle.is_dir():
            raise Failed(f"{bundle.name} is not there:\n{done.stderr[-1000:]}")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(one, [(kernel, nth) for kernel in kernels for nth in LAUNCHES.get(kernel, (1, 2))]))


def judge(options, folder, candidate):
    """What is wrong with the verdict; None: nothing."""
    if candidate.source:
        file = folder / "sources" / f"{candidate.name}.hip"
        file.write_text('#include "candidate.h"\n' + candidate.source.replace("{elsewhere}", str(folder / "elsewhere")))
    else:
        file = folder / f"{candidate.name}.hsaco"
        compile_to(options.hipcc, candidate.variant, file)
    temporary = folder / f"{candidate.name}.tmp"
    temporary.mkdir()
    as_type = ["--as", HOLDS[candidate.kernel]]
    more = [option.replace("{folder}", str(folder)) for option in candidate.options]
    gpu = [options.rochound, "softgpu", "--gpu", candidate.on_gpu, "--"] if candidate.on_gpu else []
    if candidate.on_gpu:
        more.append("--on-gpu")
    environment = {**os.environ, "TMPDIR": str(temporary)}
    if candidate.short_times:
        environment["LD_PRELOAD"] = str(options.short_times)
    bundles = [folder / f"{candidate.kernel}.{nth}.bundle" for nth in LAUNCHES.get(candidate.kernel, (1, 2))]
    # What hangs can be looked at for as long as it may.
    watch = FilterWatch(temporary) if candidate.reason == "hangs" else None
    done = run([*gpu, options.rochound, "judge", *bundles, "--candidate", file, "--json", "--flags", " ".join(FLAGS), *as_type, *more],
               env=environment)
    if watch and (problem := watch.problem()):
        return problem
    try:
        verdict = json.loads(done.stdout)
    except ValueError:
        return f"no verdict, exit code {done.returncode}: {done.stderr[-1500:]}"
    said = f"{verdict['reason']}: {verdict['message']}"
    if verdict["reason"] != candidate.reason:
        return f"{said}; expected {candidate.reason}"
    if candidate.message not in verdict["message"]:
        return f"{said}; expected '{candidate.message}' in it"
    if candidate.log not in verdict.get("build_log", ""):
        return f"{said}; the compiler said {verdict.get('build_log')}"
    if (verdict["verdict"] == "accepted") != (candidate.reason == "faster"):
        return f"verdict {verdict['verdict']} with {said}"
    if verdict["verdict"] == "accepted" and not all(one["comparison"].startswith(candidate.proof) for one in verdict["launches"]):
        return f"{said}; proved: {[one['comparison'] for one in verdict['launches']]}"
    if done.returncode != EXIT_CODES.get(candidate.reason, 1):
        return f"exit code {done.returncode} with {said}"
    if candidate.reason == "faster" and not any("range of values" in one or "values in memory" in one for one in verdict["not_varied"]):
        return f"what was not varied: {verdict['not_varied']}"
    if verdict["not_confined"]:
        if landlock_version() >= COMPLETE_LANDLOCK:
            return f"not confined: {verdict['not_confined']}, and the kernel has Landlock {landlock_version()}"
        print(f"  not confined: {verdict['not_confined']}")
    left = sorted(path.name for path in temporary.iterdir() if not (candidate.on_gpu and path.name.startswith("rochound-softgpu")))
    if left:
        return f"left behind: {left}"
    print(f"ok   {candidate.name}: {said[:150]}", flush=True)
    return None


def main():
    parser = argparse.ArgumentParser()
    for name in ("rochound", "hipcc", "app", "short-times"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("set", choices=("judge", "cheats", "asked", "identical"))
    options = parser.parse_args()
    everything = {"judge": JUDGED, "cheats": CHEATS, "asked": ASKED}.get(options.set) or identical()
    chosen = [one for one in everything if (FULL or one.ci or options.only) and options.only in one.name]
    with tempfile.TemporaryDirectory(prefix="rochound-optimize-") as name:
        folder = pathlib.Path(name)
        # Sources see their own folder and the system's.
        for name in ("sources", "elsewhere"):
            (folder / name).mkdir()
        kernels = (HERE / "kernels.hip").read_text()
        (folder / "source.hip").write_text(kernels)
        (folder / "elsewhere" / "secret.h").write_text(kernels.split("// --- scale")[1].split("// --- blur")[0])
        (folder / "sources" / "candidate.h").write_text(kernels.split("// --- scale")[0])
        if any("--reference" in one.options for one in chosen):
            compile_to(options.hipcc, "reference", folder / "reference.hsaco")
        capture(options, folder, sorted({one.kernel for one in chosen}))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            problems = list(pool.map(lambda one: judge(options, folder, one), chosen))
    for candidate, problem in zip(chosen, problems):
        if problem:
            print(f"FAIL {candidate.name}: {problem}")
    accepted = sum(one.reason == "faster" for one in chosen)
    print(f"{len(chosen)} of {len(everything)} candidates, {accepted} accepted; {sum(map(bool, problems))} verdicts are wrong")
    allowed = len(chosen) // 100 if options.set == "identical" else 0
    return 1 if sum(map(bool, problems)) > allowed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
