#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Other ways to compile than a file at a time.

usage: compilers.py --rochound PATH rdc HIPCC KERNEL FUNCTION
       compilers.py --rochound PATH hiprtc PLUGIN PROGRAM
       compilers.py --rochound PATH verbose HIPCC
       compilers.py --rochound PATH hsaco HIPCC SOURCE PROBED KERNEL FUNCTION
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LIMIT = 120  # seconds


# As Triton writes it: no GPU is named but in the file beside it.
TRITON = """
target datalayout = "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @triton_copy(ptr addrspace(1) %0, ptr addrspace(1) %1) #0 {
  %3 = load i32, ptr addrspace(1) %0
  store i32 %3, ptr addrspace(1) %1
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="1,64" }
"""


def probe(rochound, folder, program, environment=(), options=()):
    """What the program's kernels told."""
    out = folder / "messages.jsonl"
    done = subprocess.run([rochound, "probe", *options, "--softgpu", "rx6800xt", "-l", str(out), "--", program], capture_output=True,
                          text=True, timeout=LIMIT, check=False, env={**os.environ, **dict(environment)})
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    return [json.loads(line) for line in out.read_text().splitlines()]


def rdc(rochound, folder, hipcc, kernel, function):
    """Files that are compiled apart and linked as bitcode."""
    program = str(folder / "rdc")
    subprocess.run([rochound, "probe", "build", "--", hipcc, "-fgpu-rdc", "-O1", "--offload-arch=gfx1030", kernel, function,
                    "-o", program], check=True, timeout=LIMIT)
    told = {(message["wave"], message["action"], pathlib.Path(message["at"][0]["file"]).name)
            for message in probe(rochound, folder, program)}
    wanted = {(wave, *access) for wave in (0, 1) for access in (("load", "rdc_function.hip"), ("store", "rdc_kernel.hip"))}
    return told == wanted, told


def hiprtc(rochound, folder, plugin, program):
    """A program that compiles its kernels itself, and knows nothing of probes."""
    # A cache of the compiler's would give back what an older plugin has made.
    options = {"HIPRTC_COMPILE_OPTIONS_APPEND": f"-fpass-plugin={plugin}", "AMD_COMGR_CACHE": "0"}
    told = probe(rochound, folder, program, options)
    return {(message["kernel"], message["action"]) for message in told} == {
        ("_Z5PowerIdEvPKT_PS0_i", action) for action in ("load", "store")}, told


def verbose(rochound, folder, hipcc):
    """Places without a probe: the first ten are named, with -v all of them."""
    source, program = folder / "assembly.hip", folder / "assembly"
    lines = "\n".join('  asm volatile("s_nop 0" ::: "memory");' for _ in range(14))
    source.write_text(f"""#include <hip/hip_runtime.h>
__global__ void Assembly(int* out) {{
{lines}
  *out = 1;
}}
int main() {{
  int* out = nullptr;
  if (hipMalloc(&out, 4) != hipSuccess) return 1;
  Assembly<<<1, 1>>>(out);
  return hipDeviceSynchronize();
}}
""", encoding="utf-8")
    subprocess.run([rochound, "probe", "build", "--", hipcc, "-O1", "-gline-tables-only", "--offload-arch=gfx1030", source, "-o", program], check=True,
                   timeout=LIMIT)
    said = [subprocess.run([rochound, "probe", *option, "--softgpu", "rx6800xt", "-l", folder / "messages.jsonl", "--", program],
                           capture_output=True, text=True, timeout=LIMIT, check=False).stderr for option in ([], ["-v"])]
    named = [text.count("no probe: inline assembly") for text in said]
    return named == [10, 14] and "and 4 more places" in said[0], said


def hsaco(rochound, folder, hipcc, source, probed, kernel, function):
    """Kernels whose bitcode came with them: compiled again with probes, and swapped in."""
    def run(*command, code=0):
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
        if done.returncode != code:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stderr

    def answers(program, *options):
        return [{key: value for key, value in answer.items() if key != "example"}
                for answer in probe(rochound, folder, program, options=("-a", "uninit", *options))]

    compiler = [hipcc, "-std=c++17", "-O3", "--offload-arch=gfx1030", "-gline-tables-only"]
    program = str(folder / "plain")
    run(*compiler, "-Xclang", "-fembed-bitcode=all", source, "-o", program)
    run(rochound, "probe", "hsaco", program, "-o", str(folder / "cache"))
    ours, theirs = answers(program, "-c", str(folder / "cache")), answers(probed)
    if not ours or ours != theirs:
        return False, (ours, theirs)

    parts = [str(folder / "kernel.o"), str(folder / "function.o")]
    for part, text in zip(parts, (kernel, function)):
        run(*compiler, "-fgpu-rdc", "-c", text, "-o", part)
    linked = str(folder / "linked")
    run(hipcc, "-fgpu-rdc", "--hip-link", "--offload-arch=gfx1030", *parts, "-o", linked)
    run(rochound, "probe", "hsaco", *parts, "-o", str(folder / "rdc"))
    told = {(message["action"], pathlib.Path(message["at"][0]["file"]).name)
            for message in probe(rochound, folder, linked, options=("-c", str(folder / "rdc")))}
    if told != {("load", "rdc_function.hip"), ("store", "rdc_kernel.hip")}:
        return False, told

    # What has none is named, and so is what does not say its GPU.
    said = run(rochound, "probe", "hsaco", linked, "-o", str(folder / "none"), code=125)
    if "has no bitcode for gfx1030" not in said:
        return False, said
    (folder / "triton_copy.llir").write_text(TRITON, encoding="utf-8")
    triton = [rochound, "probe", "hsaco", str(folder / "triton_copy.llir"), "-o", str(folder / "triton")]
    said = run(*triton, code=125)
    if "--target gfx942" not in said:
        return False, said
    # The compiler that is asked for gets the target that is told.
    clang, asked = folder / "clang", folder / "asked"
    clang.write_text(f'#!/bin/sh\necho "$@" > {asked}\nexit 3\n')
    clang.chmod(0o755)
    said = run(*triton, "--target", "gfx1100", "--clang", str(clang), code=125)
    if f"{clang} ended with exit code 3" not in said or "-mcpu=gfx1100 " not in asked.read_text():
        return False, said
    run(*triton, "--target", "gfx1100")
    if b"__rochound_probe.triton_copy" not in (folder / "triton" / "triton_copy.llir-gfx1100.hsaco").read_bytes():
        return False, "no probes with --target"
    (folder / "triton_copy.json").write_text('{"target": {"backend": "hip", "arch": "gfx1030", "warp_size": 32}}', encoding="utf-8")
    run(*triton)
    made = (folder / "triton" / "triton_copy.llir-gfx1030.hsaco").read_bytes()
    return b"__rochound_probe.triton_copy" in made, "no probes in Triton's kernel"


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("way")
    parser.add_argument("inputs", nargs="+")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        right, told = globals()[options.way](options.rochound, pathlib.Path(folder), *options.inputs)
    if not right:
        print(told)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
