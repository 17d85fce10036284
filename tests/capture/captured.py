# SPDX-License-Identifier: MIT
"""`rochound capture` for the tests, on a software GPU that may be unkind (docs/softgpu-strict.md)."""

import itertools
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "programs"))
import process  # noqa: E402

# Nobody can hold a launch that the GPU took before its doorbell; and if it took the kernel before it, nobody can see
# that that one has ended.
MISSED = ("the GPU had begun it before its doorbell was rung", "earlier work on its queue did not finish")
# The GPU takes one packet in 16 early, and two may matter: five runs in a row are missed once in 30,000 times.
MOST = 5


def capture(run, environment=None):
    """What run(environment) returns, which starts `rochound capture` and has its standard error as `stderr`. Done again,
    with another seed, if the GPU says itself that it took kernels early and the launch was missed for that reason."""
    environment = dict(os.environ if environment is None else environment)
    faults = environment.get("ROCHOUND_SOFTGPU_FAULTS", "")
    for seed in itertools.count(1):
        with tempfile.TemporaryDirectory(prefix="rochound-faults-") as folder:
            log = pathlib.Path(folder, "faults")
            if faults:
                environment.update(ROCHOUND_SOFTGPU_FAULTS=f"{faults},seed={seed}", ROCHOUND_SOFTGPU_FAULT_LOG=str(log))
            done = run(environment)
            early = log.exists() and "early-packets" in log.read_text()
        missed = next((reason for reason in MISSED if reason in done.stderr), None)
        if seed == MOST or not early or not missed:
            return done
        process.again(f"capture, run {seed} of at most {MOST}: {missed}")
