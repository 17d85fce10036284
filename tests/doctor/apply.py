# SPDX-License-Identifier: MIT
"""rochound doctor apply and undo: dry by default, exact, harmless to other files, and gone without a trace."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile


def snapshot(folder):
    """Every path with its type, mode and content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        kind = "link" if path.is_symlink() else "folder" if path.is_dir() else "file"
        content = os.readlink(path) if kind == "link" else path.read_bytes() if kind == "file" else b""
        found[str(path.relative_to(folder))] = (kind, path.lstat().st_mode, content)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    rochound = parser.parse_args().rochound
    problems = []

    def expect(fine, what):
        if not fine:
            problems.append(what)

    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder) / "home"
        home.mkdir()
        environment = {name: value for name, value in os.environ.items() if name != "XDG_CONFIG_HOME"}
        environment["HOME"] = str(home)

        def doctor(*arguments):
            return subprocess.run([rochound, "doctor", *arguments], capture_output=True, text=True, timeout=60,
                                  env=environment, cwd=home)

        place = home / ".config/environment.d/60-rochound-no-sdma.conf"
        for existing in ((), (".config",), (".config", ".config/environment.d")):
            for inner in existing:
                (home / inner).mkdir(exist_ok=True)
            if existing:
                (home / existing[-1] / "theirs.conf").write_text("EDITOR=vi\n")
            before = snapshot(home)
            done = doctor("apply", "no-sdma")
            expect(done.returncode == 0 and "HSA_ENABLE_SDMA=0" in done.stdout and str(place) in done.stdout
                   and "Nothing was done yet" in done.stdout, f"dry run: {done}")
            expect(snapshot(home) == before, "the dry run changed something")
            done = doctor("apply", "no-sdma", "--yes")
            expect(done.returncode == 0 and place.exists(), f"apply: {done}")
            lines = [line for line in place.read_text().splitlines() if not line.startswith("#")]
            expect(lines == ["HSA_ENABLE_SDMA=0"], f"the profile has {lines}")
            expect("has it already" in doctor("apply", "no-sdma", "--yes").stdout, "a second apply wants to write again")
            applied = snapshot(home)
            done = doctor("undo", "no-sdma")
            expect(done.returncode == 0 and "Nothing was done yet" in done.stdout and snapshot(home) == applied,
                   f"dry undo: {done}")
            done = doctor("undo", "no-sdma", "--yes")
            expect(done.returncode == 0 and snapshot(home) == before, f"undo left a trace: {done} {snapshot(home)}")
            expect(doctor("undo", "no-sdma", "--yes").returncode == 1, "undoing what is not there must fail")

        # Two profiles: the folder stays as long as one needs it.
        for path in sorted(home.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        doctor("apply", "no-sdma", "--yes")
        doctor("apply", "no-svm", "--yes")
        doctor("undo", "no-sdma", "--yes")
        expect((place.parent / "60-rochound-no-svm.conf").exists(), "undoing one profile removed another")
        doctor("undo", "no-svm", "--yes")

        # Somebody else's file, and one that was edited, stay.
        theirs = home / "theirs.sh"
        theirs.write_text("export A=1\n")
        for command in ("apply", "undo"):
            done = doctor(command, "no-sdma", "--to", str(theirs), "--yes")
            expect(done.returncode == 1 and theirs.read_text() == "export A=1\n", f"{command} of another's file: {done}")
        doctor("apply", "no-sdma", "--to", "mine.sh", "--yes")
        mine = home / "mine.sh"
        mine.write_text(mine.read_text() + "export MORE=1\n")
        expect(doctor("undo", "no-sdma", "--to", "mine.sh", "--yes").returncode == 1 and mine.exists(),
               "an edited profile was removed")
        mine.unlink()

        # A shell takes the values as they are, whatever they hold.
        (home / "matrix").write_text("odd: PYTORCH_HIP_ALLOC_CONF=a'b\"c;d -HSA_XNACK\n")
        done = doctor("apply", "odd", "--matrix", "matrix")
        expect(done.returncode == 1 and ".sh" in done.stderr, f"environment.d cannot unset: {done}")
        doctor("apply", "odd", "--matrix", "matrix", "--to", "odd.sh", "--yes")
        shell = subprocess.run(["sh", "-c", ". ./odd.sh; echo \"$PYTORCH_HIP_ALLOC_CONF ${HSA_XNACK-gone}\""], text=True,
                               capture_output=True, cwd=home, env={**environment, "HSA_XNACK": "1"})
        expect(shell.stdout == "a'b\"c;d gone\n", f"the shell read {shell}")

        # So does one that reads a file of environment.d as the command advises.
        values = {"SEMICOLON": "1;>stolen1", "TICKS": "`>stolen2`", "AND": "1&>stolen3", "TILDE": "~", "STAR": "*",
                  "BACK": "a\\b", "EMPTY": ""}
        (home / "matrix").write_text("hostile: " + " ".join(f"{name}={value}" for name, value in values.items()) + "\n")
        done = doctor("apply", "hostile", "--matrix", "matrix", "--to", "with space;x.conf", "--yes")
        expect(done.returncode == 0, f"apply: {done}")
        advised = done.stdout.split("for this shell: ")[1].splitlines()[0]
        shell = subprocess.run(["sh", "-c", advised + "; env"], text=True, capture_output=True, cwd=home, env=environment)
        for name, value in values.items():
            expect(f"{name}={value}" in shell.stdout.splitlines(), f"the shell made of {name}={value}: {shell}")
        expect(not list(home.glob("stolen*")), "sourcing a profile ran a command")
        (home / "matrix").write_text("quote: A=b'c\n")
        done = doctor("apply", "quote", "--matrix", "matrix", "--to", "quote.conf", "--yes")
        expect(done.returncode == 1 and ".sh" in done.stderr, f"a quote in environment.d: {done}")

        expect(doctor("apply", "no-such-profile").returncode == 2, "an unknown profile must be wrong usage")
        expect(doctor("apply", "as-it-is").returncode == 1, "there is nothing to keep in as-it-is")
    for problem in problems:
        print("FAIL", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
