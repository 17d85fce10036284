# SPDX-License-Identifier: MIT
"""RCCL's functions, from its installed header rccl/amd_detail/api_trace.h.

  rccl_lists.py INCLUDE_DIRECTORY OUTPUT

OUTPUT gets one line per entry of RCCL's table, in table order (none where the header is not there):

  ROCHOUND_RCCL_FUNCTION(function, "argument,names", out mask)
"""

import pathlib
import re
import sys

import headers


def table(path):
    if not path.exists():
        return ""
    text = headers.strip(path.read_text())
    types = {}
    for match in re.finditer(r"\btypedef\s+([^;()]*?)\(\s*\*\s*(\w+)_fn_t\s*\)\s*\(", text):
        end = headers.matching(text, match.end() - 1)
        types[match[2]] = headers.Function(match[2], text[match.end():end - 1], match[1])
    entries = re.findall(r"\b(\w+)_fn_t\s+(\w+)_fn\s*;", headers.struct_body(text, "rcclApiFuncTable"))
    if not entries:
        raise headers.HeaderError(f"{path}: no functions in rcclApiFuncTable")
    lines = []
    for kind, name in entries:
        if kind != name or name not in types:
            raise headers.HeaderError(f"{path}: {name}_fn has the type {kind}_fn_t")
        function = types[name]
        lines.append(f"ROCHOUND_RCCL_FUNCTION({name}, {headers.quoted_names(function)}, {headers.out_mask(function):#x})")
    return "\n".join(lines) + "\n"


def main():
    include, output = map(pathlib.Path, sys.argv[1:])
    try:
        text = table(include / "rccl" / "amd_detail" / "api_trace.h")
    except (headers.HeaderError, OSError) as error:
        sys.exit(f"rccl_lists.py: {error}")
    output.write_text(text)


if __name__ == "__main__":
    main()
