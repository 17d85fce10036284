# SPDX-License-Identifier: MIT
"""docs/reference/commands.md and environment.md, from what `rochound reference` says."""

import re
import textwrap

GENERATED = "This page is made by `./dev docs reference`, from the same source as `--help`."
ENVIRONMENT = """# Environment variables

{generated} The table is `src/cli/variables.cpp`;
the test `docs-environment` compares it with the names that the sources read.

rochound reads variables of others as well. `HSA_TOOLS_LIB` and `LD_PRELOAD` are how it
[gets into programs](../how-it-loads.md). `HSA_*`, `HIP_*`, `ROCR_*`, `GPU_*` and `AMD_*` are judged by
[the doctor](../guides/doctor.md). `TMPDIR`, `XDG_RUNTIME_DIR`, `XDG_CONFIG_HOME` and `HOME` say where files may be,
`TRITON_CACHE_DIR` and `ROCM_PATH` where to look; `NO_COLOR` asks for plain text. Those of the scripts for developers
(`ROCHOUND_ROOTS`, `ROCHOUND_CACHE`, `ROCHOUND_BIND`) are in `./dev --help`.
"""
GROUPS = [
    ("person", "What you may set", "No option sets these. Names with `RPDT_` are RPD's, those with `LOGDUR_` are of omniprobe and "
     "logduration; they mean here what they mean there. An option on the command line comes first."),
    ("option", "What options set", "Use the option. The variable is how the command tells the processes that it starts; setting it "
     "yourself helps where a program is started by others, with `HSA_TOOLS_LIB` or `LD_PRELOAD`."),
    ("command", "What commands set for themselves", "They lead to files that the command makes. Do not set them."),
    ("test", "What tests set", ""),
]


def bullet(text, indent=""):
    return textwrap.fill(text, width=120, initial_indent=indent + "- ", subsequent_indent=indent + "  ", break_long_words=False,
                         break_on_hyphens=False)


def flat(text):
    return " ".join(text.split())


def sentence(text):
    text = flat(text)
    return text if not text or text.endswith((".", ":", "?", ")")) else text + "."


def split_rows(text):
    """Some options list what they take after a colon, one "NAME: what it is" per line; longer rows go on with indented
    lines. The text before that, and the rows."""
    first, *rows = re.sub(r"\n\s+", " ", text.strip()).split("\n")
    if not rows or not first.endswith(":") or not all(re.match(r"[^\s:]+: ", row) for row in rows):
        return sentence(text), []
    return flat(first), [flat(row) for row in rows]


def option_text(option):
    # NAME=VALUE of flags is not shown: they are typed without a value.
    names = [f"`{name}`" for name in option["names"]]
    if option["value"]:
        names[-1] = f"`{option['names'][-1]} {option['value']}`"
    text = ", ".join(names)
    about, rows = split_rows(option["about"])
    lines = [bullet(f"{text}: {about}" if about else text)]
    for name, what in (row.split(": ", 1) for row in rows):
        lines.append(bullet(f"`{name}`: {sentence(what)}", "  "))
    return "\n".join(lines)


def fence(text):
    return "```text\n" + text.strip("\n") + "\n```"


def usage_text(usage):
    """Lines after the first are indented by the width of "Usage: "."""
    return "\n".join(line.removeprefix("       ") for line in usage.strip("\n").split("\n"))


def section(command, level):
    parts = [f"{'#' * level} rochound {command['name']}", sentence(command["about"]), fence(usage_text(command["usage"]))]
    shown = command["options"] + [one for one in command["positionals"] if one["about"]]
    if shown:
        parts.append("\n".join(option_text(one) for one in shown))
    actions = command.get("actions", [])
    if actions:
        rows = [bullet(f"`{usage_text(one['usage'])}`: {sentence(one['about'])}") for one in actions]
        parts.append("Actions:\n\n" + "\n".join(rows))
    if command["examples"].strip():
        parts.append(fence(command["examples"]))
    parts += [section(one, level + 1) for one in command.get("subcommands", [])]
    return "\n\n".join(parts)


def as_code(names):
    """Commands and options of a list as code, other words as they are."""
    return ", ".join(f"`{name}`" if name.startswith(("rochound ", "-")) else name for name in names.split(", "))


def commands_page(reference):
    listing = [bullet(f"[`{one['name']}`](#rochound-{one['name']}): {sentence(one['about'])}") for one in reference["commands"]]
    head = ["# Commands", GENERATED + "\nWhat follows `--` is a program and its arguments.", "\n".join(listing)]
    return "\n\n".join(head + [section(one, 2) for one in reference["commands"]]) + "\n"


def environment_page(reference):
    text = ENVIRONMENT.format(generated=GENERATED)
    for kind, title, about in GROUPS:
        text += f"\n## {title}\n" + (f"\n{textwrap.fill(about, width=120)}\n" if about else "")
        for one in reference["variables"]:
            if one["set_by"] == kind:
                who = "Read by" if kind in ("person", "test") else "Set by"
                text += "\n" + bullet(f"`{one['name']}` ({one['value']}): {sentence(one['about'])} {who} {as_code(one['instead'])}.")
        text += "\n"
    return text


def make(reference):
    return {"commands.md": commands_page(reference), "environment.md": environment_page(reference)}
