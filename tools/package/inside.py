# SPDX-License-Identifier: MIT
"""What may be loaded into other people's processes: needs libc alone, of an old version, and exports what is listed.

Used when a portable installation is made (portable.py), which fails with what this finds, and by `./dev check`.
"""

import pathlib
import re
import subprocess
import sys

import older_versions

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools/check"))
import symbols  # noqa: E402

LIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}
# File -> its list of exported symbols (None: a program), what it may need beside libc, and how many bytes it may have.
INSIDE = {
    "lib/librochound_agent.so": ("src/agent/agent.map", set(), 2_000_000),
    "lib/librochound_softgpu.so": ("src/softgpu/shim/shim.map", set(), 200_000),
    "lib/librochound_softgpu_core.so": ("src/softgpu/driver/core.map", set(), None),
    "libexec/rochound/rochound-replay": (None, {"libhsa-runtime64.so.1"}, None),
    "libexec/rochound/rochound-probe": (None, set(), None),
}


def needed(path):
    told = subprocess.run(["readelf", "-dW", str(path)], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", told)


def newest_version(path):
    """The newest version of glibc that a file asks for; also names that are no numbers."""
    versions = [version for _, version, _, _ in older_versions.Elf(path).needed_versions() if version.startswith("GLIBC_")]
    strange = [version for version in versions if older_versions.number(version) is None]
    return max((older_versions.number(version) for version in versions if version not in strange), default=(0,)), strange


def too_new(path, name, limit):
    version, strange = newest_version(path)
    if version <= limit and not strange:
        return []
    wrong = ", ".join(strange) or "GLIBC_" + ".".join(map(str, version))
    return [f"{name} needs {wrong}; GLIBC_{'.'.join(map(str, limit))} is the limit"]


def check_files(tree):
    """What INSIDE says about each file, but for its size."""
    findings = []
    for name, (listed, more, _) in INSIDE.items():
        path = tree / name
        if not path.exists():
            findings.append(f"{name} is missing")
            continue
        for library in needed(path):
            if library not in LIBC | more:
                findings.append(f"{name} needs {library}")
        if listed:
            wanted = symbols.listed((SOURCE / listed).read_text(encoding="utf-8"))
            found = symbols.exported(path)
            findings += [f"{name} exports {symbol}, which {listed} does not list" for symbol in sorted(found - wanted)]
            findings += [f"{name} does not export {symbol}, which {listed} lists" for symbol in sorted(wanted - found)]
    return findings


def check(tree, limit):
    """A whole installation."""
    findings = check_files(tree)
    for name, (_, _, size) in INSIDE.items():
        path = tree / name
        if size and path.exists() and path.stat().st_size > size:
            findings.append(f"{name} has {path.stat().st_size} bytes, more than {size}")
    for path in sorted(tree.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
            findings += too_new(path, path.relative_to(tree), limit)
    return findings


def table(tree):
    lines = []
    for name in INSIDE:
        version, _ = newest_version(tree / name)
        lines.append(f"{name}: {(tree / name).stat().st_size} bytes, needs {', '.join(needed(tree / name))}, "
                     f"newest GLIBC_{'.'.join(map(str, version))}")
    return "\n".join(lines)
