#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How strong the random kernels are: puts faults into the interpreter, one at a time, and counts those that they find.

usage: mutate.py --hipcc FILE --runner FILE --rochound FILE --folder FOLDER [--kernels 0-59] [--levels 1,3] [--gpus ...]
                 [--only TEXT] [--summary FILE] [--jobs N]

The faults of mutations.py are put into a copy of the interpreter's sources in --folder, all of them, each of them asleep
until a variable has its number; so the interpreter is built once, the kernels are compiled once, and one process tries
many faults. A fault is found when a kernel differs, crashes, or does not end. --summary writes the table into the page.
Run it where ROCm is (./dev shell), after ./dev build rochound rochound_softgpu rochound_softgpu_core random_runner.
Exit code 0: at least 90% are found. 1: fewer. 2: a fault has no place any more, or something does not build.
"""

import argparse
import concurrent.futures
import datetime
import glob
import os
import re
import shutil
import subprocess
import sys

import run_random
from mutations import MUTATIONS

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FEW_KERNELS = 10
SECONDS = 900

HEADER = """#pragma once
#include <cstdlib>
inline const int rochound_mutant =
    std::getenv("ROCHOUND_MUTANT") != nullptr ? std::atoi(std::getenv("ROCHOUND_MUTANT")) : 0;
"""


def mutated(texts):
    """Puts all faults into {file: text}; number n is MUTATIONS[n - 1]."""
    bad = []
    for number, (_, what, path, where, wrong) in enumerate(MUTATIONS, 1):
        before, rest = where.split("«")
        right, after = rest.split("»")
        old = before + right + after
        if path not in texts or texts[path].count(old) != 1:
            bad.append(f"{what}: {texts.get(path, '').count(old)} places in {path}")
            continue
        # Marks first, so that a later row finds the text as it was.
        texts[path] = texts[path].replace(old, f"{before}\x01{number}\x02{right}\x03{after}")
    for path in texts:
        while "\x01" in texts[path]:
            head, rest = texts[path].rsplit("\x01", 1)
            number, rest = rest.split("\x02", 1)
            right, rest = rest.split("\x03", 1)
            wrong = MUTATIONS[int(number) - 1][4]
            texts[path] = f"{head}(rochound_mutant == {number} ? ({wrong}) : ({right})){rest}"
    return bad


def prepare_sources(options):
    """The interpreter's sources with the faults in them, in the folder; the sources to compile, and what has no place."""
    isa = os.path.join(ROOT, "src/softgpu/isa")
    texts = {}
    for folder, _, names in os.walk(isa):
        for name in names:
            path = os.path.join(folder, name)
            texts[os.path.relpath(path, isa)] = read(path).decode()
    bad = mutated(texts)
    changed = {path for path in texts if "rochound_mutant ==" in texts[path]}
    for path in changed:
        texts[path] = '#include "softgpu/isa/mutant.h"\n' + texts[path]
    texts["mutant.h"] = HEADER
    includes = {path: set(re.findall(r'#include "softgpu/isa/(.*)"', text)) for path, text in texts.items()}
    while True:  # whoever includes a changed file is changed
        more = {path for path in texts if path not in changed and includes[path] & changed}
        if not more:
            break
        changed |= more
    for path in changed | {"mutant.h"}:
        to = os.path.join(options.folder, "src/softgpu/isa", path)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        if not os.path.exists(to) or read(to).decode() != texts[path]:
            run_random.write(to, texts[path])
    return sorted(path for path in changed if path.endswith(".cpp") and not path.endswith("_test.cpp")), bad


def read(path):
    with open(path, "rb") as data:
        return data.read()


def build(options, sources):
    """Compiles these sources as the build does, but quickly, and links them with the rest of the build. Gives a folder
    that looks like a build, with that interpreter in it."""
    normal = os.path.dirname(os.path.dirname(os.path.abspath(options.rochound)))
    library = "lib/librochound_softgpu_core.so"
    commands = subprocess.run(["ninja", "-C", normal, "-t", "commands", library], stdout=subprocess.PIPE, text=True,
                              check=True).stdout.split("\n")
    work, objects = [], []
    newest = max(os.path.getmtime(os.path.join(folder, name))
                 for top in (os.path.join(options.folder, "src"), os.path.join(ROOT, "src/softgpu/isa"))
                 for folder, _, names in os.walk(top) for name in names)
    for source in sources:
        end = f" -c {ROOT}/src/softgpu/isa/{source}"
        command = next((line for line in commands if line.endswith(end)), None)
        if command is None:
            continue  # not part of the library
        to = os.path.join(options.folder, "objects", os.path.basename(source) + ".o")
        os.makedirs(os.path.dirname(to), exist_ok=True)
        objects.append(to)
        if os.path.exists(to) and os.path.getmtime(to) > newest:
            continue
        command = re.sub(r" -M[DTF](?: \S+\.(?:o|d)(?= ))?", "", command.removesuffix(end))
        command = re.sub(r" -o \S+", "", command).replace(f" -I{ROOT}/src", f" -I{options.folder}/src -I{ROOT}/src")
        work.append(f"{command} -O1 -g0 -w -o {to} -c {options.folder}/src/softgpu/isa/{source}")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda command: subprocess.run(command, shell=True, cwd=normal, check=True), work))
    place = os.path.join(options.folder, "install")
    for part in ("bin/rochound", "lib", "share"):
        source, to = os.path.join(normal, part), os.path.join(place, part)
        if os.path.isdir(source):
            shutil.copytree(source, to, dirs_exist_ok=True)
        elif os.path.exists(source):
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy2(source, to)
    archive = os.path.join(place, "lib/librochound_softgpu_isa.a")
    subprocess.run(["ar", "r", archive, *objects], check=True)
    link = next(line for line in commands if f"-o {library} " in line)
    link = link.replace("lib/librochound_softgpu_isa.a", archive).replace(f"-o {library} ", f"-o {place}/{library} ")
    subprocess.run(re.sub(r" -Wl,--dependency-file=\S+", "", link), shell=True, cwd=normal, check=True)
    return os.path.join(place, "bin/rochound")


def compiled_kernels(options, runner):
    """Yields (gpu, model, codes, count), file by file, each compiled when it is asked for."""
    first, last = map(int, options.kernels.split("-"))
    for start in range(first, last + 1, FEW_KERNELS):
        seeds = range(start, min(start + FEW_KERNELS, last + 1))
        base = os.path.join(options.folder, f"kernels{start}")
        text = run_random.render.source([run_random.kernels.make(seed) for seed in seeds])
        fresh = os.path.exists(base + ".hip") and read(base + ".hip") == text.encode()
        if not fresh:
            for path in glob.glob(glob.escape(base) + ".*"):
                os.remove(path)
        run_random.write(base + ".hip", text)
        if not os.path.exists(base + ".so"):
            runner.compile_model(base + ".hip", base + ".so")
        for gpu in options.gpus:
            codes = [f"{base}.{gpu}.O{level}.co" for level in options.levels]
            for level, code in zip(options.levels, codes):
                if not os.path.exists(code):
                    runner.compile_code(base + ".hip", gpu, level, code)
            yield gpu, base + ".so", codes, len(seeds)


def try_faults(runner, numbers, job):
    """{number: what showed it} of the faults that these kernels find."""
    gpu, model, codes, _ = job
    left, found = list(numbers), {}
    while left:
        command = [runner.rochound, "softgpu", "--gpu", gpu, "--", runner.runner, model, str(run_random.GPUS[gpu][1]), *codes,
                   "--", *map(str, left)]
        outcome = run_random.process.run(command, SECONDS)
        now, last = None, ""
        for line in outcome.out.split("\n"):
            word, _, rest = line.partition(" ")
            if word == "FAULT":
                now = int(rest)
            elif word == "FOUND":
                found[now] = last
            if word in ("FOUND", "MISSED"):
                left.remove(now)
            if word == "DIFF":
                last = line
        if not left or now not in left:
            break
        found[now] = f"crash: {outcome}"
        left.remove(now)
    if left:
        raise run_random.Broken(f"{' '.join(command[:9])}: {outcome}\n{outcome.tail(6)}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--hipcc", required=True)
    parser.add_argument("--runner", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--kernels", default="0-59")
    parser.add_argument("--levels", default="1,3")
    parser.add_argument("--gpus", default=",".join(run_random.GPUS))
    parser.add_argument("--only", default="", help="only faults whose description has this text in it")
    parser.add_argument("--summary")
    options = parser.parse_args()
    options.levels, options.gpus = options.levels.split(","), options.gpus.split(",")
    options.folder = os.path.abspath(options.folder)
    os.makedirs(options.folder, exist_ok=True)

    sources, bad = prepare_sources(options)
    for line in bad:
        print(f"NO PLACE {line}")
    runner = run_random.Runner(options)
    runner.rochound = build(options, sources)
    library = os.path.join(os.path.dirname(runner.rochound), "../lib/librochound_softgpu_core.so")
    symbols = subprocess.run(["nm", "--defined-only", library], stdout=subprocess.PIPE, text=True, check=True).stdout
    os.environ["ROCHOUND_FAULT"] = re.search(r"^([0-9a-f]+) . rochound_mutant$", symbols, re.M)[1]
    without_place = {line.split(":")[0] for line in bad}
    left = {number: row for number, row in enumerate(MUTATIONS, 1) if options.only in row[1] and row[1] not in without_place}
    wanted, places = dict(left), {}
    for job in compiled_kernels(options, runner):
        if not left:
            break
        if (sound := try_faults(runner, [0], job)):
            print(f"{job[0]} fails without a fault: {sound}")
            return 2
        for number, how in try_faults(runner, left, job).items():
            family, what, *_ = left.pop(number)
            places[number] = job[0]
            print(f"{number} {family}: {what}: found on {job[0]} in {os.path.basename(job[1])} ({how})", flush=True)
        tried = re.search(r"\d+", os.path.basename(job[1]))[0]
        print(f"after {FEW_KERNELS} kernels from {tried} on {job[0]}: {len(places)} of {len(wanted)}", flush=True)
        if options.summary:
            write_summary(options, wanted, places, f"{int(tried) + FEW_KERNELS - 1}")
    for family, what, *_ in left.values():
        print(f"NOT FOUND {family}: {what}")
    print(f"{len(places)} of {len(wanted)} found")
    return 2 if bad else 0 if len(places) >= 0.9 * len(wanted) else 1


def write_summary(options, wanted, places, last):
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    lines = [f"{today}: {len(places)} of {len(wanted)} faults found by kernels {options.kernels.split('-')[0]} to {last} at "
             f"{', '.join('-O' + level for level in options.levels)} on {', '.join(options.gpus)}.", "",
             "| family | found | not found |", "|---|---|---|"]
    for family in dict.fromkeys(row[0] for row in wanted.values()):
        mine = {number: row[1] for number, row in wanted.items() if row[0] == family}
        missed = "; ".join(what for number, what in mine.items() if number not in places)
        lines.append(f"| {family} | {sum(number in places for number in mine)} of {len(mine)} | {missed} |")
    run_random.replace_section(options.summary, "faults", "\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())
