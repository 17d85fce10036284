# SPDX-License-Identifier: MIT
"""Tests of `dev` and of the scripts beside this file, as far as they need neither network nor a new root."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent
DEV = TOOLS.parent / "dev"


def run(*command, **environment):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


class FolderTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)


class AptMirrorTest(FolderTest):
    def mirror(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return run(TOOLS / "apt_mirror.sh", self.folder, ROCHOUND_MIRROR="")

    def test_stanzas(self):
        result = self.mirror("sources.list.d/debian.sources", """\
Types: deb
URIs: https://one.example/debian-security
Suites: bookworm-security

Types: deb
Enabled: no
URIs: https://off.example/debian
Suites: bookworm

# a remark: with a colon
Types: deb
URIs: https://two.example/debian/
Suites: bookworm bookworm-updates
""")
        self.assertEqual(result.stdout, "https://two.example/debian\n")

    def test_lines(self):
        result = self.mirror("sources.list", """\
# deb https://off.example/debian bookworm main
deb https://tool.example/apt stable main
deb [arch=amd64 signed-by=/x] http://three.example/debian bookworm main
""")
        self.assertEqual(result.stdout, "http://three.example/debian\n")

    def test_none(self):
        result = self.mirror("sources.list", "deb https://tool.example/apt stable main\n")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("ROCHOUND_MIRROR", result.stderr)

    def test_override(self):
        self.assertEqual(run(TOOLS / "apt_mirror.sh", ROCHOUND_MIRROR="http://x.example/d/").stdout, "http://x.example/d\n")


class RecipeTest(unittest.TestCase):
    def recipe(self, release):
        return run(TOOLS / "install_packages.sh", "--recipe", release).stdout.split("\n")

    def test_releases_differ(self):
        self.assertEqual(self.recipe("7")[0], "sid")
        self.assertIn("librocthrust-dev", self.recipe("6"))
        self.assertNotIn("librocthrust-dev", self.recipe("5"))
        self.assertIn("Pin: release a=experimental", self.recipe("7"))
        self.assertNotIn("Pin: release a=experimental", self.recipe("6"))

    def test_libraries_only_when_asked_for(self):
        self.assertNotIn("librocblas-dev", self.recipe("7"))
        self.assertIn("librocblas-dev", run(TOOLS / "install_packages.sh", "--recipe", "7", "--libraries").stdout.split("\n"))

    def test_unknown_release(self):
        self.assertNotEqual(run(TOOLS / "install_packages.sh", "4").returncode, 0)
        self.assertIn("7, 6 or 5", run(DEV, "shell", "--rocm", "4", ROCHOUND_INSIDE="").stderr)


class RootStateTest(FolderTest):
    def state(self):
        return run(TOOLS / "root.sh", "--state", "7", ROCHOUND_ROOTS=str(self.folder)).stdout.strip()

    def test_states(self):
        self.assertEqual(self.state(), "missing")
        (self.folder / "rocm7.partial").mkdir()
        self.assertEqual(self.state(), "missing")
        (self.folder / "rocm7/etc/rochound").mkdir(parents=True)
        self.assertEqual(self.state(), "outdated")
        (self.folder / "rocm7/etc/rochound/recipe").write_text("something else\n")
        self.assertEqual(self.state(), "outdated")

    def test_a_missing_root_is_said(self):
        result = run(DEV, "shell", "--rocm", "7", "--", "true", ROCHOUND_INSIDE="", ROCHOUND_ROOTS=str(self.folder))
        self.assertEqual(result.returncode, 2)
        self.assertIn("./dev root --rocm 7", result.stderr)


class DevTest(unittest.TestCase):
    """Runs as if inside a root, which needs none to be entered."""

    def dev(self, *arguments):
        return run(DEV, *arguments, ROCHOUND_INSIDE="rocm7")

    def test_help(self):
        result = self.dev("--help")
        self.assertEqual(result.returncode, 0)
        for command in ("root", "build", "test", "bench", "fuzz", "check", "shell"):
            self.assertIn(f"\n  {command} ", result.stdout)

    def test_mistakes(self):
        for arguments in ([], ["nonsense"], ["test", "--asan", "--tsan"], ["bench"], ["test", "--rocm", "6"]):
            with self.subTest(arguments):
                result = self.dev(*arguments)
                self.assertEqual(result.returncode, 2)
                self.assertNotEqual(result.stderr, "")

    def test_shell_passes_everything_through(self):
        result = self.dev("shell", "--", "sh", "-c", 'echo "$0 $1"; pwd; echo "$PATH"; exit 7', "a  b", "--asan")
        self.assertEqual(result.returncode, 7)
        lines = result.stdout.split("\n")
        self.assertEqual(lines[0], "a  b --asan")
        self.assertTrue(lines[1].startswith(str(DEV.parent)))
        self.assertTrue(lines[2].startswith(f"{DEV.parent}/build/rocm7/bin:"))

    def test_shell_reads_standard_input(self):
        result = subprocess.run([str(DEV), "shell", "--tsan", "--", "cat"], input="hello", capture_output=True, text=True,
                                check=False, env={**os.environ, "ROCHOUND_INSIDE": "rocm7"})
        self.assertEqual(result.stdout, "hello")


if __name__ == "__main__":
    unittest.main()
