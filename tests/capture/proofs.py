# SPDX-License-Identifier: MIT
"""What is said about results and times: replay, compare, profile --replay and an exported project say what was proved, all
the same; a software GPU is called one.

usage: proofs.py --rochound FILE --hipcc FILE --gpu GPU --target TARGET
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM = r"""
#include <hip/hip_runtime.h>
__global__ void fill(float* out, float value) { out[blockIdx.x * blockDim.x + threadIdx.x] = value + threadIdx.x; }
int main() {
  float* out = nullptr;
  if (hipMalloc(&out, 7680 * sizeof(float)) != hipSuccess) return 1;
  for (int i = 0; i < 2; ++i) fill<<<30, 256>>>(out, 0.5f);  // the second changes nothing
  return hipDeviceSynchronize() != hipSuccess;
}
"""

# Other builds. Kernels beside it move it to another address in its file.
BUILD = r"""
#include <hip/hip_runtime.h>
__device__ float table[64];
__global__ void beside(float* out, const float* in, int n) { for (int i = 0; i < n; ++i) out[i] = sinf(in[i]) + table[i % 64]; }
__global__ void fill(float* out, float value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = BODY;
}
"""
BODIES = {"same": "value + threadIdx.x", "close": "(value + threadIdx.x) * (1.0f + 1e-6f)", "wrong": "value - threadIdx.x"}

EVERY_BYTE = "equal in every byte, from the captured input"
WITHIN = re.compile(r"equal within the tolerance \(relative 1e-05, absolute 0\): worst error \S+ of the value at argument 0\[\d+\] \(float\): "
                    r"\S+ instead of \S+; \d+ bytes differ, from the captured input")


class Failed(Exception):
    pass


def require(good, what):
    if not good:
        raise Failed(what)


def run(command, code=0, folder=None):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, timeout=300)
    require(done.returncode == code, f"{' '.join(map(str, command))}: exit code {done.returncode}, not {code}:\n{done.stdout}{done.stderr}")
    return done.stdout


def check_label(options, folder):
    """Times of a software GPU are called so wherever they are shown."""
    trace, page = folder / "trace.rpd", folder / "report.html"
    command = [options.rochound, "run", "--softgpu", options.gpu, "-o", trace, "--", folder / "program"]
    done = subprocess.run(list(map(str, command)), stderr=subprocess.PIPE, text=True, timeout=300, check=True)
    require("; software GPU: times are those of an interpreter" in done.stderr, done.stderr)
    for question in ([], ["top"], ["busy"]):
        text = run([options.rochound, "explain", *question, trace])
        require("software GPU: its times are those of an interpreter" in text, text)
    text = run([options.rochound, "top", trace])
    require("software GPU: its times are those of an interpreter" in text, text)
    run([options.rochound, "report", trace, "-o", page])
    text = page.read_text()
    require('"title":"trace.rpd (software GPU)"' in text and re.search(r'"group":"GPU 0[^"]*\(software GPU\)"', text), "the page does not say so")


def check(options, folder):
    program = folder / "program.hip"
    program.write_text(PROGRAM)
    run([options.hipcc, "-O2", f"--offload-arch={options.target}", program, "-o", folder / "program"])
    builds = {}
    for name, body in BODIES.items():
        source = folder / f"{name}.hip"
        source.write_text(BUILD.replace("BODY", body))
        builds[name] = folder / f"{name}.hsaco"
        run([options.hipcc, "-O2", "--genco", "--no-gpu-bundle-output", f"--offload-arch={options.target}", source, "-o", builds[name]])
    rochound, on_gpu = options.rochound, [options.rochound, "softgpu", "--gpu", options.gpu, "--"]
    first, second = folder / "first.bundle", folder / "second.bundle"
    for nth, bundle in enumerate((first, second), 1):
        run([rochound, "capture", "--kernel", "fill", "--nth", nth, "--softgpu", options.gpu, "-o", bundle, "--", folder / "program"])

    check_label(options, folder)

    # replay, with the GPU called what it is.
    text = run([rochound, "replay", "run", first, "--softgpu", options.gpu, "--iterations", 3])
    require(EVERY_BYTE in text and "3 iterations, 3 compared" in text, text)
    require("on a software " in text and "interpreter's time:" in text and "GPU time:" not in text, text)
    tolerance = ["--verify", "tol=1e-5"]
    text = run([rochound, "replay", "run", first, "--hsaco", builds["close"], "--softgpu", options.gpu, *tolerance])
    require(WITHIN.search(text) and EVERY_BYTE not in text, text)
    answer = json.loads(run([rochound, "replay", "run", first, "--hsaco", builds["same"], "--softgpu", options.gpu, "--json", *tolerance]))
    require(answer["proof"] == EVERY_BYTE and "within_tolerance" not in answer, str(answer))

    # compare: the same words, and no speed-up of an interpreter's times.
    text = run([rochound, "replay", "compare", first, builds["same"], builds["close"], "--softgpu", options.gpu, "--iterations", 3, *tolerance])
    lines = {name: line for line in text.splitlines() for name in ("captured", "same.hsaco", "close.hsaco")
             if re.match(rf"  \S*{name} +\d", line)}
    require(EVERY_BYTE in lines["captured"] and EVERY_BYTE in lines["same.hsaco"] and WITHIN.search(lines["close.hsaco"]), text)
    require("no speed-up follows" in text and not re.search(r"\d \(\d+\.\d+ to \d+\.\d+\)", text), text)
    answer = json.loads(run([rochound, "replay", "compare", first, builds["same"], "--softgpu", options.gpu, "--iterations", 2, "--json"]))
    require("speedup" not in answer["candidates"][1] and answer["gpu"]["software"] is True, str(answer))

    # A launch that changed nothing: what it writes has to be found, in a profile, too.
    text = run([rochound, "replay", "run", second, "--softgpu", options.gpu])
    require(EVERY_BYTE in text and "writes 30720 of them" in text, text)
    text = run([rochound, "profile", "--replay", second, "--gpu", options.gpu, "-o", folder / "profile"])
    require(EVERY_BYTE in text and "not verified" not in text and "3 iterations, 3 compared" in text, text)
    profile = json.loads((folder / "profile" / "profile.json").read_text())
    require(len(profile["launches"]) == 3, f"{len(profile['launches'])} launches are counted")
    text = run([rochound, "replay", "run", second, "--softgpu", options.gpu, "--no-poison", "--iterations", 3], code=9)
    require("not looked for" in text and "none was found" not in text and "verified\n" not in text.split("\n", 1)[1], text)

    # Without a GPU: the software GPU that is named can run it.
    older = folder / "older.bundle"
    run([options.hipcc, "-O2", "--offload-arch=gfx1030", program, "-o", folder / "older"])
    run([rochound, "capture", "--kernel", "fill", "--softgpu", "rx6800xt", "-o", older, "--", folder / "older"])
    text = run([rochound, "replay", "run", older], code=125)
    require("--softgpu rx6800xt" in text and "mi300x" not in text, text)
    require(EVERY_BYTE in run([rochound, "replay", "run", older, "--softgpu", "rx6800xt"]), "the named GPU does not run it")

    # Exported: another build of one's own, and a launch that proves nothing.
    project = folder / "project"
    run([rochound, "replay", "export", first, "-o", project])
    run([options.hipcc, "-std=c++17", "main.cpp", "-o", "replay", "-lhsa-runtime64"], folder=project)
    require(f"\nPASS: {EVERY_BYTE}\n" in run([*on_gpu, "./replay"], folder=project), "the project does not say what it proved")
    for name, code, said in (("same", 0, f"\nPASS: {EVERY_BYTE}\n"), ("wrong", 1, "\nFAIL: ")):
        shutil.copy(builds[name], project / "kernel.hsaco")
        text = run([*on_gpu, "./replay"], code, project)
        require(said in text and "another build than the captured one" in text, text)
    project = folder / "proves-nothing"
    run([rochound, "replay", "export", second, "-o", project])
    run([options.hipcc, "-std=c++17", "main.cpp", "-o", "replay", "-lhsa-runtime64"], folder=project)
    text = run([*on_gpu, "./replay"], 9, project)
    require("\nNOT VERIFIED: " in text and "PASS" not in text, text)


def main(*checks):
    parser = argparse.ArgumentParser()
    for name in ("rochound", "hipcc", "gpu", "target"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    try:
        for check in checks:
            with tempfile.TemporaryDirectory(prefix="rochound-proofs-") as folder:
                check(options, pathlib.Path(folder))
    except (Failed, subprocess.TimeoutExpired) as problem:
        print(problem)
        sys.exit(1)


if __name__ == "__main__":
    main(check)
