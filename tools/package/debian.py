#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes Debian packages of a build folder; `./dev package` runs it inside the root that built it.

All programs and libraries are in one folder, /usr/lib/rochound, in the shape of the build folder and of any other
installation: the command looks for everything beside itself. /usr/bin/rochound leads there.
"""

import argparse
import email.utils
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PREFIX = "usr/lib/rochound"
MAINTAINER = "rochound <rochound@localhost>"
PYTHON = "usr/lib/python3/dist-packages"

FLEET_AFTER = """#!/bin/sh
set -e
if [ "$1" = configure ]; then
  systemd-sysusers rochound-fleet.conf
  # Not started: it needs /etc/rochound/rochoundd, and somebody who enables it.
  if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    deb-systemd-invoke try-restart rochoundd.service || true
  fi
fi
"""
FLEET_BEFORE = """#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  deb-systemd-invoke stop rochoundd.service || true
fi
"""
FLEET_PURGE = """#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
fi
if [ "$1" = purge ]; then
  rm -rf /var/lib/rochoundd
fi
"""

# What a package is, what it needs beside the libraries that its files are linked to, and what it is good for. {version} is
# that of all packages.
PACKAGES = {
    "rochound": {
        "component": "rochound",
        "commands": ["rochound"],
        "section": "devel",
        # DuckDB's extension that opens .rpd files is in the package of its command.
        "Depends": "duckdb",
        # libcurl is loaded when a model is asked.
        "Recommends": "rochound-softgpu, rochound-selftest, libcurl4t64 | libcurl4",
        "Suggests": "hipcc, python3-rochound",
        "description": "recorder and tools for programs on AMD GPUs",
        "long": ["Records what a ROCm program does (calls, kernels, copies, ranges), explains",
                 "why it is slow, finds out why a GPU fails or is not used, captures kernel",
                 "launches and runs them again."],
    },
    "rochound-softgpu": {
        "component": "softgpu",
        "section": "devel",
        "Depends": "rochound (= {version})",
        "description": "software GPU for ROCm programs",
        "long": ["Runs the unmodified ROCm runtime and its programs on machines without an AMD",
                 "GPU, for tools and tests. `rochound softgpu` uses it."],
    },
    "rochound-selftest": {
        "component": "selftest",
        "section": "devel",
        "Depends": "rochound (= {version})",
        "description": "programs that rochound tests a GPU with",
        "long": ["Small HIP programs, compiled for the GPUs that rochound knows. The command",
                 "`rochound selftest` runs, records, captures and replays them on this machine's",
                 "GPU or on a software GPU."],
    },
    # Alone links to the bus: whoever has one host needs none of it.
    "rochound-fleet": {
        "component": "fleet",
        "commands": ["rochoundd", "rochound-fleet"],  # built where NATS is: ./dev root --fleet
        "section": "admin",
        # DuckDB's extension that reads S3 is in the package of its command.
        "Depends": "rochound (= {version}), duckdb, systemd | systemd-standalone-sysusers | systemd-sysusers",
        # Its libraries' names have no version: what was built with one minor version needs that one.
        "same": ["opentelemetry-cpp"],
        "Recommends": "nats-server",
        "Suggests": "victoria-metrics",
        "description": "kernels of many hosts, always on",
        "long": ["A daemon follows all recorded programs of its host and sends sketches of",
                 "their kernels over NATS; an aggregator keeps them as Parquet. Who hangs, what",
                 "became slower, and which build did it."],
        "postinst": FLEET_AFTER,
        "prerm": FLEET_BEFORE,
        "postrm": FLEET_PURGE,
    },
    "librochound-dev": {
        "component": "development",
        "section": "libdevel",
        "all": True,
        "description": "headers to control rochound from a program",
        "long": ["Start, stop and mark a recording from C and C++, read counters of the software",
                 "GPU, write analyzers for `rochound probe`. There is nothing to link."],
    },
    "python3-rochound": {
        "section": "python",
        "all": True,
        "Depends": "python3:any",
        "Recommends": "rochound",
        "description": "control of rochound from Python",
        "long": ["Start, stop and mark the recording of a ROCm program from Python, and ask",
                 "traces: the answers of `rochound explain` and of SQL as tables."],
    },
}

# What lintian would say about a package, and why it is so. `./dev test install-deb` runs lintian; anything else is an error.
OVERRIDES = {
    "bogus-mail-host *": ("The project has no address for mail: its issues are where it is hosted.", PACKAGES),
    "bogus-mail-host-in-debian-changelog *": ("The same.", PACKAGES),
    "hardening-no-bindnow *": ("Functions are looked up when they are first called: a recorder that looks all of them up when it is"
                               " loaded would delay the program.",
                               ("rochound", "rochound-softgpu", "rochound-selftest", "rochound-fleet")),
    "no-manual-page *": ("Its commands have --help; the guide is docs/guides/fleet.md.", ("rochound-fleet",)),
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
        strip(stage)
    for command in package.get("commands", ()):
        (stage / "usr/bin").mkdir(parents=True, exist_ok=True)
        (stage / "usr/bin" / command).symlink_to(f"../lib/rochound/bin/{command}")
    if name == "rochound":
        install_manual(stage)
    if name == "librochound-dev":
        # So that pkg-config knows that the compiler looks there anyway.
        file = prefix / "share/pkgconfig/rochound.pc"
        file.write_text(file.read_text().replace("prefix=${pcfiledir}/../..", "prefix=/usr"))
    if name == "rochound-fleet":
        install_fleet(stage)
    if name == "python3-rochound":
        shutil.copytree(SOURCE / "python/rochound", stage / PYTHON / "rochound", ignore=shutil.ignore_patterns("__pycache__"))
        write(stage / PYTHON / "rochound/_version.py", f'VERSION = "{version()}"\n')
    documents = stage / "usr/share/doc" / name
    write(documents / "copyright", "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
          "Upstream-Name: rochound\n\nFiles: *\n" + licence())
    # The same bytes for the same source: no name and no time in it.
    write(documents / "changelog.gz", gzip.compress(changelog().encode(), mtime=0))
    write(documents / "CHANGELOG.md.gz", gzip.compress((SOURCE / "CHANGELOG.md").read_bytes(), mtime=0))
    write(stage / "usr/share/lintian/overrides" / name, "".join(
        f"# {why}\n{name}: {tag}\n" for tag, (why, names) in OVERRIDES.items() if name in names))
    for folder, folders, files in os.walk(stage):
        for one in folders:
            pathlib.Path(folder, one).chmod(0o755)
        for one in files:
            path = pathlib.Path(folder, one)
            if not path.is_symlink():
                program = path.read_bytes()[:4] == b"\x7fELF" and ".so" not in path.name
                path.chmod(0o755 if program else 0o644)


def strip(stage):
    """CMake strips what it links, and not what hipcc does."""
    for path in sorted(stage.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
            run("strip", "--remove-section=.comment", path)


def files_with_path(tree, path=SOURCE):
    """Files that name the folder that they were built in: they would be others if it was elsewhere."""
    return [str(file.relative_to(tree)) for file in sorted(tree.rglob("*"))
            if file.is_file() and not file.is_symlink() and str(path).encode() in file.read_bytes()]


def refuse_paths(tree):
    found = files_with_path(tree)
    if found:
        sys.exit(f"these files name {SOURCE}, where they were built: {', '.join(found)}")


def install_fleet(stage):
    """The daemon as a service, and the guides."""
    daemon = SOURCE / "src/fleet/daemon"
    write(stage / "usr/lib/systemd/system/rochoundd.service", (daemon / "rochoundd.service").read_text())
    write(stage / "usr/lib/sysusers.d/rochound-fleet.conf", (daemon / "rochound-fleet.sysusers").read_text())
    for guide in sorted((SOURCE / "docs/guides").glob("fleet*.md")):
        write(stage / "usr/share/doc/rochound-fleet" / guide.name, guide.read_text())


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


def changelog():
    """In Debian's form, as its tools read it."""
    moment = email.utils.formatdate(int(os.environ["SOURCE_DATE_EPOCH"]))
    return (f"rochound ({version()}) unstable; urgency=medium\n\n  * What is new is in CHANGELOG.md.gz.\n\n"
            f" -- {MAINTAINER}  {moment.replace('-0000', '+0000')}\n")


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


def same_version(package):
    """A dependency on the minor version of a package that is installed here."""
    told = run("dpkg-query", "--show", "--showformat", "${source:Upstream-Version}", package, capture_output=True, text=True).stdout
    major, minor = told.split(".")[:2]
    return f"{package} (>= {major}.{minor}), {package} (<< {major}.{int(minor) + 1}~)"


def make(name, package, build, output, number):
    folder = output / "work"
    shutil.rmtree(folder, ignore_errors=True)
    stage = folder / name
    stage.mkdir(parents=True)
    fill(name, package, build, stage)
    refuse_paths(stage)
    architecture = "all" if package.get("all") else "amd64"
    depends = ", ".join(one for one in (package.get("Depends", "").format(version=number), *map(same_version, package.get("same", [])),
                                        needed(stage, folder)) if one)
    size = sum(path.lstat().st_size for path in stage.rglob("*") if not path.is_dir()) // 1024
    fields = {"Package": name, "Version": number, "Architecture": architecture, "Maintainer": MAINTAINER, "Installed-Size": size,
              "Depends": depends, "Recommends": package.get("Recommends"), "Suggests": package.get("Suggests"),
              "Section": package["section"], "Priority": "optional", "Description": package["description"]}
    text = "".join(f"{key}: {value}\n" for key, value in fields.items() if value) + "".join(f" {line}\n" for line in package["long"])
    write(stage / "DEBIAN/control", text)
    for script in ("postinst", "prerm", "postrm"):
        if script in package:
            write(stage / "DEBIAN" / script, package[script], 0o755)
    sums = "".join(subprocess.run(["md5sum", path.relative_to(stage)], cwd=stage, check=True, capture_output=True, text=True).stdout
                   for path in sorted(stage.rglob("*")) if path.is_file() and not path.is_symlink() and "DEBIAN" not in path.parts)
    write(stage / "DEBIAN/md5sums", sums)
    # dpkg-deb makes only what is newer that old.
    moment = int(os.environ["SOURCE_DATE_EPOCH"])
    for path in (stage, *stage.rglob("*")):
        os.utime(path, (moment, moment), follow_symlinks=False)
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
    build = options.build.absolute()
    files = []
    for name, package in PACKAGES.items():
        if all((build / "bin" / command).exists() for command in package.get("commands", ())):
            files.append(make(name, package, build, output, number))
        else:
            print(f"{name} is left out: this build does not have {' and '.join(package['commands'])}")
    write_sums(output)
    for file in files:
        print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
