# SPDX-License-Identifier: MIT
"""Tests of what makes portable packages, on small libraries that are compiled here."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import debian  # noqa: E402
import inside  # noqa: E402
import older_versions  # noqa: E402
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "containers"))
import recipe  # noqa: E402

LIBRARY = """
#include <pthread.h>
#include <stdlib.h>
static void* nothing(void* argument) { return argument; }
long Number(const char* text) {
  pthread_t thread;
  if (pthread_create(&thread, 0, nothing, 0) != 0 || pthread_join(thread, 0) != 0) return -1;
  return strtol(text, 0, 10);
}
"""
# Its own strtol says that it was called.
PROGRAM = """
#include <stdio.h>
long Number(const char* text);
extern long older(const char*, char**, int) __asm__("strtol");
long __isoc23_strtol(const char* text, char** end, int base) { return 1000 + older(text, end, base); }
int main(void) { printf("%ld", Number("42")); return 0; }
"""
OLD = {"pthread_create": ["GLIBC_2.2.5"], "pthread_join": ["GLIBC_2.2.5"]}
LIMIT = (2, 31)


class OlderVersionsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "number.c").write_text(LIBRARY)
        (self.folder / "program.c").write_text(PROGRAM)
        self.compile("-shared", "-fPIC", "-D_GNU_SOURCE", "number.c", "-o", "libnumber.so")
        self.library = self.folder / "libnumber.so"
        version, _ = inside.newest_version(self.library)
        if version < (2, 38):
            self.skipTest(f"glibc {version} has no __isoc23_strtol")

    def compile(self, *arguments):
        subprocess.run(["cc", *arguments], cwd=self.folder, check=True)

    def test_versions_become_older_and_the_program_provides_the_rest(self):
        elf = older_versions.Elf(self.library)
        older_versions.rewrite(elf, OLD, LIMIT, {"__isoc23_strtol"})
        self.library.write_bytes(elf.data)
        self.assertLessEqual(inside.newest_version(self.library)[0], LIMIT)
        self.compile("program.c", "libnumber.so", "-Wl,-rpath," + str(self.folder), "-rdynamic", "-o", "program")
        done = subprocess.run([self.folder / "program"], capture_output=True, text=True, check=True)
        self.assertEqual((done.stdout, done.stderr), ("1042", ""))

    def test_what_nobody_has_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "needs __isoc23_strtol@GLIBC_2.38"):
            older_versions.rewrite(older_versions.Elf(self.library), OLD, LIMIT, set())

    def test_a_library_that_the_loader_cannot_tell_apart_is_an_error(self):
        twice = {**OLD, "__isoc23_strtol": ["GLIBC_2.30", "GLIBC_2.3"]}
        with self.assertRaisesRegex(ValueError, "the old libc has GLIBC_2.30, GLIBC_2.3"):
            older_versions.rewrite(older_versions.Elf(self.library), twice, LIMIT, set())

    def test_new_versions_and_other_libraries_are_found(self):
        tree = self.folder / "tree"
        for name in inside.INSIDE:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.library, tree / name)
        findings = "\n".join(inside.check(tree, LIMIT))
        self.assertIn("lib/librochound_agent.so exports Number, which src/agent/agent.map does not list", findings)
        self.assertIn("lib/librochound_agent.so does not export OnLoad", findings)
        self.assertIn("lib/librochound_agent.so needs GLIBC_2.38; GLIBC_2.31 is the limit", findings)
        self.compile("-shared", "-fPIC", "number.c", "-Wl,--no-as-needed", "-lz", "-o", "tree/lib/librochound_agent.so")
        self.assertIn("lib/librochound_agent.so needs libz.so.1", inside.check(tree, LIMIT))


class PathsTest(unittest.TestCase):
    def test_a_program_that_knows_where_it_was_built_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder).resolve()
            tree = folder / "tree"
            (tree / "bin").mkdir(parents=True)
            (folder / "program.c").write_text("#include <stdio.h>\nint main(void) { puts(__FILE__); }\n")
            for name, flags in (("knows", ()), ("does_not", (f"-ffile-prefix-map={folder}/=",))):
                subprocess.run(["cc", *flags, folder / "program.c", "-o", tree / "bin" / name], check=True)
            self.assertEqual(debian.files_with_path(tree, folder), ["bin/knows"])


class TwiceTest(unittest.TestCase):
    def twice(self, content):
        """A project whose only package has one file."""
        with tempfile.TemporaryDirectory() as folder:
            checkout = pathlib.Path(folder) / "checkout"
            checkout.mkdir()
            (checkout / "dev").write_text(f"""#!/bin/sh
cd "$(dirname "$0")" && mkdir -p build/packages && echo {content} > file
tar --sort=name --mtime=@0 -cf - file | gzip -n > build/packages/a.tar.gz && rm file\n""")
            (checkout / "dev").chmod(0o755)
            (checkout / ".gitignore").write_text("build\n")
            for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
                subprocess.run(["git", *words], cwd=checkout, check=True)
            subprocess.run([checkout / "dev"], check=True)
            script = pathlib.Path(__file__).resolve().parent / "twice.sh"
            done = subprocess.run([script, checkout, "all"], env={**os.environ, "TMPDIR": folder}, capture_output=True, text=True,
                                  check=False)
            return done.returncode, done.stdout

    def test_same(self):
        self.assertEqual(self.twice("always the same"), (0, "two builds, same bytes: 1 packages\n"))

    def test_a_package_that_knows_where_it_was_built(self):
        code, said = self.twice("$PWD")
        self.assertEqual(code, 1)
        self.assertIn("a.tar.gz/file", said)
        self.assertIn("1 of 1 packages are not the same", said)


class ContainerTest(unittest.TestCase):
    def test_continued_lines_are_one_and_comments_are_none(self):
        text = "# why\nFROM a\nRUN one \\\n  && two\n\nCMD [\"x\"]\n"
        self.assertEqual([(name, rest.split()) for name, rest in recipe.instructions(text)],
                         [("FROM", ["a"]), ("RUN", ["one", "&&", "two"]), ("CMD", ['["x"]'])])

    def test_what_it_does_not_know_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "does not know HEALTHCHECK"):
            recipe.Container(pathlib.Path("/"), pathlib.Path("."), []).step("HEALTHCHECK", "NONE")


if __name__ == "__main__":
    unittest.main()
