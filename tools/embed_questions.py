#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed_questions.py OUTPUT FILE.sql...: the files' texts as one C++ source (analysis/questions.h: QuestionText)."""

import pathlib
import sys


def main():
    output = pathlib.Path(sys.argv[1])
    rows = []
    for path in sorted(map(pathlib.Path, sys.argv[2:])):
        # Compilers limit the length of one literal; adjacent ones are joined.
        lines = path.read_text().splitlines(keepends=True)
        text = "\n".join(f'R"~sql~({line})~sql~"' for line in lines)
        rows.append(f'    {{"{path.stem}",\n{text}}},\n')
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text('#include "analysis/questions.h"\n\n#include <utility>\n\nnamespace rochound::analysis {\n\n'
                      "std::string_view QuestionText(std::string_view name) {\n"
                      "  static constexpr std::pair<std::string_view, std::string_view> kTexts[] = {\n"
                      + "".join(rows) +
                      "  };\n  for (const auto& [file, text] : kTexts)\n    if (file == name) return text;\n"
                      "  return {};\n}\n\n}  // namespace rochound::analysis\n")


main()
