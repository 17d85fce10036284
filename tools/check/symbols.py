# SPDX-License-Identifier: MIT
"""A shared library, since it is loaded into somebody's program, exports what its version script lists, no more, no less.

Which script belongs to which library is read from the build itself (build.ninja), so no naming rule is needed.
Only SHARED libraries outside tests/ are looked at: what tests build for themselves is not the product's.
"""

import pathlib
import re
import subprocess

NAME = "symbols"

LIBRARY = re.compile(r"^build (\S+\.so): \S+")
SCRIPT = re.compile(r"--version-script[=,](\S+)")


def run(project):
    ninja = project.build / "build.ninja" if project.build else None
    if ninja is None or not ninja.is_file():
        return [f"nothing configured in {project.build}: run ./dev build first"]
    scripts = linked_with(ninja.read_text(encoding="utf-8"))
    findings = []
    for name, script in sorted(scripts.items()):
        library = project.build / name
        if script is None:
            findings.append(f"{name} is linked without a version script")
        elif not library.is_file():
            findings.append(f"{name} is not built: run ./dev build first")
        else:
            wanted = listed((project.build / script).read_text(encoding="utf-8"))
            found = exported(library)
            script = pathlib.Path(script).name
            findings += [f"{name} exports {symbol}, which {script} does not list" for symbol in sorted(found - wanted)]
            findings += [f"{script} lists {symbol}, which {name} does not export" for symbol in sorted(wanted - found)]
    used = {pathlib.Path(script).name for script in scripts.values() if script}
    findings += [f"{path}: no library is linked with it" for path in project.named(".map") if path.name not in used]
    return findings


def linked_with(text):
    """Shared library -> version script or None, from the text of build.ninja."""
    scripts = {}
    for block in text.split("\n\n"):
        lines = block.split("\n")
        target = next((match for match in map(LIBRARY.match, lines) if match), None)
        if target and "_SHARED_LIBRARY_LINKER_" in block and not target[1].startswith("tests/"):
            script = SCRIPT.search(block)
            scripts[target[1]] = script[1].strip('"') if script else None
    return scripts


def listed(text):
    """Names in the global: parts of a version script. A pattern would hide a mistake, so it stands for itself."""
    text = re.sub(r"/\*.*?\*/|#[^\n]*", "", text, flags=re.DOTALL)
    names = set()
    for body in re.findall(r"\{(.*?)\}", text, flags=re.DOTALL):
        for part in re.split(r"\b(?=(?:global|local)\s*:)", body):
            if not part.strip().startswith("local"):
                names |= {name.strip() for name in re.sub(r"^\s*global\s*:", "", part).split(";")}
    return names - {""}


def exported(library):
    output = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", str(library)],
                            capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in output.splitlines() if line]
    # Type A is the name of a version itself.
    return {row[0].split("@")[0] for row in rows if row[1] != "A"}
