# SPDX-License-Identifier: MIT
"""Proves that each check can fail, and passes on what is right, in small projects made for the purpose."""

import graphlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import docs
import format as format_check
import includes
import licence
import locks
import needed
import packages
import sizes
import symbols
import tidy
import words
from project import Project, without_comments


class CheckTest(unittest.TestCase):
    def setUp(self):
        # One folder deeper, so that the project has a parent of its own.
        self.folder = pathlib.Path(tempfile.mkdtemp(), "project")
        self.addCleanup(shutil.rmtree, self.folder.parent)
        self.folder.mkdir()

    def project(self, files, build=None):
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return Project(self.folder, build)

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", self.folder, *arguments],
                       check=True, capture_output=True)

    def assert_one(self, findings, *parts):
        self.assertEqual(len(findings), 1, findings)
        for part in parts:
            self.assertIn(part, findings[0])


class ProjectTest(CheckTest):
    def test_build_output_and_ignored_files_are_not_ours(self):
        files = {"a.h": "", "build/b.h": "", ".gitignore": "/build/\n*.tmp\n", "c.tmp": ""}
        plain = self.project(files).files
        self.assertIn(pathlib.PurePosixPath("a.h"), plain)
        self.assertNotIn(pathlib.PurePosixPath("build/b.h"), plain)
        self.git("init")
        self.git("add", "a.h")
        self.assertEqual([str(path) for path in Project(self.folder).files], [".gitignore", "a.h"])

    def test_comments_are_blanked_and_lines_kept(self):
        self.assertEqual(without_comments('a /* b\n */ c // d\n"//e" f'), 'a \n c \n"//e" f')


class FormatTest(CheckTest):
    def test_fails_and_fixes(self):
        project = self.project({".clang-format": "BasedOnStyle: Google\n", "a.cpp": "int  a ;\n", "b.cpp": "int b;\n"})
        self.assert_one(format_check.run(project), "a.cpp:1")
        self.assertEqual(format_check.run(project, fix=True), [])
        self.assertEqual(project.text("a.cpp"), "int a;\n")
        self.assertEqual(format_check.run(project), [])


class LicenceTest(CheckTest):
    def test_fails_without_the_line(self):
        line = "SPDX-License-Identifier: MIT\n"
        self.assert_one(licence.run(self.project(
            {"a.cpp": f"// {line}", "b.sh": f"#!/bin/sh\n# {line}", "c.py": "x = 1\n", "d.md": "text\n"})), "c.py")


class SizesTest(CheckTest):
    def test_long_files(self):
        self.assert_one(sizes.run(self.project({"a.cpp": "\n" * 801, "b.cpp": "\n" * 800})), "a.cpp:800", "801")

    def test_long_lines(self):
        words = "word " * 30
        pages = {"a.md": f"short\n{words}\n", "b.md": f"| {words} |\n```\n{words}\n```\n- {'x' * 150}\n",
                 "docs/reference/c.md": words}
        self.assert_one(sizes.run(self.project(pages)), "a.md:2", "150 columns")


class IncludesTest(CheckTest):
    def findings(self, path, line, others=()):
        files = {name: "" for name in ("src/base/a.h", "src/softgpu/a.h", "src/cli/a.h", "src/store/a.h", *others)}
        return includes.run(self.project({**files, path: f"\n{line}\n"}))

    def test_the_table_has_no_circle(self):
        graphlib.TopologicalSorter({**includes.OURS, **includes.PARTS}).prepare()
        with self.assertRaises(graphlib.CycleError):
            graphlib.TopologicalSorter({**includes.OURS, "base": ["cli"]}).prepare()

    def test_direction(self):
        self.assertEqual(self.findings("src/cli/x.cpp", '#include "base/a.h"'), [])
        self.assertEqual(self.findings("src/cli/x.cpp", '#include "cli/a.h"'), [])
        self.assert_one(self.findings("src/cli/x.cpp", '#include "softgpu/a.h"'), "src/cli/x.cpp:2", "softgpu")
        self.assertEqual(self.findings("src/cli/x.cpp", '// #include "softgpu/a.h"'), [])

    def test_base_includes_nothing_of_ours_or_others(self):
        self.assert_one(self.findings("src/base/x.h", '#include "store/a.h"'), "base may not include store/a.h")
        self.assert_one(self.findings("src/base/x.h", "#include <fmt/core.h>"), "<fmt/core.h>")
        self.assertEqual(self.findings("src/base/x.h", "#include <vector>"), [])

    def test_must_be_relative_to_src(self):
        self.assert_one(self.findings("src/base/x.cpp", '#include "a.h"'), "relative to src/")
        self.assert_one(self.findings("src/base/x.cpp", '#include "../base/a.h"'), "")

    def test_foreign_headers(self):
        for header, wrong, right in [("llvm/MC/MCInst.h", "cli", "codeobj"), ("llvm-c/Core.h", "base", "softgpu/isa"),
                                     ("sqlite3.h", "softgpu", "store"), ("duckdb.hpp", "analysis", "store"),
                                     ("hsa/hsa.h", "cli", "softgpu"), ("hip/hip_runtime.h", "softgpu", "agent"),
                                     ("CLI/CLI.hpp", "store", "cli")]:
            with self.subTest(header):
                self.assert_one(self.findings(f"src/{wrong}/x.cpp", f"#include <{header}>"), header)
                (self.folder / f"src/{wrong}/x.cpp").unlink()
                self.assertEqual(self.findings(f"src/{right}/x.cpp", f"#include <{header}>"), [])
                (self.folder / f"src/{right}/x.cpp").unlink()

    def test_the_shim_stays_alone(self):
        shim = "src/softgpu/shim/x.cpp"
        self.assert_one(self.findings(shim, "#include <llvm-c/Core.h>"), "llvm-c")
        self.assert_one(self.findings(shim, '#include "base/a.h"'), "softgpu/shim may not include base/a.h")
        others = ("src/softgpu/core_interface.h", "src/softgpu/driver/a.h", "src/softgpu/shim/a.h")
        self.assertEqual(self.findings(shim, '#include "softgpu/core_interface.h"', others), [])
        self.assertEqual(self.findings(shim, '#include "softgpu/shim/a.h"', others), [])
        self.assert_one(self.findings(shim, '#include "softgpu/driver/a.h"', others), "softgpu/driver/a.h")
        (self.folder / shim).unlink()
        self.assertEqual(self.findings("src/softgpu/shim/x_test.cpp", '#include "base/a.h"'), [])

    def test_gpu_programs_include_hip(self):
        self.assertEqual(self.findings("src/softgpu/bench/x.hip", "#include <hip/hip_runtime.h>"), [])

    def test_tests_only(self):
        self.assert_one(self.findings("src/base/x.cpp", "#include <gtest/gtest.h>"), "tests")
        (self.folder / "src/base/x.cpp").unlink()
        self.assertEqual(self.findings("src/base/x_test.cpp", "#include <gtest/gtest.h>"), [])

    def test_folder_without_a_row(self):
        self.assert_one(self.findings("src/attic/x.cpp", "#include <vector>"), "src/attic")


class PackagesTest(CheckTest):
    """A root as tools/install_packages.sh leaves it, and the list that is in the checkout now."""

    def setUp(self):
        super().setUp()
        self.place = os.environ.get("ROCHOUND_INSIDE", "")
        os.environ["ROCHOUND_INSIDE"] = "rocm5"
        self.addCleanup(os.environ.update, ROCHOUND_INSIDE=self.place)
        tools = self.folder / "tools"
        tools.mkdir()
        shutil.copy(pathlib.Path(__file__).parents[1] / "install_packages.sh", tools)
        self.record = self.folder / "record"
        self.record.mkdir()
        (self.record / "base-packages").write_text("apt\nca-certificates\n")

    def findings(self, listed, manual, installed):
        project = self.project({"tools/packages.txt": listed})
        return packages.run(project, self.record, set(manual), set(installed))

    def test_the_list_and_nothing_else(self):
        self.assertEqual(self.findings("cmake\nrocm  7\n", ["apt", "cmake"], ["apt", "cmake", "libfoo"]), [])

    def test_taken_out_of_the_list(self):
        self.assert_one(self.findings("cmake\n", ["cmake", "duckdb"], ["cmake", "duckdb"]), "duckdb: installed by hand")

    def test_added_to_the_list(self):
        self.assert_one(self.findings("cmake\nduckdb\n", ["cmake"], ["cmake"]), "duckdb: in tools/packages.txt")

    def test_libraries_are_wanted_where_they_were_asked_for(self):
        listed = "cmake\nlibrocblas-dev  5 libraries\n"
        self.assertEqual(self.findings(listed, ["cmake"], ["cmake"]), [])
        (self.record / "libraries").touch()
        self.assert_one(self.findings(listed, ["cmake"], ["cmake"]), "librocblas-dev: in tools/packages.txt")

    def test_groups_are_apart(self):
        listed = "cmake\nlibrocblas-dev  5 libraries\nnats-server  5 fleet\n"
        (self.record / "libraries").touch()
        here = ["cmake", "librocblas-dev"]
        self.assertEqual(self.findings(listed, here, here), [])
        (self.record / "fleet").touch()
        self.assert_one(self.findings(listed, here, here), "nats-server: in tools/packages.txt")

    def test_a_row_of_another_group_does_not_change_the_recipe(self):
        def recipe(listed, *groups):
            self.project({"tools/packages.txt": listed})
            return packages.lines(self.folder / "tools/install_packages.sh", "--recipe", "5", *groups)
        before = recipe("cmake\nlibrocblas-dev  5 libraries\n", "--libraries")
        longer = "cmake\nlibrocblas-dev  5 libraries\nnats-server  5 fleet\n"
        self.assertEqual(recipe(longer, "--libraries"), before)
        self.assertEqual(recipe(longer, "--libraries", "--fleet"), before | {"nats-server"})

    def test_this_root_without_one_of_its_packages(self):
        """The real list and the real root, with one row taken out."""
        if not self.place or not (packages.RECORD / "base-packages").exists():
            self.skipTest("this is no root that ./dev root made")
        os.environ["ROCHOUND_INSIDE"] = self.place
        tools = pathlib.Path(__file__).parents[1]
        listed = (tools / "packages.txt").read_text()
        self.assertEqual(packages.run(self.project({"tools/packages.txt": listed})), [])
        shorter = "".join(line for line in listed.splitlines(keepends=True) if not line.startswith("libsqlite3-dev"))
        self.assert_one(packages.run(self.project({"tools/packages.txt": shorter})), "libsqlite3-dev: installed by hand")


class SymbolsTest(CheckTest):
    SCRIPT = "{ global: wanted; /* both; */ other; local: *; };\n"

    def build(self, source, script_option="-Wl,--version-script=../src/a.map"):
        project = self.project({"src/a.map": self.SCRIPT, "src/a.c": source,
                                "build/build.ninja": "build lib/liba.so: C_SHARED_LIBRARY_LINKER__a x.o\n"
                                                     f"  LINK_FLAGS = {script_option}\n\n"}, self.folder / "build")
        (self.folder / "build/lib").mkdir()
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.folder / "build/lib/liba.so", self.folder / "src/a.c"],
                       check=True)
        return symbols.run(project)

    def test_right(self):
        self.assertEqual(self.build("int wanted(void) { return 1; } int other;"), [])

    def test_leak(self):
        self.assert_one(self.build("int wanted, other; void leaked(void) {}"), "exports leaked")

    def test_missing(self):
        self.assert_one(self.build("int wanted;"), "lists other")

    def test_no_script(self):
        findings = self.build("int wanted;", "")
        self.assertIn("lib/liba.so is linked without a version script", findings)
        self.assertIn("src/a.map: no library is linked with it", findings)

    def test_modules_are_fixtures(self):
        self.assertEqual(symbols.linked_with("build lib/libb.so: C_MODULE_LIBRARY_LINKER__b b.o\n"), {})

    def test_nothing_built(self):
        self.assert_one(symbols.run(self.project({}, self.folder / "build")), "./dev build")


class NeededTest(CheckTest):
    def build(self, *libraries):
        project = self.project({"a.c": "int a;"}, self.folder / "build")
        (self.folder / "build/lib").mkdir(parents=True)
        for name in needed.ALWAYS:
            subprocess.run(["cc", "-shared", "-fPIC", "-Wl,--no-as-needed", "-o", self.folder / "build" / name, self.folder / "a.c",
                            *libraries], check=True)
        return needed.run(project)

    def test_libc_alone(self):
        self.assertEqual(self.build(), [])

    def test_another_library(self):
        self.assertEqual(self.build("-lstdc++"), [f"{name} needs libstdc++.so.6" for name in needed.ALWAYS])

    def test_nothing_built(self):
        self.assertIn("run ./dev build first", needed.run(self.project({}, self.folder / "build"))[0])


class DocsTest(CheckTest):
    def findings(self, readme, architecture="`src/base/` and `docs/`\n"):
        return docs.run(self.project({"README.md": readme, "docs/architecture.md": architecture, "src/base/a.h": ""}))

    def test_right(self):
        self.assertEqual(self.findings("See `src/base/a.h`, `src/*/a.h`, `build/rocm7`, `tests/fuzz/NAME` and "
                                       "[this](docs/architecture.md#x).\n"), [])

    def test_path(self):
        self.assert_one(self.findings("one\ntwo `src/base/gone.h`\n"), "README.md:2", "src/base/gone.h")
        self.assert_one(self.findings("run `./tools/gone.sh --now`\n"), "gone.sh")

    def test_link(self):
        self.assert_one(self.findings("[x](docs/gone.md)\n"), "docs/gone.md")

    def test_architecture_names_every_folder(self):
        self.assert_one(self.findings("", "`docs/`\n"), "does not name the folder src/base/")

    def test_architecture_names_nothing_else(self):
        findings = self.findings("", "`src/base/` `docs/` `src/gone/`\n")
        self.assertTrue(any("names the folder src/gone/" in finding for finding in findings), findings)

    def test_architecture_missing(self):
        self.assert_one(docs.run(self.project({"README.md": ""})), "architecture.md is missing")

    def test_tests_have_a_line_each(self):
        def findings(rows):
            return docs.run(self.project({"docs/architecture.md": "`docs/` `tests/`\n", "tests/README.md": rows,
                                          "tests/CMakeLists.txt": "", "tests/fuzz/a.cpp": "", "tests/golden/isa/b.txt": ""}))

        both = "| folder | real |\n|---|---|\n| `fuzz` | readers |\n| `golden` | nothing |\n"
        self.assertEqual(findings(both), [])
        self.assert_one(findings(both.replace("| `golden` | nothing |\n", "")), "no line for the folder tests/golden")
        self.assert_one(findings(both + "| `gone` | nothing |\n"), "a line for tests/gone")


class WordsTest(CheckTest):
    APT = "Types: deb\nURIs: https://registry.example/debian\n"

    def test_registry_host(self):
        project = self.project({"a.sh": "x\ncurl registry.example/debian\n", "b.sh": "curl other.example\n"})
        self.assert_one(words.run(project, self.APT), "a.sh:2", "registry.example")

    def test_place_of_the_checkout(self):
        parent = self.folder.parent
        self.assert_one(words.run(self.project({"a.md": f"in {parent}/elsewhere\n", "b.md": "in /tmp/x\n"}), ""), "a.md:1")

    def test_home_of_root(self):
        home = "/".join(["", "root", "x"])
        self.assert_one(words.run(self.project({"a.md": f"in {home}\n", "b.sh": "cd $root/x; cd a/root/x\n"}), ""), "a.md:1")

    def test_machine_settings_are_read(self):
        os.environ["ROCHOUND_HOST_APT"] = "deb http://outer.example/debian sid main"
        self.addCleanup(os.environ.pop, "ROCHOUND_HOST_APT")
        self.assertIn("outer.example", words.registry_hosts(words.machine_apt_settings()))


class LocksTest(CheckTest):
    ANNOTATED = """#pragma once
#define ROCHOUND_CAPABILITY(kind) __attribute__((capability(kind)))
#define ROCHOUND_GUARDED_BY(lock) __attribute__((guarded_by(lock)))
struct ROCHOUND_CAPABILITY("mutex") Mutex {
  void lock() __attribute__((acquire_capability()));
  void unlock() __attribute__((release_capability()));
};
struct Count {
  Mutex mutex;
  int value ROCHOUND_GUARDED_BY(mutex) = 0;
};
"""

    def locks(self, *texts, unity=False):
        names = [f"src/{'abc'[i]}.cpp" for i in range(len(texts))]
        files = dict(zip(names, texts))
        compiled = [self.folder / name for name in names]
        if unity:
            files["build/Unity/unity.cxx"] = "".join(f'#include "{path}"\n' for path in compiled)
            compiled = [self.folder / "build/Unity/unity.cxx"]
        entries = [{"directory": str(self.folder), "file": str(path), "command": f"c++ -Isrc -Wfoo -o x.o -c {path}"}
                   for path in compiled]
        files |= {"src/count.h": self.ANNOTATED, "build/compile_commands.json": json.dumps(entries)}
        return locks.run(self.project(files, self.folder / "build"))

    GUARDED = '#include "count.h"\nvoid F(Count& c) { c.mutex.lock(); ++c.value; c.mutex.unlock(); }\n'
    UNGUARDED = '#include "count.h"\nvoid G(Count& c) {\n  ++c.value;\n}\n'

    def test_unguarded_access(self):
        self.assertEqual(self.locks(self.GUARDED), [])
        self.assert_one(self.locks(self.GUARDED, self.UNGUARDED), "src/b.cpp:3", "'value' requires holding mutex 'c.mutex'")

    def test_unity_build(self):
        self.assert_one(self.locks(self.GUARDED, self.UNGUARDED, unity=True), "src/b.cpp:3", "requires holding")

    def test_lock_that_is_not_released(self):
        text = '#include "count.h"\nvoid H(Count& c) {\n  c.mutex.lock();\n}\n'
        self.assert_one(self.locks(text), "src/a.cpp:4", "still held at the end of function")

    def test_file_that_does_not_compile(self):
        self.assert_one(self.locks('#include "count.h"\nint a = Count().value + b;\n'), "src/a.cpp:2", "undeclared identifier")

    def test_nothing_built(self):
        self.assert_one(locks.run(self.project({}, self.folder / "build")), "./dev build")


class TidyTest(CheckTest):
    def tidy(self, text, **options):
        command = f'[{{"directory": "{self.folder}", "file": "a.cpp", "command": "c++ -c a.cpp"}}]'
        project = self.project({".clang-tidy": "Checks: '-*,modernize-use-nullptr'\nWarningsAsErrors: '*'\n",
                                "a.cpp": text, "build/compile_commands.json": command}, self.folder / "build")
        self.notes = []
        return tidy.run(project, note=self.notes.append, **options)

    def test_fails(self):
        self.assertEqual(self.tidy("int* a = nullptr;\n"), [])
        self.assert_one(self.tidy("int* a = 0;\n"), "a.cpp:1", "modernize-use-nullptr")

    def test_looks_at_each_file_of_a_unity_build_alone(self):
        unity = self.folder / "build/a.dir/Unity/unity_0_cxx.cxx"
        command = f'[{{"directory": "{self.folder}", "file": "{unity}", "command": "c++ -c {unity}"}}]'
        project = self.project({".clang-tidy": "Checks: '-*,modernize-use-nullptr'\nWarningsAsErrors: '*'\n",
                                "a.cpp": "int* a = nullptr;\n", "b.cpp": "int* b = a;\n",
                                str(unity.relative_to(self.folder)): "".join(
                                    f'#include "{self.folder}/{name}.cpp"\n' for name in "ab"),
                                "build/compile_commands.json": command}, self.folder / "build")
        self.assert_one(tidy.run(project, note=lambda text: None), "b.cpp:1", "undeclared identifier")

    def test_what_it_left_out_is_a_failure(self):
        self.assert_one(self.tidy("int* a = nullptr;\n", seconds=-1), "1 of 1 changed files not begun within -1 s")
        self.assertIn("0 of 1 changed files", self.notes[0])
        self.assertEqual(self.tidy("int* a = nullptr;\n"), [])

    def test_only_what_changed(self):
        (self.folder / ".gitignore").write_text("/build/\n")
        self.git("init")
        self.tidy("int* a = 0;\n")
        self.git("add", ".")
        self.git("commit", "-m", "one")
        (self.folder / "b.h").write_text("\n")
        self.git("add", ".")
        self.git("commit", "-m", "two")
        project = Project(self.folder)
        self.assertEqual([str(path) for path in tidy.changed(project)], ["b.h"])
        self.assertEqual(tidy.units_of(project, [pathlib.PurePosixPath("a.h")], {self.folder / "a.cpp"}),
                         [self.folder / "a.cpp"])


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
