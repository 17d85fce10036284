# SPDX-License-Identifier: MIT
"""Reads C declarations out of ROCm's headers: just enough of C for prototypes, function pointer types and structs.

Types are left to the compiler (the generated lists name functions and members, and templates see their types); what
has to be read from the text is which functions there are, in which order, and what their arguments are called.
"""

import re


class HeaderError(Exception):
    """A header does not look as this reader expects; the message names it and what was looked for."""


COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", re.MULTILINE)
SPACE = re.compile(r"\s+")
WORD = re.compile(r"[A-Za-z_]\w*")


def strip(text):
    """The text without comments and preprocessor lines, spaces folded."""
    return SPACE.sub(" ", DIRECTIVE.sub("", COMMENT.sub(" ", text)))


def matching(text, start, pair="()"):
    """Index after the bracket that closes the one at `start`."""
    depth = 0
    for index in range(start, len(text)):
        if text[index] == pair[0]:
            depth += 1
        elif text[index] == pair[1]:
            depth -= 1
            if depth == 0:
                return index + 1
    raise HeaderError(f"unbalanced {pair} after: {text[start:start + 80]}")


def split_arguments(text):
    """The declarations between commas, commas inside brackets aside."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        if char in "([{<":
            depth += 1
        elif char in ")]}>":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    parts.append(text[start:].strip())
    return [] if parts in ([""], ["void"]) else parts


# Words that are part of a type when they are the last word of a nameless argument.
TYPE_WORDS = {"int", "char", "short", "long", "unsigned", "signed", "float", "double", "void", "bool", "const",
              "size_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "int32_t", "int64_t", "dim3"}


def argument_name(declaration, index):
    """What an argument is called; arg3 when it has no name."""
    declaration = declaration.split("=", 1)[0]
    callback = re.search(r"\(\s*\*\s*(?:const\s+)?([A-Za-z_]\w*)?\s*\)\s*\(", declaration)
    if callback:
        return callback[1] or f"arg{index}"
    declaration = re.sub(r"\[[^\]]*\]", "", declaration).strip()
    words = WORD.findall(declaration)
    last = re.search(r"([A-Za-z_]\w*)$", declaration)
    if not last or last[1] in TYPE_WORDS:
        return f"arg{index}"
    # One word, or struct X: the type alone.
    named = [word for word in words if word not in ("const", "struct", "enum", "union", "volatile")]
    if len(named) < 2:
        return f"arg{index}"
    return last[1]


class Argument:
    """One argument: its name and whether it points to one value that the function fills in."""

    def __init__(self, declaration, index):
        self.name = argument_name(declaration, index)
        self.out = is_out(declaration, self.name)


def is_out(declaration, name):
    """Whether the text says: points to a single value that is the caller's to read after a good call.

    The value is read through the pointer afterwards, so doubt means no: arrays are named in the plural, a count
    (numNodes) is not one; whatever points to const, to void or to characters holds nothing of interest.
    """
    plain = declaration.replace("restrict", "")
    if "(" in plain or "[" in plain:
        return False
    match = re.match(r"(.*?)\*\s*(?:const\s*)?" + re.escape(name) + r"$", plain.strip())
    if not match:
        return False
    pointee = match[1].strip()
    words = WORD.findall(pointee)
    if "const" in words and "*" not in pointee:
        return False
    if pointee in ("void", "char", "unsigned char"):
        return False
    lower = name.lower()
    if lower.startswith(("num", "count", "total")):
        return True
    return not (lower.endswith(("s", "array", "list", "data", "buffer", "extra")) and
                not lower.endswith(("address", "status", "class", "flags", "bias", "access")))


class Function:
    """A function: its name, its arguments, its result's type as written."""

    def __init__(self, name, arguments, result=""):
        self.name = name
        self.arguments = [Argument(text, index) for index, text in enumerate(split_arguments(arguments))]
        self.result = result.strip()


def prototype(text, name):
    """The declaration `type name(arguments);` in stripped text, or None."""
    for match in re.finditer(r"\b" + re.escape(name) + r"\s*\(", text):
        end = matching(text, match.end() - 1)
        if text[end:end + 2].lstrip().startswith(";"):
            before = text[max(text.rfind(mark, 0, match.start()) for mark in ";{}") + 1:match.start()]
            if re.search(r"\btypedef\b|=", before):
                continue
            return Function(name, text[match.end():end - 1], before)
    return None


def struct_body(text, name):
    """What is between the braces of `struct name {...}` in stripped text."""
    match = re.search(r"\bstruct\s+" + re.escape(name) + r"\s*\{", text)
    if not match:
        raise HeaderError(f"no struct {name}")
    return text[match.end():matching(text, match.end() - 1, "{}") - 1]


def quoted_names(function):
    """The arguments' names as one C string literal, separated by commas."""
    return '"' + ",".join(argument.name for argument in function.arguments) + '"'


def out_mask(function):
    """Bit i: argument i points to a value to read after the call. The first 32 arguments only."""
    return sum(1 << index for index, argument in enumerate(function.arguments) if argument.out and index < 32)
