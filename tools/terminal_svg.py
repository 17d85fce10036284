#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws what a command printed as a picture of a terminal, for the guides.

usage: terminal_svg.py [--columns N] [--theme dark|light] [--command TEXT] < OUTPUT > PICTURE.svg

--command: the line that was typed, shown above the output. Lines longer than N columns (default: 120) are broken as a terminal does.
"""

import argparse
import html
import sys

CHARACTER, LINE, EDGE, BAR = 7.83, 17, 12, 26  # of a 13-pixel monospace font


THEMES = {
    "dark": {"back": "#0d1117", "text": "#c9d1d9", "command": "#7ee787", "headline": "#ff7b72", "place": "#ffa657",
             "advice": "#79c0ff"},
    "light": {"back": "#f6f8fa", "text": "#24292f", "command": "#116329", "headline": "#a40e26", "place": "#953800",
              "advice": "#0550ae"},
}


def kind(line):
    """Headlines and advice stand out, as they do for somebody who reads it."""
    text = line.strip()
    if line.startswith("$ "):
        return "command"
    if line.startswith("rochound:"):
        return "headline"
    if text.startswith("->"):
        return "place"
    return "advice" if text.startswith("What to do:") else "text"


def broken(lines, columns, theme):
    """Pieces of the lines that fit, each with the colour of its line."""
    for line in lines:
        shade = theme[kind(line)]
        yield line[:columns], shade
        for at in range(columns, len(line), columns):
            yield line[at:at + columns], shade


def draw(lines, columns, theme):
    pieces = list(broken(lines, columns, theme))
    width = 2 * EDGE + columns * CHARACTER
    height = BAR + 2 * EDGE + len(pieces) * LINE
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}" '
           'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="13">')
    yield f'<rect width="{width:.0f}" height="{height}" rx="8" fill="{theme["back"]}"/>'
    for place, shade in ((18, "#ff5f56"), (36, "#ffbd2e"), (54, "#27c93f")):
        yield f'<circle cx="{place}" cy="{BAR / 2 + 2:.0f}" r="5" fill="{shade}"/>'
    for number, (text, shade) in enumerate(pieces):
        if text:
            yield (f'<text x="{EDGE}" y="{BAR + EDGE + (number + 0.7) * LINE:.1f}" fill="{shade}" xml:space="preserve" '
                   f'textLength="{len(text) * CHARACTER:.1f}">{html.escape(text)}</text>')
    yield "</svg>"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--columns", type=int, default=120)
    parser.add_argument("--theme", choices=THEMES, default="dark")
    parser.add_argument("--command", default="")
    options = parser.parse_args()
    lines = ["$ " + options.command] if options.command else []
    lines += [line.expandtabs() for line in sys.stdin.read().splitlines()]
    print("\n".join(draw(lines, options.columns, THEMES[options.theme])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
