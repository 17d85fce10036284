#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs llama.cpp's own test-backend-ops on a GPU: each operator's smallest cases, compared with the CPU backend.

usage: run_ggml_operators.py --tests TEST_BACKEND_OPS [--cases N] [--timeout SECONDS] [--operators A,B] -- LAUNCHER...

LAUNCHER is what is before the program, as `rochound softgpu --gpu rx6800xt --`. Right is: the program itself says
what the backend supports, at least 20 operators are run, and every case of them that is asked for ends with OK in one
run of all of them. An operator that does not is run by itself, too, to tell what is wrong with it; that does not make it
right.
"""

import argparse
import csv
import io
import math
import re
import subprocess
import sys

OPERATORS = ("ADD", "SUB", "MUL", "DIV", "SCALE", "SQR", "SQRT", "LOG", "SIN", "COS", "CLAMP", "ABS", "NEG", "RELU", "GELU", "SILU",
             "TANH", "SIGMOID", "EXP", "SWIGLU", "GEGLU", "LEAKY_RELU", "NORM", "RMS_NORM", "L2_NORM", "GROUP_NORM", "SOFT_MAX",
             "ROPE", "GET_ROWS", "SET_ROWS", "CPY", "CONT", "CONCAT", "REPEAT", "SUM", "SUM_ROWS", "MEAN", "CUMSUM", "ARGMAX",
             "ARGSORT", "DIAG_MASK_INF", "IM2COL", "POOL_2D", "CONV_2D_DW", "PAD", "UPSCALE", "ACC", "OUT_PROD", "MUL_MAT",
             "MUL_MAT_ID", "FLASH_ATTN_EXT")
# Beside the smallest of all, the smallest of each of these.
KINDS = {"MUL_MAT": [f"type_a={kind},.*,n={n}," for kind in ("f32", "f16", "bf16", "q4_0", "q8_0", "q4_K", "q6_K", "iq4_xs")
                     for n in (1, 16)],
         "MUL_MAT_ID": ["type_a=f16,", "type_a=q4_0,"],
         "GET_ROWS": ["type=f16,", "type=q4_0,", "type=q8_0,"],
         "CPY": ["type_src=f32,type_dst=q4_0,", "type_src=f16,type_dst=f32,", "type_src=bf16,"],
         "ROPE": ["mode=2,", "mode=0,.*type=f16|type=f16,.*mode=0,"],
         "SOFT_MAX": ["mask=1,"],
         "FLASH_ATTN_EXT": ["type_K=f16,type_V=f16,.*", "type_K=q8_0,type_V=q8_0,.*"]}
LEAST = 20


def size(params):
    """About how much work a case is."""
    lists = [math.prod(int(n) for n in re.findall(r"\d+", part)) for part in re.findall(r"=\[([\d,]+)\]", params)]
    numbers = {name: int(n) for name, n in re.findall(r"\b(m|n|k|r|kv|nb|nh|hsk|n_used|KW|KH|IC|OC)=(\d+)\b", params)}
    return max(lists, default=1) * math.prod(max(1, n) for n in numbers.values())


def choose(cases, count):
    """Full names of the cases to run, by operator."""
    chosen = {}
    for operator in OPERATORS:
        ours = sorted((size(params), params) for name, params in cases if name == operator)
        wanted = [params for _, params in ours[:count]]
        for kind in KINDS.get(operator, []):
            wanted += [params for _, params in ours if re.search(kind, params)][:1]
        if wanted:
            chosen[operator] = [f"{operator}({params})" for params in dict.fromkeys(wanted)]
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", required=True)
    parser.add_argument("--cases", type=int, default=1, help="smallest cases of each operator")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one operator")
    parser.add_argument("--operators", default="", help="only these")
    parser.add_argument("launcher", nargs="+")
    options = parser.parse_args()

    def run(*arguments):
        return subprocess.run([*options.launcher, options.tests, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, errors="replace", timeout=options.timeout)

    listing = run("support", "-b", "ROCm0", "--output", "csv")
    rows = [row for row in csv.DictReader(io.StringIO(listing.stdout)) if row.get("error_message") == "yes"]
    if not rows:
        print(listing.stdout[-2000:], listing.stderr[-2000:])
        print("FAIL ggml_operators: the HIP backend is not there")
        return 1
    chosen = choose({(row["op_name"], row["op_params"]) for row in rows}, options.cases)
    if options.operators:
        chosen = {name: chosen[name] for name in options.operators.split(",")}
    def test(cases):
        """The cases that are right, and what was said."""
        try:
            outcome = run("test", "-b", "ROCm0", "-o", ",".join(cases))
            text = re.sub(r"\x1b\[[\d;]*m", "", outcome.stdout) + outcome.stderr
        except subprocess.TimeoutExpired:
            text = f"no end within {options.timeout} s"
        return {case for case in cases if f"{case}: OK" in text}, text

    right, _ = test([case for cases in chosen.values() for case in cases])
    passed, failed = 0, []
    for operator, cases in chosen.items():
        good = right.intersection(cases)
        passed += len(good)
        if len(good) == len(cases):
            continue
        failed.append(operator)
        print(f"wrong: {operator}: {len(cases) - len(good)} of {len(cases)} cases, e.g. {next(c for c in cases if c not in good)}")
        alone, text = test(cases)
        print(f"    by itself, {len(alone)} of {len(cases)} are right")
        for line in text.splitlines():
            if "FAIL" in line or "not implemented" in line or "rror" in line or "no end" in line:
                print("   ", line.strip()[:300])
    print(f"{len(chosen) - len(failed)} of {len(chosen)} operators, {passed} cases")
    if failed or (len(chosen) < LEAST and not options.operators):
        print(f"FAIL ggml_operators: {', '.join(failed) or 'too few operators'}")
        return 1
    print("PASS ggml_operators")
    return 0


if __name__ == "__main__":
    sys.exit(main())
