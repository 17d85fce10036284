#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Installs the headers into a folder and builds a program with them as others would.

usage: found.py --build FOLDER --version VERSION cmake|pkg-config
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = """cmake_minimum_required(VERSION 3.16)
project(somebody C)
find_package(rochound {version} REQUIRED CONFIG)
add_executable(program {source})
target_link_libraries(program PRIVATE rochound::rochound)
"""


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, text=True, capture_output=True, **more).stdout.strip()


def by_cmake(prefix, work, version):
    (work / "CMakeLists.txt").write_text(PROJECT.format(version=version, source=HERE / "program.c"))
    run("cmake", "-G", "Ninja", "-S", work, "-B", work / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", work / "build")
    return work / "build/program"


def by_pkg_config(prefix, work, version):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "share/pkgconfig")}
    told = run("pkg-config", "--modversion", "rochound", env=environment)
    if told != version:
        sys.exit(f"pkg-config says {told}, and this is {version}")
    flags = run("pkg-config", "--cflags", "--libs", "rochound", env=environment).split()
    run("cc", HERE / "program.c", "-o", work / "program", *flags)
    return work / "program"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("way", choices=("cmake", "pkg-config"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rochound-headers-") as folder:
        prefix, work = pathlib.Path(folder) / "installed", pathlib.Path(folder) / "work"
        work.mkdir()
        run("cmake", "--install", options.build, "--component", "development", "--prefix", prefix)
        try:
            program = (by_cmake if options.way == "cmake" else by_pkg_config)(prefix, work, options.version)
            answer = run(program)
        except subprocess.CalledProcessError as failed:
            sys.exit(f"{failed.cmd}: {failed.stdout}{failed.stderr}")
    print(answer)
    return 0 if answer == "not recording" else 1


if __name__ == "__main__":
    sys.exit(main())
