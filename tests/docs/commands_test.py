#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""commands.py and options.py find what a page tells people to type, promises.py what it promises; they fail when it is wrong."""

import contextlib
import io
import pathlib
import tempfile
import time
import unittest

import c_api
import commands
import environment
import options
import promises

GOOD = """# A page

```sh
echo one > file
./dev build && test -f README.md
```

<!-- not run: it needs a GPU -->
```sh
no-such-command
```

```text
no-such-command
```
"""


class CommandsTest(unittest.TestCase):
    def run_page(self, text):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            checkout = folder / "checkout"
            checkout.mkdir()
            (checkout / "README.md").write_text(text)
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                code = commands.main(["--checkout", str(checkout), "--bin", "/usr/bin", "--scratch", str(folder / "scratch"),
                                      str(checkout / "README.md")])
            return code, said.getvalue()

    def test_what_is_needed_and_what_is_left_running(self):
        page = "<!-- needs no-such-program: it is far away -->\n```sh\nfalse\n```\n<!-- needs sh /etc/passwd: -->\n```sh\ntrue\n```\n"
        code, said = self.run_page(page.replace("passwd: -->", "passwd: every system has them -->"))
        self.assertEqual(code, 0, said)
        self.assertIn("1 of 2 blocks run", said)
        self.assertIn("there is no no-such-program: it is far away", said)
        with tempfile.NamedTemporaryFile() as mark:
            self.assertEqual(self.run_page(f"```sh\nsleep 1000 > /dev/null 2>&1 & echo $! > {mark.name}\n```\n")[0], 0)
            process = pathlib.Path("/proc", pathlib.Path(mark.name).read_text().strip(), "stat")
            deadline = time.monotonic() + 10
            while process.exists() and process.read_text().rsplit(")", 1)[1].split()[0] != "Z" and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertLess(time.monotonic(), deadline, "it is still running")

    def assert_fails(self, text, *words):
        code, said = self.run_page(text)
        self.assertEqual(code, 1, said)
        for word in words:
            self.assertIn(word, said)

    def test_runs_what_is_to_be_run_and_counts_the_rest(self):
        code, said = self.run_page(GOOD)
        self.assertEqual(code, 0, said)
        self.assertIn("1 of 2 blocks run", said)
        self.assertIn("line 9 not run: it needs a GPU", said)

    def test_blocks_share_a_folder(self):
        code, said = self.run_page("```sh\necho text > file\n```\n\n```sh\ngrep text file\n```\n")
        self.assertEqual(code, 0, said)

    def test_a_wrong_command_fails(self):
        self.assert_fails(GOOD.replace("echo one", "rochound-nonsense one"), "line 3", "exit code 127", "rochound-nonsense")

    def test_a_wrong_command_in_the_middle_fails(self):
        self.assert_fails("```sh\ntrue\nfalse\ntrue\n```\n", "line 1", "exit code 1")

    def test_other_text_than_promised_fails(self):
        page = "<!-- prints: two -->\n```sh\necho {}\n```\n"
        self.assertEqual(self.run_page(page.format("one two"))[0], 0)
        self.assert_fails(page.format("one"), "does not print 'two'")

    def test_output_that_is_shown_is_real(self):
        page = "```sh\n{}\n```\n\n<!-- output of the block above -->\n```text\n{}\n```\n"
        real = "printf 'first\\nwaits 12.5 ms (3%%) at 0x7f00\\nthird\\n'"
        self.assertEqual(self.run_page(page.format(real, "first\n...\nthird"))[0], 0)
        self.assertEqual(self.run_page(page.format(real, "waits 2 s (40%) at 0x1a"))[0], 0)
        self.assert_fails(page.format(real, "waits 2 s (40%) here"), "does not print the line 'waits 2 s (40%) here'")
        self.assert_fails(page.format(real, "third\nfirst"), "does not print the line 'first'")
        self.assert_fails("<!-- output of the block above -->\n```text\nfirst\n```\n", "no block above")

    def test_another_exit_code_than_promised_fails(self):
        page = "<!-- exit code 134: it crashes -->\n```sh\nexit {}\n```\n"
        self.assertEqual(self.run_page(page.format(134))[0], 0)
        self.assert_fails(page.format(0), "exit code 0 instead of 134")

    def test_every_fence_says_what_it_is(self):
        self.assert_fails("```\nrochound doctor\n```\n", "line 1", "language")

    def test_what_is_not_run_has_a_reason(self):
        self.assert_fails("<!-- not run -->\n```sh\ntrue\n```\n", "not understood")
        self.assert_fails("<!-- not run: -->\n```sh\ntrue\n```\n", "not understood")

    def test_a_comment_belongs_to_a_fence(self):
        self.assert_fails("<!-- not run: lost -->\n\n```sh\ntrue\n```\n", "straight above")
        self.assert_fails("<!-- not run: it is no command -->\n```text\ntrue\n```\n", "only blocks of commands")


ROCHOUND = """#!/bin/sh
case "$*" in
  --help) printf '  run     Record\\n' ;;
  "run --help") echo "--last 30s  --start-off" ;;
  *) exit 2 ;;
esac
"""


class OptionsTest(unittest.TestCase):
    def problems(self, text):
        with tempfile.TemporaryDirectory() as name:
            rochound = pathlib.Path(name) / "rochound"
            rochound.write_text(ROCHOUND)
            rochound.chmod(0o755)
            return options.problems_in(str(rochound), "page", text)

    def test_what_is_there_is_fine(self):
        self.assertEqual(self.problems("Type `rochound run --last 30s -- ./a --nonsense`. Then rochound says why.\n"
                                       "  rochound run --start-off -- ./server &\n"), [])

    def test_an_option_that_is_not_there_is_found(self):
        self.assertEqual(self.problems("a\nsee `rochound run --frist 1s`"), ["page:2: rochound run has no --frist"])
        self.assertEqual(self.problems("use rochound run --start"), ["page:1: rochound run has no --start"])

    def test_a_command_that_is_not_there_is_found(self):
        self.assertEqual(self.problems("`rochound gaps trace.rpd`"), ["page:1: there is no rochound gaps"])


class EnvironmentTest(unittest.TestCase):
    SOURCE = 'getenv("ROCHOUND_LOG"); Format("ROCHOUND_PROBE_GROUPS_{}", axis); "ROCHOUND_LOG: not a level"; "a ROCHOUND_OTHER"'

    def test_names_are_whole_strings_or_put_together(self):
        self.assertEqual(environment.names_in(self.SOURCE), {"ROCHOUND_LOG", "ROCHOUND_PROBE_GROUPS_*"})

    def test_what_is_missing_on_either_side_is_found(self):
        used = {"ROCHOUND_LOG": "a.cpp", "ROCHOUND_PROBE_GROUPS_*": "b.cpp"}
        self.assertEqual(environment.problems(used, ["ROCHOUND_LOG", "ROCHOUND_PROBE_GROUPS_X"]), [])
        self.assertEqual(environment.problems(used, ["ROCHOUND_PROBE_GROUPS_X"]),
                         ["a.cpp: ROCHOUND_LOG is not described in src/cli/variables.cpp"])
        self.assertEqual(len(environment.problems(used, ["ROCHOUND_LOG", "ROCHOUND_PROBE_GROUPS_X", "ROCHOUND_GONE"])), 1)


class CApiTest(unittest.TestCase):
    PAGE = "| [a.h](../a.h) | what | `rochound_start` | 0.1.0 |\n"

    def test_versions_are_compared(self):
        header = "/* Since {}: all below. */\nvoid rochound_start(void);\nstatic inline int rochound_find_(void) {{"
        self.assertEqual(c_api.problems({"a.h": header.format("0.1.0")}, self.PAGE), ([], 1))
        self.assertEqual(len(c_api.problems({"a.h": header.format("0.2.0")}, self.PAGE)[0]), 1)
        self.assertTrue(c_api.problems({"a.h": "void rochound_start(void);"}, self.PAGE)[0])
        self.assertTrue(c_api.problems({"a.h": header.format("0.1.0") + "\nvoid rochound_stop(void);"}, self.PAGE)[0])
        self.assertTrue(c_api.problems({"a.h": ""}, self.PAGE)[0])


class Promises(unittest.TestCase):
    PAGE = "text\n\n| promise | held by |\n|---|---|\n| one | `a.b`, `label` |\n| two | |\n| three | `gone` |\n"

    def test_every_promise_needs_a_test_that_exists(self):
        found = promises.promises(self.PAGE)
        self.assertEqual(found, [("one", ["a.b", "label"]), ("two", []), ("three", ["gone"])])
        wrong = promises.problems(found, {"a.b"}, {"label"})
        self.assertEqual(wrong, ["nothing holds: two", "there is no test and no label gone, which is to hold: three"])
        self.assertEqual(promises.problems(found[:1], {"a.b"}, {"label"}), [])

    def test_a_page_without_promises_is_wrong(self):
        self.assertTrue(promises.problems(promises.promises("text"), set(), set()))


if __name__ == "__main__":
    unittest.main()
