# SPDX-License-Identifier: MIT
"""Builds that are right from the captured input alone are found by others: replay compare --vary, --vary-integers,
--vary-special. Beside it, what goes with them: compare --dump and --count, run --inputs.

usage: other_inputs.py --rochound FILE --hipcc FILE --gpu GPU --target TARGET
"""

import json
import struct

from proofs import EVERY_BYTE, main, require, run

KERNEL = r"""
#include <hip/hip_runtime.h>
EXTERN __global__ void pick(float* out, const float* in, const int* from) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = in[from[i] & 255];
  out[i] = BODY;
}
"""
PROGRAM = KERNEL + r"""
int main() {
  float *out, *in, values[256];
  int *from, places[256];
  for (int i = 0; i < 256; ++i) values[i] = 3, places[i] = i;
  if (hipMalloc(&out, 1024) != hipSuccess || hipMalloc(&in, 1024) != hipSuccess || hipMalloc(&from, 1024) != hipSuccess) return 1;
  if (hipMemcpy(in, values, 1024, hipMemcpyHostToDevice) != hipSuccess || hipMemcpy(from, places, 1024, hipMemcpyHostToDevice) != hipSuccess) return 1;
  pick<<<1, 256>>>(out, in, from);
  return hipDeviceSynchronize() != hipSuccess;
}
"""
RIGHT = "x + x + (from[i] & 1)"
BODIES = {
    "same": "2.0f * x + (from[i] & 1)",
    "knows_values": "6.0f + (from[i] & 1)",
    "knows_places": "x + x + (i & 1)",
    "knows_no_nan": "(x != x ? 0.0f : x + x) + (from[i] & 1)",
}


def prepare(options, folder, bodies, extern=""):
    """A bundle of the program's launch, and other builds of its kernel."""
    source = folder / "program.hip"
    source.write_text(PROGRAM.replace("BODY", RIGHT).replace("EXTERN", extern))
    run([options.hipcc, "-O2", f"--offload-arch={options.target}", source, "-o", folder / "program"])
    builds = {}
    for name in bodies:
        source = folder / f"{name}.hip"
        source.write_text(KERNEL.replace("BODY", BODIES[name]).replace("EXTERN", extern))
        builds[name] = folder / f"{name}.hsaco"
        run([options.hipcc, "-O2", "--genco", "--no-gpu-bundle-output", f"--offload-arch={options.target}", source, "-o", builds[name]])
    bundle = folder / "bundle"
    run([options.rochound, "capture", "--kernel", "pick", "--softgpu", options.gpu, "-o", bundle, "--", folder / "program"])
    return bundle, builds


def check_unknown_types(options, folder):
    """No name tells the types of a kernel's arguments: nothing can be changed, and that is said."""
    bundle, builds = prepare(options, folder, ["knows_values"], 'extern "C"')
    command = [options.rochound, "replay", "compare", bundle, builds["knows_values"], "--softgpu", options.gpu, "--iterations", 1, "--vary", 2]
    text = run(command)
    require(f"{EVERY_BYTE} and" not in text and EVERY_BYTE in text and "no other input was tried" in text and "--as TYPE" in text, text)
    run([*command, "--as", "float"], code=1)


def check(options, folder):
    bundle, builds = prepare(options, folder, BODIES)

    def compare(build, code, *more):
        return json.loads(run([options.rochound, "replay", "compare", bundle, builds[build], "--softgpu", options.gpu, "--iterations", 1,
                               "--json", *more], code))
    # Each is equal until the input it does not know comes.
    kinds = {"knows_values": [[], ["--vary", 2]],
             "knows_places": [["--vary", 2], ["--vary", 2, "--vary-integers", "range"]],
             "knows_no_nan": [["--vary", 2], ["--vary", 2, "--vary-special"]]}
    for build, (without, found) in kinds.items():
        compare(build, 0, *without)
        compare(build, 1, *found)
    compare("knows_places", 1, "--vary", 2, "--vary-integers", "values")
    compare("same", 0, "--vary", 2, "--vary-integers", "range", "--vary-special")

    # What both left, and what they did.
    answer = compare("knows_values", 0, "--dump", folder / "dump", "--count")
    left = sorted(path for path in (folder / "dump").rglob("*") if path.is_file())
    want = b"".join(struct.pack("<f", 6 + i % 2) for i in range(256))
    require(sum(want in path.read_bytes() for path in left) >= 2, f"--dump wrote {left}")
    counted = [one["counts"] for one in answer["candidates"]]
    require(all(counted) and counted[0] != counted[1], f"--count: {counted}")

    # Other inputs without comparing: nothing is proved.
    for kind in ("range", "values", "special"):
        answer = json.loads(run([options.rochound, "replay", "run", bundle, "--softgpu", options.gpu, "--inputs", kind, "--json"], code=9))
        require(answer["verdict"] == "not verified" and "nothing to compare" in answer["message"] and
                (answer["varied"]["integers"] > 0) == (kind != "special"), str(answer))


if __name__ == "__main__":
    main(check, check_unknown_types)
