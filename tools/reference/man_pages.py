# SPDX-License-Identifier: MIT
"""Man pages, from what `rochound reference` says: rochound(1) and one for each command."""

import os
import time

from pages import flat, sentence, split_rows, usage_text


def escape(text):
    """Text as roff prints it: backslashes and hyphens as they are, no line that begins a request."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").split("\n")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in lines)


def verbatim(text):
    return ".nf\n" + escape(text.strip("\n")) + "\n.fi\n"


def date():
    """Of the source, so that two builds of it are the same."""
    return time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))


def heading(name, version):
    return f'.TH {name.upper()} 1 "{date()}" "rochound {version}" "rochound"\n'


def options(command):
    text = ""
    for one in command["options"] + [one for one in command["positionals"] if one["about"]]:
        names = ", ".join(f"\\fB{escape(name)}\\fR" for name in one["names"])
        value = f" \\fI{escape(one['value'])}\\fR" if one["value"] else ""
        about, rows = split_rows(one["about"])
        text += f".TP\n{names}{value}\n" + "\n.br\n".join(escape(row) for row in [about, *rows]) + "\n"
    return text


def parts_of(examples):
    """Paragraphs of a help's end, by their kind: examples, exit codes, and the rest."""
    parts = {"examples": [], "exit": [], "text": []}
    for paragraph in examples.strip("\n").split("\n\n"):
        if paragraph.startswith("Examples:"):
            parts["examples"].append(paragraph.partition("\n")[2])
        elif paragraph.startswith("Exit codes:"):
            parts["exit"].append(paragraph.removeprefix("Exit codes:").strip())
        elif paragraph.strip():
            parts["text"].append(paragraph)
    return parts


def describe(command):
    text = escape(sentence(command["about"])) + "\n"
    for paragraph in parts_of(command["examples"])["text"]:
        text += ".PP\n" + verbatim(paragraph)
    return text


def page(command, reference, version):
    name = "rochound-" + command["name"]
    parts = parts_of(command["examples"])
    text = heading(name, version)
    text += f".SH NAME\n{escape(name)} \\- {escape(flat(command['about']))}\n"
    text += ".SH SYNOPSIS\n" + verbatim(usage_text(command["usage"]))
    text += ".SH DESCRIPTION\n" + describe(command)
    text += ".SH OPTIONS\n" + options(command)
    for action in command["actions"]:
        text += f".SS {escape(usage_text(action['usage']))}\n{escape(sentence(action['about']))}\n"
    for part in command["subcommands"]:
        text += f".SH {escape(part['name'].upper())}\n" + verbatim(usage_text(part["usage"])) + ".PP\n"
        text += describe(part) + options(part)
        for examples in parts_of(part["examples"])["examples"]:
            text += ".PP\n" + verbatim(examples)
    if parts["exit"]:
        text += ".SH EXIT STATUS\n" + escape(flat(" ".join(parts["exit"]))) + "\n"
    read = [one for one in reference["variables"]
            if one["set_by"] == "person" and f"rochound {command['name']}" in one["instead"]]
    if read:
        text += ".SH ENVIRONMENT\n" + "".join(f".TP\n.B {one['name']}\n{escape(sentence(one['about']))}\n" for one in read)
    for examples in parts["examples"]:
        text += ".SH EXAMPLES\n" + verbatim(examples)
    return text + ".SH SEE ALSO\n.BR rochound (1)\n"


def overview(reference, version):
    text = heading("rochound", version)
    text += ".SH NAME\nrochound \\- see what your program does on AMD GPUs\n"
    text += ".SH SYNOPSIS\n" + verbatim("rochound COMMAND [OPTIONS] [-- PROGRAM [ARGUMENTS]]")
    text += (".SH DESCRIPTION\nRecords what a ROCm program does, explains why it is slow, finds out why a GPU fails or is not used,\n"
             "captures kernel launches and runs them again.\n"
             "Machines without an AMD GPU have a software one.\n.SH COMMANDS\n")
    for one in reference["commands"]:
        text += f".TP\n.BR rochound\\-{one['name']} (1)\n{escape(sentence(one['about']))}\n"
    text += ".SH ENVIRONMENT\n"
    for one in reference["variables"]:
        if one["set_by"] == "person":
            text += f".TP\n.B {one['name']}\n{escape(sentence(one['about']))}\n"
    return text + (".SH EXAMPLES\n" + verbatim("rochound run -- ./program\nrochound explain trace.rpd\nrochound doctor") +
                   ".SH SEE ALSO\n" + ",\n".join(f".BR rochound\\-{one['name']} (1)" for one in reference["commands"][:2]) + "\n")


def make(reference, version):
    files = {"man/man1/rochound.1": overview(reference, version)}
    for command in reference["commands"]:
        files[f"man/man1/rochound-{command['name']}.1"] = page(command, reference, version)
    return files
