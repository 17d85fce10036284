# SPDX-License-Identifier: MIT
"""HIP's functions, from its installed headers.

  hip_lists.py INCLUDE_DIRECTORY TABLES_OUTPUT TRACED_OUTPUT

INCLUDE_DIRECTORY holds hip/amd_detail/. TABLES_OUTPUT gets one line per entry of HIP's dispatch tables, in table
order (none where the release has no hip_api_trace.hpp, as before ROCm 6):

  ROCHOUND_HIP_FUNCTION(table type, function, "argument,names", out mask)

TRACED_OUTPUT gets one line per function that HIP reports to a tracer callback, in the order of their ids; each field
is an expression on `args`, the function's member of hip_api_data_t::args, or nothing:

  ROCHOUND_HIP_TRACED(function, id, "argument,names", out mask, args.ptr, args.size)
"""

import pathlib
import re
import sys

import headers


def tables(path):
    if not path.exists():
        return ""
    text = headers.strip(path.read_text())
    types = {}
    for match in re.finditer(r"\btypedef\s+([^;()]*?)\(\s*\*\s*t_(\w+)\s*\)\s*\(", text):
        end = headers.matching(text, match.end() - 1)
        types[match[2]] = headers.Function(match[2], text[match.end():end - 1], match[1])
    lines = []
    for table in ("HipCompilerDispatchTable", "HipDispatchTable"):
        entries = re.findall(r"\b(\w+)\s+(\w+)_fn\s*;", headers.struct_body(text, table))
        if not entries:
            raise headers.HeaderError(f"{path}: no functions in {table}")
        for kind, name in entries:
            function = types.get(name)
            if function is None or kind != "t_" + name:
                raise headers.HeaderError(f"{path}: {name}_fn of {table} has the type {kind}, not t_{name}")
            # What the compiler adds to register kernels and variables is no call of the program's.
            if table == "HipCompilerDispatchTable" and function.result != "hipError_t":
                continue
            lines.append(f"ROCHOUND_HIP_FUNCTION({table}, {name}, {headers.quoted_names(function)}, "
                         f"{headers.out_mask(function):#x})")
    return "\n".join(lines) + "\n"


def traced(path):
    text = headers.strip(path.read_text())
    ids = re.findall(r"\bHIP_API_ID_(\w+)\s*=\s*(\d+)\s*,", text)
    ids = [(name, int(number)) for name, number in ids
           if name not in ("NONE", "FIRST", "LAST") and not name.startswith("RESERVED_")]
    if len(ids) < 100:
        raise headers.HeaderError(f"{path}: only {len(ids)} ids")
    body = re.search(r"union\s*\{", text[text.index("struct hip_api_data_s"):])
    start = text.index("struct hip_api_data_s") + body.end() - 1
    union = text[start + 1:headers.matching(text, start, "{}") - 1]
    fields = {}
    for match in re.finditer(r"\bstruct\s*\{", union):
        end = headers.matching(union, match.end() - 1, "{}")
        name = re.match(r"\s*(\w+)\s*;", union[end:])
        declarations = [text.strip() for text in union[match.end():end - 1].split(";") if text.strip()]
        arguments = [headers.Argument(text, index) for index, text in
                     enumerate(text for text in declarations if not text.endswith("__val"))]
        fields[name[1]] = arguments
    lines = []
    for name, number in sorted(ids, key=lambda row: row[1]):
        arguments = fields.get(name, [])
        function = headers.Function(name, "")
        function.arguments = arguments
        expressions = "".join(f", args.{argument.name}" for argument in arguments)
        lines.append(f"ROCHOUND_HIP_TRACED({name}, {number}, {headers.quoted_names(function)}, "
                     f"{headers.out_mask(function):#x}{expressions})")
    return "\n".join(lines) + "\n"


def main():
    include, tables_output, traced_output = map(pathlib.Path, sys.argv[1:])
    detail = include / "hip" / "amd_detail"
    try:
        tables_text = tables(detail / "hip_api_trace.hpp")
        traced_text = traced(detail / "hip_prof_str.h")
    except (headers.HeaderError, OSError) as error:
        sys.exit(f"hip_lists.py: {error}")
    tables_output.write_text(tables_text)
    traced_output.write_text(traced_text)


if __name__ == "__main__":
    main()
