# SPDX-License-Identifier: MIT
"""Which folder may include which: the project's include directions, stated here and nowhere else.

Data flows program -> agent -> flight log or capture bundle -> store -> analysis -> report, and files are the only
link between what runs inside somebody's program and what runs afterwards. A folder gets its row before its first
file.
"""

import pathlib
import re

import project as project_module

NAME = "includes"

# Folder below src/ -> folders below src/ that it may include besides itself.
OURS = {
    "base": [],
    "portable": [],
    "contract": [],
    "trace": ["base"],
    "codeobj": ["base"],
    "capture": ["codeobj", "trace", "base"],
    "probe": ["codeobj", "base"],
    "agent": ["contract", "capture", "probe", "trace", "codeobj", "base"],
    "softgpu": ["contract", "base"],
    "launch": ["contract", "softgpu/tree", "capture", "codeobj", "base"],
    "store": ["trace", "codeobj", "base"],
    "analysis": ["store", "codeobj", "base"],
    "doctor": ["contract", "launch", "store", "capture", "codeobj", "base"],
    "profile": ["contract", "launch", "doctor", "analysis", "store", "softgpu/tree", "codeobj", "base"],
    "optimize": ["profile", "launch", "capture", "codeobj", "store", "base"],
    "mcp": ["optimize", "launch", "base"],
    "report": ["analysis", "capture", "codeobj", "base"],
    "swap": ["report", "launch", "store", "capture", "codeobj", "base"],
    "fleet": ["launch", "store", "analysis", "codeobj", "trace", "base"],
    "cli": ["base", "trace", "codeobj", "capture", "probe", "store", "analysis", "doctor", "profile", "optimize", "mcp", "report",
            "launch", "swap", "softgpu/tree", "contract"],
}

# Parts of a folder with a direction of their own -> what of ours they may include besides themselves.
PARTS = {
    "softgpu/shim": ["softgpu/core_interface.h", "contract"],
    "softgpu/driver": ["softgpu/core_interface.h", "softgpu/machine", "softgpu/memory", "contract", "base"],
    "softgpu/machine": ["softgpu/counters", "softgpu/isa", "softgpu/memory", "base"],
    "softgpu/counters": ["softgpu/isa", "softgpu/memory", "contract", "base"],
    "softgpu/isa": ["softgpu/memory", "base"],
    "softgpu/memory": ["base"],
    "softgpu/tree": ["base"],
    "store/rpd": ["base"],
    "store/convert": ["store/rpd", "trace", "codeobj", "base"],
    "store/open": ["store/convert", "store/rpd", "trace", "codeobj", "base"],
    "store/export": ["store/open", "store/convert", "store/rpd", "base"],
    "fleet/sketch": ["base"],
    "fleet/bus": ["base"],
    "fleet/storage": ["base"],
    "fleet/daemon": ["fleet/sketch", "fleet/bus", "fleet/storage", "launch", "trace", "base"],
    "fleet/lake": ["fleet/sketch", "fleet/bus", "fleet/storage", "store", "base"],
    "fleet/metrics": ["fleet/lake", "fleet/sketch", "store", "base"],
    "fleet/history": ["fleet/lake", "fleet/sketch", "analysis", "codeobj", "base"],
    "fleet/hang": ["codeobj"],
    "fleet/stragglers": ["fleet/sketch"],
}

# Start of a foreign header's name -> folders below src/ that may include it.
FOREIGN = {
    "llvm/": ["softgpu/isa", "codeobj", "probe/pass"],
    "llvm-c/": ["softgpu/isa", "codeobj"],
    "hsa/": ["agent", "capture/replay", "doctor/probe", "softgpu"],
    "hip/": ["agent", "doctor/probe"],
    "xf86drm": ["softgpu"],
    "amdgpu": ["softgpu"],
    "libdrm/": ["softgpu"],
    "drm/": ["softgpu"],
    "linux/kfd_ioctl.h": ["softgpu"],
    "sqlite3": ["store"],
    "duckdb": ["store"],
    "simdjson": ["store"],
    "protozero/": ["store"],
    "xxhash": ["capture"],
    "curl/": ["optimize", "fleet/storage"],
    "nats/": ["fleet/bus"],
    "opentelemetry/": ["fleet/metrics"],
    "zlib": ["store", "report"],
    "zstd": ["codeobj", "capture", "fleet/bus"],
    "CLI/": ["cli", "fleet"],
    # base needs only the standard library and libc.
    "fmt/": [folder for folder in OURS if folder != "base"],
    # Its values need memory when they are destroyed: not in somebody's program (base/json_text.h).
    "nlohmann/": [folder for folder in OURS if folder not in ("base", "agent")],
}

# Foreign headers that only these files may include, wherever they are.
TEST_ONLY = {"gtest/": re.compile(r"_test(ing)?\.(cpp|h)$|test_\w+\.h$"),
             "gmock/": re.compile(r"_test\.cpp$"),
             "benchmark/": re.compile(r"^bench_|_bench\.cpp$")}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def run(project):
    findings = []
    for path in project.named(*project_module.CPP):
        text = project_module.without_comments(project.text(path))
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            problem = judge(project, path, match[1] == '"', match[2])
            if problem:
                findings.append(f"{path}:{line}: {problem}")
    return findings


def judge(project, path, quoted, header):
    """What is wrong with this include, or None."""
    if path.parts[0] != "src" or len(path.parts) < 3:
        return None  # tests and tools may use everything
    folder = path.parts[1]
    if folder not in OURS:
        return f"src/{folder} has no row in tools/check/includes.py"
    if quoted:
        target = pathlib.PurePosixPath(header)
        if not (project.root / "src" / target).is_file() and not generated(project, target):
            return f'"{header}" is not a file below src/; write includes relative to src/'
        # A test may use more than what it tests, within the folder's row.
        parts = [part for part in PARTS if below(path, part) and not path.name.endswith("_test.cpp")]
        part = parts[0] if parts else folder
        allowed = PARTS.get(part, OURS[folder])
        if not any(target.is_relative_to(place) for place in [part, *allowed]):
            return f"{part} may not include {header} (it may: {', '.join(allowed) or 'nothing of ours'})"
        return None
    if path.suffix == ".hip" and header.startswith("hip/"):
        return None  # a GPU program, whatever folder it is in
    for start, pattern in TEST_ONLY.items():
        if header.startswith(start) and not pattern.search(path.name):
            return f"<{header}> belongs in tests and benches only"
    for start, folders in FOREIGN.items():
        if header.startswith(start) and not any(below(path, allowed) for allowed in folders):
            return f"<{header}> may be included only in {', '.join('src/' + allowed for allowed in folders)}"
    return None


def below(path, folder):
    parts = pathlib.PurePosixPath(folder).parts
    return path.parts[1:1 + len(parts)] == parts


def generated(project, target):
    """A header that the build writes, seen in the build folder's src/."""
    return project.build is not None and (project.build / "src" / target).is_file()
