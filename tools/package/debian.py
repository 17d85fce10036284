#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes Debian packages of a build folder; `./dev package` runs it inside the root that built it.

All programs and libraries are in one folder, /usr/lib/rochound, in the shape of the build folder and of any other
installation: the command looks for everything beside itself. /usr/bin/rochound leads there.
"""

import argparse
import gzip
import os
import pathlib
import re
import shutil
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PREFIX = "usr/lib/rochound"
MAINTAINER = "rochound <rochound@localhost>"
PYTHON = "usr/lib/python3/dist-packages"

# What a package is, what it needs beside the libraries that its files are linked to, and what it is good for. {version} is
# that of all packages.
PACKAGES = {
    "rochound": {
        "component": "rochound",
        "section": "devel",
        # DuckDB's extension that opens .rpd files is in the package of its command.
        "Depends": "duckdb",
        # libcurl is loaded when a model is asked.
        "Recommends": "rochound-softgpu, rochound-selftest, libcurl4t64 | libcurl4",
        "Suggests": "hipcc, python3-rochound",
        "description": "recorder and tools for programs on AMD GPUs",
        "long": ["Records what a ROCm program does (calls, kernels, copies, ranges), explains why it is slow,",
                 "finds out why a GPU fails or is not used, captures kernel launches and runs them again."],
    },
    "rochound-softgpu": {
        "component": "softgpu",
        "section": "devel",
        "Depends": "rochound (= {version})",
        "description": "software GPU for ROCm programs",
        "long": ["Runs the unmodified ROCm runtime and its programs on machines without an AMD GPU, for tools",
                 "and tests. `rochound softgpu` uses it."],
    },
    "rochound-selftest": {
        "component": "selftest",
        "section": "devel",
        "Depends": "rochound (= {version})",
        "description": "programs that rochound tests a GPU with",
        "long": ["Small HIP programs, compiled for the GPUs that rochound knows. `rochound selftest` runs, records,",
                 "captures and replays them on this machine's GPU or on a software GPU."],
    },
    "librochound-dev": {
        "component": "development",
        "section": "libdevel",
        "all": True,
        "description": "headers to control rochound from a program",
        "long": ["Start, stop and mark a recording from C and C++, read counters of the software GPU, write",
                 "analyzers for `rochound probe`. There is nothing to link."],
    },
    "python3-rochound": {
        "section": "python",
        "all": True,
        "Depends": "python3:any",
        "Recommends": "rochound",
        "description": "control of rochound from Python",
        "long": ["Start, stop and mark the recording of a ROCm program from Python."],
    },
}


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, **more)


def version():
    return (SOURCE / "VERSION").read_text().strip()


def write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)


def fill(name, package, build, stage):
    """Puts a package's files into its folder."""
    prefix = stage / ("usr" if name == "librochound-dev" else PREFIX)
    if "component" in package:
        run("cmake", "--install", build, "--component", package["component"], "--prefix", prefix, "--strip",
            stdout=subprocess.DEVNULL)
    if name == "rochound":
        (stage / "usr/bin").mkdir(parents=True)
        (stage / "usr/bin/rochound").symlink_to("../lib/rochound/bin/rochound")
        install_manual(stage)
    if name == "python3-rochound":
        shutil.copytree(SOURCE / "python/rochound", stage / PYTHON / "rochound", ignore=shutil.ignore_patterns("__pycache__"))
        write(stage / PYTHON / "rochound/_version.py", f'VERSION = "{version()}"\n')
    documents = stage / "usr/share/doc" / name
    write(documents / "copyright", "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
          "Upstream-Name: rochound\n\nFiles: *\n" + licence())
    # The same bytes for the same source: no name and no time in it.
    write(documents / "changelog.gz", gzip.compress((SOURCE / "CHANGELOG.md").read_bytes(), mtime=0))
    for folder, folders, files in os.walk(stage):
        for one in folders:
            pathlib.Path(folder, one).chmod(0o755)
        for one in files:
            path = pathlib.Path(folder, one)
            if not path.is_symlink():
                program = path.read_bytes()[:4] == b"\x7fELF" and ".so" not in path.name
                path.chmod(0o755 if program else 0o644)


def install_manual(stage):
    """Man pages and completions are where Debian's man and shells look for them."""
    ours, share = stage / PREFIX / "share", stage / "usr/share"
    for folder, place in (("man", "man"), ("bash-completion", "bash-completion"), ("fish", "fish"),
                          ("zsh/site-functions", "zsh/vendor-completions")):
        shutil.copytree(ours / folder, share / place)
        shutil.rmtree(ours / folder.split("/")[0])
    for page in (share / "man/man1").iterdir():
        write(page.with_name(page.name + ".gz"), gzip.compress(page.read_bytes(), mtime=0))
        page.unlink()


def licence():
    lines = (SOURCE / "LICENSE").read_text().splitlines()
    holder = next(line for line in lines if line.startswith("Copyright"))
    body = "\n".join(" " + (line or ".") for line in lines[lines.index(holder) + 1:]).strip("\n")
    body = re.sub(r"^( \.\n)+", "", body)
    return f"{holder.replace('Copyright (c)', 'Copyright:')}\nLicense: Expat\n{body}\n"


def needed(stage, folder):
    """The packages of the libraries that a package's programs and libraries are linked to."""
    elf = [path for path in stage.rglob("*") if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF"]
    if not elf:
        return ""
    (folder / "debian").mkdir(exist_ok=True)
    (folder / "debian/control").write_text("Source: rochound\n")
    told = run("dpkg-shlibdeps", "-O", *(f"-e{path}" for path in elf), cwd=folder, capture_output=True, text=True).stdout
    return told.strip().removeprefix("shlibs:Depends=")


def make(name, package, build, output, number):
    folder = output / "work"
    shutil.rmtree(folder, ignore_errors=True)
    stage = folder / name
    stage.mkdir(parents=True)
    fill(name, package, build, stage)
    architecture = "all" if package.get("all") else "amd64"
    depends = ", ".join(one for one in (package.get("Depends", "").format(version=number), needed(stage, folder)) if one)
    size = sum(path.lstat().st_size for path in stage.rglob("*") if not path.is_dir()) // 1024
    fields = {"Package": name, "Version": number, "Architecture": architecture, "Maintainer": MAINTAINER, "Installed-Size": size,
              "Depends": depends, "Recommends": package.get("Recommends"), "Suggests": package.get("Suggests"),
              "Section": package["section"], "Priority": "optional", "Description": package["description"]}
    text = "".join(f"{key}: {value}\n" for key, value in fields.items() if value) + "".join(f" {line}\n" for line in package["long"])
    write(stage / "DEBIAN/control", text)
    sums = "".join(subprocess.run(["md5sum", path.relative_to(stage)], cwd=stage, check=True, capture_output=True, text=True).stdout
                   for path in sorted(stage.rglob("*")) if path.is_file() and not path.is_symlink() and "DEBIAN" not in path.parts)
    write(stage / "DEBIAN/md5sums", sums)
    file = output / f"{name}_{number}_{architecture}.deb"
    run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", stage, file, stdout=subprocess.DEVNULL)
    shutil.rmtree(folder)
    return file


def write_sums(output):
    """Of all packages that are there, whoever made them."""
    names = sorted(path.name for path in output.iterdir() if path.suffix in (".deb", ".gz", ".whl", ".json"))
    (output / "SHA256SUMS").write_text(run("sha256sum", *names, cwd=output, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    output = options.output.absolute()
    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob("*.deb"):
        old.unlink()
    number = version()
    # What dpkg-deb writes as the time of everything.
    os.environ.setdefault("SOURCE_DATE_EPOCH", subprocess.run(["git", "-C", SOURCE, "log", "-1", "--format=%ct"], check=True,
                                                              capture_output=True, text=True).stdout.strip())
    files = [make(name, package, options.build.absolute(), output, number) for name, package in PACKAGES.items()]
    write_sums(output)
    for file in files:
        print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
