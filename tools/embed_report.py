#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed_report.py OUTPUT SCRIPT STYLE: the report's bundled page as one C++ source (report/page.h)."""

import base64
import hashlib
import pathlib
import sys

PIECE = 8192  # compilers limit the length of one literal; adjacent ones are joined


def literal(content):
    """As C++ literals; octal escapes end after three digits, so that nothing after one is taken for a part of it."""
    pieces = []
    for start in range(0, len(content), PIECE):
        text = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"
                       for byte in content[start:start + PIECE])
        pieces.append(f'    "{text}"')
    return "\n".join(pieces)


def main():
    output, script, style = map(pathlib.Path, sys.argv[1:])
    fields = []
    for path in (script, style):
        # Bundles close no element and end without a line feed: what is hashed is what is between the tags.
        content = path.read_bytes().strip()
        if b"</script" in content.lower() or b"</style" in content.lower() or b"<!--" in content:
            sys.exit(f"{path}: would end the element that it is in")
        fields.append((content, base64.b64encode(hashlib.sha256(content).digest()).decode()))
    (script_text, script_hash), (style_text, style_hash) = fields
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text('#include "report/page.h"\n\nnamespace rochound::report {\n\n'
                      f"static constexpr char kScript[] =\n{literal(script_text)};\n\n"
                      f"static constexpr char kStyle[] =\n{literal(style_text)};\n\n"
                      "Page ReportPage() {\n"
                      f'  return {{{{kScript, sizeof kScript - 1}}, {{kStyle, sizeof kStyle - 1}}, "{script_hash}", "{style_hash}"}};\n'
                      "}\n\n}  // namespace rochound::report\n")


main()
