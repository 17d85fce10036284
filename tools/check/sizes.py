# SPDX-License-Identifier: MIT
"""No source has more than 800 lines, and no line of a document more than 120 columns.

Tables, code and lines that cannot be broken may be longer; so may pages that are generated.
"""

NAME = "sizes"

MOST_LINES = 800
MOST_COLUMNS = 120
SOURCES = (".h", ".cpp", ".hip", ".c", ".py", ".ts", ".mjs", ".sh", ".cmake", ".sql")
GENERATED = ("docs/reference/", "docs/formats/flight-log.md", "docs/softgpu-coverage.md")


def run(project):
    findings = []
    for path in project.named(*SOURCES):
        lines = project.text(path).count("\n")
        if lines > MOST_LINES:
            findings.append(f"{path}:{MOST_LINES}: has {lines} lines; cut it where its purpose changes")
    for path in project.named(".md"):
        if not str(path).startswith(GENERATED):
            findings += [f"{path}:{number}: has {length} columns, more than {MOST_COLUMNS}"
                         for number, length in long_lines(project.text(path))]
    return findings


def long_lines(text):
    """Number and length of each line that is too long and could be broken."""
    found = []
    code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            code = not code
        breakable = " " in line[:MOST_COLUMNS].strip().lstrip("-*0123456789. ")
        if not code and len(line) > MOST_COLUMNS and breakable and not line.startswith(("|", "#", "<", "    ")):
            found.append((number, len(line)))
    return found
