# SPDX-License-Identifier: MIT
"""Replays bundles of kernels.hip on the software GPU, with and without something wrong.

usage: replay_run.py CASE --rochound FILE --make-bundle FILE --occupy FILE --builds FOLDER [--gpu GPU] [--target TARGET]
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import captured  # noqa: E402

EQUAL, DIFFERENT, NOT_DETERMINISTIC, FAULT, TIMEOUT, CANNOT_MAP, BAD_BUNDLE, REFUSED, NOT_VERIFIED = 0, 1, 3, 4, 5, 6, 7, 8, 9


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder

    def bundle(self, scenario, build="original"):
        """Captures a launch; another one each time, since each process has other addresses."""
        path = self.folder / f"{scenario}.{len(list(self.folder.iterdir()))}"
        subprocess.run([self.options.rochound, "softgpu", "--gpu", self.options.gpu, "--", self.options.make_bundle, scenario,
                        self.build(build), path], check=True, timeout=120)
        return path

    def build(self, name):
        return str(self.options.builds / f"{name}.{self.options.target}.hsaco")

    def replay(self, code, *arguments, environment=None):
        """Runs rochound replay; its exit code must be this one. Returns its JSON."""
        command = [self.options.rochound, "replay", *map(str, arguments), "--softgpu", self.options.gpu, "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=300,
                              env={**os.environ, **(environment or {})})
        answer = json.loads(done.stdout) if done.stdout.strip() else {}
        require(done.returncode == code, f"{' '.join(command)}: exit code {done.returncode}, not {code}: {json.dumps(answer)[:3000]}")
        return answer

    def plain_replay(self, *arguments):
        command = [self.options.rochound, "replay", *map(str, arguments), "--softgpu", self.options.gpu]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300).stdout

    def manifest(self, bundle):
        return json.loads((bundle / "manifest.json").read_text())

    def preload(self, **variables):
        """The environment in which something is in the way of rochound-replay."""
        return {"LD_PRELOAD": self.options.occupy, "OCCUPY_ONLY": "rochound-replay", **variables}


def require(good, what):
    if not good:
        raise AssertionError(what)


def taken(manifest):
    return [(int(r["base"], 16), int(r["size"])) for r in manifest["regions"] if r["taken"]]


def ranges(regions):
    return ",".join(f"{base & ~4095:x}+{(size + 4095) & ~4095:x}" for base, size in regions)


# --- what must be equal

def case_equal(bench):
    for scenario in ("scale", "plain", "globals", "chase", "dynamic_lds", "fill", "integers", "large"):
        bundle = bench.bundle(scenario)
        bench.replay(EQUAL, "check", bundle)
        answer = bench.replay(EQUAL, "run", bundle, "--iterations", 4)
        require(answer["verified"] == 4, f"{scenario}: {answer['verified']} of 4 results verified")
        require(answer["gpu_ns"]["count"] == 4 and answer["gpu_ns"]["min"] > 0, f"{scenario}: times {answer['gpu_ns']}")
        # Without restoring only the first result means something.
        answer = bench.replay(EQUAL, "run", bundle, "--iterations", 4, "--no-restore")
        require(answer["verified"] == 1 and answer["iterations"] == 4, f"{scenario}: {answer}")


def case_swapped(bench):
    """Another build with everything at other places: variables go by name, results stay."""
    for scenario in ("scale", "globals", "chase", "dynamic_lds", "fill", "gather_again"):
        bundle = bench.bundle(scenario)
        bench.replay(EQUAL, "run", bundle, "--hsaco", bench.build("same"), "--iterations", 3)


def case_steering(bench):
    """A runtime that wants the bundle's addresses for itself does not get them."""
    bundle = bench.bundle("chase")
    wishes = ranges(taken(bench.manifest(bundle)))
    answer = bench.replay(EQUAL, "run", bundle, environment=bench.preload(OCCUPY=wishes, OCCUPY_LATE="1"))
    require(answer["starts"] == 1, f"it took {answer['starts']} starts")


def case_start_anew(bench):
    """What is in the way in one process is gone in the next."""
    bundle = bench.bundle("chase")
    for times in (1, 3):
        wishes = ranges(taken(bench.manifest(bundle))[-1:])
        answer = bench.replay(EQUAL, "run", bundle, environment=bench.preload(OCCUPY=wishes, OCCUPY_TIMES=str(times)))
        require(answer["starts"] == times + 1, f"it took {answer['starts']} starts")


def case_layouts(bench):
    """Many processes, each with addresses of its own."""
    bundles = [bench.bundle("globals") for _ in range(3)]
    for i in range(12):
        bench.replay(EQUAL, "run", bundles[i % 3])


def case_compare(bench):
    bundle = bench.bundle("scale")
    builds = [bench.build(name) for name in ("same", "faults", "wrong", "hangs", "close")]
    answer = bench.replay(FAULT, "compare", bundle, *builds, "--iterations", 5, "--timeout", 10)
    verdicts = {pathlib.Path(c["name"]).name.split(".")[0]: c for c in answer["candidates"]}
    wanted = {"captured": "equal", "same": "equal", "faults": "fault", "wrong": "different", "hangs": "timeout",
              "close": "different"}
    for name, verdict in wanted.items():
        require(verdicts[name]["verdict"] == verdict, f"{name} is {verdicts[name]['verdict']}")
    require(list(verdicts) == list(wanted), f"the order is {list(verdicts)}")
    for name in ("same", "wrong", "close"):
        require("speedup" not in verdicts[name], "an interpreter's times are called a speed-up")
        speedup = verdicts[name]["interpreter_speedup"]
        require(0 < speedup["low"] <= speedup["ratio"] <= speedup["high"], f"{name}: {speedup}")
        require(verdicts[name]["gpu_ns"]["count"] == 5, f"{name}: {verdicts[name]['gpu_ns']}")
    require(answer["processes"] == 3, f"{answer['processes']} processes, not one more for each that fell")
    require(verdicts["wrong"]["differences"]["count"] == 1, "wrong is wrong in one element")
    answer = bench.replay(EQUAL, "compare", bundle, bench.build("same"), "--iterations", 3)
    require(answer["startup_ms"]["open"] > 0, "the start-up is not told")
    require("modelled cycles" in bench.plain_replay("compare", bundle, bench.build("same"), "--iterations", 2), "no table")


# --- what must be reported as what it is

def damage(file, place):
    content = bytearray(file.read_bytes())
    content[place if place >= 0 else len(content) + place] ^= 0x40
    file.write_bytes(content)


def case_damaged(bench):
    """A byte of any file that is another one."""
    bundle = bench.bundle("globals")
    for name in sorted(p.name for p in bundle.iterdir()):
        size = (bundle / name).stat().st_size
        if size == 0:
            continue
        copy = bench.folder / "damaged"
        shutil.copytree(bundle, copy)
        damage(copy / name, size // 2)
        answer = bench.replay(BAD_BUNDLE, "run", copy)
        require(answer["message"], f"{name}: no message")
        shutil.rmtree(copy)


def case_wrong_kernel(bench):
    """The manifest names another kernel of the same code object, and its checksum says that is right."""
    answer = bench.replay(BAD_BUNDLE, "run", bench.bundle("false_kernel"))
    require("Globals" in answer["message"] and "Scale" in answer["message"], answer["message"])


def case_wrong_memory(bench):
    """Arguments, memory and code that were changed together with their checksums."""
    bundle = bench.bundle("false_memory")
    answer = bench.replay(DIFFERENT, "run", bundle)
    first = answer["differences"]["first"][0]
    require(answer["differences"]["count"] == 1 and first["index"] == 3 and first["type"] == "float", str(first))
    answer = bench.replay(BAD_BUNDLE, "run", bench.bundle("false_kernarg"))
    require("kernarg.bin" in answer["message"], answer["message"])
    answer = bench.replay(BAD_BUNDLE, "run", bench.bundle("false_code"))
    require("code_object.elf" in answer["message"], answer["message"])


def case_wrong_result(bench):
    bundle = bench.bundle("scale")
    answer = bench.replay(DIFFERENT, "run", bundle, "--hsaco", bench.build("wrong"))
    require(answer["differences"]["count"] == 1, str(answer["differences"]))
    first = answer["differences"]["first"][0]
    require(first["index"] == 77 and first["type"] == "float" and first["argument"] == "argument 0", str(first))
    require(float(first["got"]) == float(first["expected"]) + 1, str(first))


def case_tolerance(bench):
    bundle = bench.bundle("scale")
    close = bench.build("close")
    bench.replay(DIFFERENT, "run", bundle, "--hsaco", close)
    bench.replay(DIFFERENT, "run", bundle, "--hsaco", close, "--verify", "tol=1e-8")
    bench.replay(EQUAL, "run", bundle, "--hsaco", close, "--verify", "tol=1e-5")
    # A name that tells no types: then somebody has to.
    bundle = bench.bundle("plain")
    answer = bench.replay(REFUSED, "run", bundle, "--hsaco", close, "--verify", "tol=1e-5")
    require("--as" in answer["message"], answer["message"])
    bench.replay(EQUAL, "run", bundle, "--hsaco", close, "--verify", "tol=1e-5", "--as", "float")


def case_other_arguments(bench):
    answer = bench.replay(REFUSED, "run", bench.bundle("plain"), "--hsaco", bench.build("extra"))
    require("argument" in answer["message"], answer["message"])
    answer = bench.replay(REFUSED, "run", bench.bundle("scale"), "--hsaco", bench.build("extra"))
    require("_Z5ScalePfPKffi" in answer["message"], answer["message"])


def case_not_deterministic(bench):
    bundle = bench.bundle("clock")
    bench.replay(NOT_DETERMINISTIC, "run", bundle)
    answer = bench.replay(NOT_DETERMINISTIC, "compare", bundle, bench.build("same"), "--iterations", 2)
    require(all(c["verdict"] == "not deterministic" for c in answer["candidates"]), str(answer["candidates"]))
    answer = bench.replay(NOT_DETERMINISTIC, "run", bench.bundle("float_atomics"))
    require(answer["differences"]["first"][0]["type"] == "float", str(answer["differences"]))


def verdicts(answer):
    return {pathlib.Path(c["name"]).name.split(".")[0]: c["verdict"] for c in answer["candidates"]}


def case_writes(bench):
    """A kernel has to write its result, not to find it there: the second of two launches that write the same changes nothing."""
    for scenario in ("fill", "fill_again", "shared_again"):
        bundle = bench.bundle(scenario)
        answer = bench.replay(EQUAL, "run", bundle, "--iterations", 3)
        if scenario != "fill":
            require(answer["poison"]["written"] == 4000, f"{scenario}: {answer['poison']}")
        answer = bench.replay(EQUAL, "run", bundle, "--hsaco", bench.build("same"), "--iterations", 3)
        require(answer["verified"] == 3 and answer["poison"]["written"] == 4000, f"{scenario}: {answer}")
        wrong = {}
        for build in ("empty", "skips", "too_much", "adds"):
            wrong[build] = bench.replay(DIFFERENT, "run", bundle, "--hsaco", bench.build(build))["differences"]
        require(wrong["skips"]["count"] == 64 and wrong["skips"]["first"][0]["index"] == 128, f"{scenario}: {wrong['skips']}")
        require(wrong["empty"]["count"] == 1000 and len(wrong["empty"]["first"]) == 10, f"{scenario}: {wrong['empty']}")
        first = wrong["too_much"]["first"][0]
        require(first["index"] == 1000 and first["expected"] == "not written", f"{scenario}: {first}")
        builds = [bench.build(build) for build in ("same", "empty", "skips", "too_much", "adds")]
        answer = bench.replay(DIFFERENT, "compare", bundle, *builds, "--iterations", 2)
        require(verdicts(answer) == {"captured": "equal", "same": "equal", "empty": "different", "skips": "different",
                                     "too_much": "different", "adds": "different"}, f"{scenario}: {verdicts(answer)}")
        require("not written" in bench.plain_replay("run", bundle, "--hsaco", bench.build("too_much")), "the text does not say it")


def case_numbers(bench):
    """How many differences are shown, and how many rounds come before those that count."""
    bundle = bench.bundle("fill")
    answer = bench.replay(DIFFERENT, "run", bundle, "--hsaco", bench.build("empty"), "--show", 3)
    require(answer["differences"]["count"] == 1000 and len(answer["differences"]["first"]) == 3, str(answer["differences"]))

    def launches(warmup):
        counters = bench.folder / f"counters.{warmup}"
        done = subprocess.run([bench.options.rochound, "softgpu", "--gpu", bench.options.gpu, "--counters", counters, "--", bench.options.rochound,
                               "replay", "compare", bundle, bench.build("same"), "--iterations", "2", "--warmup", str(warmup)],
                              stdout=subprocess.PIPE, text=True, timeout=300)
        require(done.returncode == EQUAL, done.stdout)
        return len(counters.read_text().splitlines())
    few, many = launches(1), launches(6)
    require(many - few == 2 * 5, f"{few} launches with one round before, {many} with six: two builds have five more each")


def case_inputs(bench):
    """What the captured code reads is left as it is, also where another value of it makes the kernel fault."""
    for scenario in ("halves_again", "gather_again"):
        bundle = bench.bundle(scenario)
        answer = bench.replay(EQUAL, "run", bundle)
        require(answer["poison"]["written"] == 2000, f"{scenario}: {answer['poison']}")
        bench.replay(DIFFERENT, "run", bundle, "--hsaco", bench.build("empty"))
        bench.replay(EQUAL, "run", bundle, "--hsaco", bench.build("same"))
    text = bench.plain_replay("run", bundle)
    require(text.startswith("equal") and "fault" not in text, f"a fault on the way is shown:\n{text}")
    # In place: what the launch changed is the proof, and what is around it is poisoned.
    bundle = bench.bundle("scale")
    answer = bench.replay(EQUAL, "run", bundle, "--hsaco", bench.build("same"))
    require(answer["poison"]["written"] == 0 and answer["poison"]["bytes"] > 0, str(answer["poison"]))
    bench.replay(EQUAL, "run", bench.bundle("chase"), "--hsaco", bench.build("same"))


def case_not_verified(bench):
    """A launch that shows nothing: it is not called equal."""
    for scenario in ("clamp_again", "nothing", "beside_arguments"):
        bundle = bench.bundle(scenario)
        answer = bench.replay(NOT_VERIFIED, "run", bundle, "--iterations", 3)
        require(answer["verdict"] == "not verified" and answer["gpu_ns"]["count"] == 3, f"{scenario}: {answer}")
        require("--nth" in answer["message"], answer["message"])
        for build in ("same", "empty"):
            bench.replay(NOT_VERIFIED, "run", bundle, "--hsaco", bench.build(build))
        answer = bench.replay(NOT_VERIFIED, "compare", bundle, bench.build("same"), "--iterations", 2)
        require(set(verdicts(answer).values()) == {"not verified"}, str(verdicts(answer)))
    bench.replay(NOT_VERIFIED, "run", bench.bundle("scale"), "--verify", "none")
    for arguments in ([], ["--hsaco", bench.build("same")]):
        bench.replay(NOT_VERIFIED, "run", bench.bundle("fill_again"), "--no-poison", *arguments)
        bench.replay(EQUAL, "run", bench.bundle("fill"), "--no-poison", *arguments)


def case_integers(bench):
    """Integers that differ do not look alike."""
    answer = bench.replay(DIFFERENT, "run", bench.bundle("integers"), "--hsaco", bench.build("wrong"))
    first = answer["differences"]["first"][0]
    require((first["expected"], first["got"]) == ("16777216", "16777217"), str(first))


def case_wrong_build(bench):
    """A build whose result is the same in every run is right or wrong, whatever the captured code does."""
    for scenario in ("float_atomics", "clock"):
        bundle = bench.bundle(scenario)
        builds = [bench.build(build) for build in ("same", "wrong", "empty")]
        answer = bench.replay(DIFFERENT, "compare", bundle, *builds, "--iterations", 2)
        require(verdicts(answer) == {"captured": "not deterministic", "same": "not deterministic", "wrong": "different",
                                     "empty": "different"}, f"{scenario}: {verdicts(answer)}")
        for build in ("wrong", "empty"):
            bench.replay(DIFFERENT, "run", bundle, "--hsaco", bench.build(build))
        bench.replay(NOT_DETERMINISTIC, "run", bundle, "--hsaco", bench.build("same"))
        text = bench.plain_replay("compare", bundle, bench.build("wrong"), "--iterations", 2)
        require("different" in text, text)


def case_second_launch(bench):
    """A real program that launches the same twice; the second one is captured."""
    bundle = bench.folder / "second"
    done = captured.capture(lambda environment: subprocess.run(
        [bench.options.rochound, "capture", "--kernel", "Table", "--nth", "2", "-o", bundle, "--softgpu", bench.options.gpu, "--",
         bench.options.builds / "twice"], env=environment, capture_output=True, text=True, timeout=300))
    require(done.returncode == 0 and bundle.is_dir(), done.stdout + done.stderr)
    bench.replay(EQUAL, "run", bundle)
    bench.replay(EQUAL, "run", bundle, "--hsaco", bench.options.builds / "twice")
    empty = bench.options.builds / f"twice_empty.{bench.options.target}.hsaco"
    answer = bench.replay(DIFFERENT, "run", bundle, "--hsaco", empty)
    require(answer["differences"]["count"] == 1000, str(answer["differences"]))
    answer = bench.replay(DIFFERENT, "compare", bundle, empty, "--iterations", 2)
    require(list(verdicts(answer).values()) == ["equal", "different"], str(verdicts(answer)))


def case_fault(bench):
    answer = bench.replay(FAULT, "run", bench.bundle("scale"), "--hsaco", bench.build("faults"))
    require(int(answer["fault"]["address"], 16) // 4096 == 1, str(answer["fault"]))
    bundle = bench.bundle("left_out")
    answer = bench.replay(FAULT, "run", bundle)
    left_out = answer["fault"]["left_out"]
    require(not bench.manifest(bundle)["regions"][left_out]["taken"], str(answer["fault"]))
    require("--memory all" in answer["message"], answer["message"])


def case_timeout(bench):
    answer = bench.replay(TIMEOUT, "run", bench.bundle("scale"), "--hsaco", bench.build("hangs"), "--timeout", 2)
    require("--timeout" in answer["message"], answer["message"])


def case_other_gpu(bench):
    bundle = bench.bundle("scale")
    gpu = "rx6800xt" if bench.options.gpu != "rx6800xt" else "mi300x"
    bench.options.gpu = gpu
    answer = bench.replay(REFUSED, "run", bundle)
    require("gfx942" in answer["message"] and "gfx1030" in answer["message"], answer["message"])
    answer = bench.replay(REFUSED, "run", bundle, environment={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"})
    require("HSA_OVERRIDE_GFX_VERSION=10.3.0" in answer["message"], answer["message"])


def case_usage(bench):
    """What makes no sense is said before anything is started."""
    bundle = bench.bundle("scale")
    for arguments in (["run"], ["walk", bundle], ["compare", bundle], ["run", bundle, bundle], ["check", bundle, "--hsaco", "x"],
                      ["run", bundle, "--verify", "tol=lots"], ["run", bundle, "--verify", "tol=-1"], ["run", bundle, "--as", "int"],
                      ["run", bundle, "--iterations", "0"], ["run", bundle, "-o", "x"]):
        require(bench.replay(2, *arguments) == {}, f"{arguments}: an answer")
    require("No such file" in bench.replay(BAD_BUNDLE, "run", bench.folder / "nothing")["message"], "no reason")


def case_in_the_way(bench):
    """Something that is there in every process: an error that names it and the region."""
    bundle = bench.bundle("chase")
    wishes = ranges(taken(bench.manifest(bundle))[-1:])
    for action in ("check", "run"):
        answer = bench.replay(CANNOT_MAP, action, bundle, environment=bench.preload(OCCUPY=wishes))
        way = answer["in_the_way"]
        require(way["permissions"] == "rw-p" and way["path"] == "", str(way))
        base, size = taken(bench.manifest(bundle))[-1]
        region = bench.manifest(bundle)["regions"][way["region"]]
        require(int(way["base"], 16) < base + size and base < int(way["end"], 16), str(way))
        require(int(region["base"], 16) == base, f"region {way['region']}")
        require("anonymous" in answer["message"], answer["message"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--make-bundle", required=True)
    parser.add_argument("--occupy", required=True)
    parser.add_argument("--builds", type=pathlib.Path, required=True)
    parser.add_argument("--gpu", default="mi300x")
    parser.add_argument("--target", default="gfx942")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="replay-") as folder:
        try:
            globals()[f"case_{options.case}"](Bench(options, pathlib.Path(folder)))
        except AssertionError as problem:
            print(f"FAILED {options.case}: {problem}")
            return 1
    print(f"ok {options.case}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
