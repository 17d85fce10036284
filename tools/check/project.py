# SPDX-License-Identifier: MIT
"""The files of the project as the checks see them: what git tracks or would track."""

import functools
import os
import pathlib
import re
import subprocess

CPP = (".h", ".cpp", ".hip", ".c")
SKIPPED_FOLDERS = {".git", "build", "__pycache__"}


class Project:
    def __init__(self, root, build=None):
        self.root = pathlib.Path(root).resolve()
        self.build = pathlib.Path(build).resolve() if build else None

    @functools.cached_property
    def files(self):
        """Paths relative to the root, sorted. Outside a git checkout: everything but build output."""
        listed = self.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        if listed is not None:
            paths = {pathlib.PurePosixPath(name) for name in listed.split("\0") if name}
            return sorted(path for path in paths if (self.root / path).is_file())
        found = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
            relative = pathlib.PurePosixPath(os.path.relpath(folder, self.root))
            found += [relative / name for name in names]
        return sorted(found)

    def named(self, *suffixes):
        return [path for path in self.files if path.suffix in suffixes]

    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def git(self, *arguments):
        """Output of a git command, or None where it fails. The owner may differ inside a root."""
        try:
            result = subprocess.run(
                ["git", "-c", "safe.directory=*", "-C", str(self.root), *arguments],
                capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return None
        return result.stdout if result.returncode == 0 else None


COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def without_comments(text):
    """C++ text with its comments taken out; line numbers stay. Good enough for #include lines."""
    def blank(match):
        return match[0] if match[0].startswith('"') else "\n" * match[0].count("\n")
    return COMMENT_OR_STRING.sub(blank, text)
