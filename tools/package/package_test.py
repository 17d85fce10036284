# SPDX-License-Identifier: MIT
"""Tests of what makes portable packages, on small libraries that are compiled here."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import inside  # noqa: E402
import older_versions  # noqa: E402

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


if __name__ == "__main__":
    unittest.main()
