# SPDX-License-Identifier: MIT
"""The functions of the HSA runtime's tables, from its installed headers.

  hsa_lists.py INCLUDE_DIRECTORY OUTPUT

INCLUDE_DIRECTORY holds hsa/hsa_api_trace.h. OUTPUT gets one line per table entry, in table order:

  ROCHOUND_HSA_FUNCTION(table type, member of HsaApiTable, function, "argument,names", out mask)
"""

import pathlib
import re
import sys

import headers

# Tables that hold callbacks into a tool, not functions that a program calls.
NOT_CALLED = {"ToolsApiTable"}


def generate(include):
    folder = include / "hsa"
    trace = headers.strip((folder / "hsa_api_trace.h").read_text())
    everything = " ".join(headers.strip(path.read_text()) for path in sorted(folder.glob("hsa*.h")))
    lines = []
    root = headers.struct_body(trace, "HsaApiTable")
    tables = re.findall(r"(\w+Table)\s*\*\s*(\w+)\s*;", root)
    if len(tables) < 4:
        raise headers.HeaderError(f"{folder}/hsa_api_trace.h: HsaApiTable names only {len(tables)} tables")
    for table, member in tables:
        if table in NOT_CALLED:
            continue
        functions = re.findall(r"decltype\s*\(\s*(?:::)?(\w+)\s*\)\s*\*\s*(\w+)\s*;", headers.struct_body(trace, table))
        if not functions:
            raise headers.HeaderError(f"{folder}/hsa_api_trace.h: no functions in {table}")
        for name, field in functions:
            if field != name + "_fn":
                raise headers.HeaderError(f"{table}: the member for {name} is called {field}")
            function = headers.prototype(everything, name)
            if function is None:
                raise headers.HeaderError(f"{name} of {table} is declared in none of {folder}/hsa*.h")
            lines.append(f"ROCHOUND_HSA_FUNCTION({table}, {member}, {name}, {headers.quoted_names(function)}, "
                         f"{headers.out_mask(function):#x})")
    return "\n".join(lines) + "\n"


def main():
    include, output = map(pathlib.Path, sys.argv[1:])
    try:
        text = generate(include)
    except (headers.HeaderError, OSError) as error:
        sys.exit(f"hsa_lists.py: {error}")
    output.write_text(text)


if __name__ == "__main__":
    main()
