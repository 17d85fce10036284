#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the site of all pages, and tries the link checker on links that are wrong.

usage: site.py --checkout FOLDER --output FOLDER
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/docs"))

import links
import site_pages


def checker_problems():
    """A page with links that are right and wrong: the wrong ones, and no others, must be found."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "there.html").write_text('<h1 id="place">x</h1>')
        (folder / "index.html").write_text('<a href="there.html#place">a</a><a href="there.html#nowhere">b</a><a href="gone.html">c</a>'
                                           '<img src="gone.png"><source srcset="gone.svg 1x"><a href="https://example.org/">d</a>'
                                           '<a href="#own">e</a><p id="own">')
        found, count = links.check(folder)
    wanted = ["there.html#nowhere", "gone.html", "gone.png", "gone.svg"]
    wrong = [link for link in wanted if not any(link in one for one in found)]
    return [f"the checker finds {found}, and not {wrong}"] if wrong or len(found) != len(wanted) or count != 7 else []


def navigation_problems():
    sections, left = site_pages.navigation(["README.md", "docs/guides/new.md", "docs/softgpu-x.md", "docs/new.md", "other/x.md"])
    taken = dict(sections)
    fine = (taken.get("Guides") == ["docs/guides/new.md"] and taken.get("Software GPU") == ["docs/softgpu-x.md"] and
            taken.get("Taking part") == ["docs/new.md"] and left == ["other/x.md"])
    return [] if fine else [f"pages are in wrong sections: {sections}, left {left}"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkout", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    problems = checker_problems() + navigation_problems()
    print("\n".join(problems))
    return 1 if problems else site_pages.make(options.checkout.resolve(), options.output.resolve())


if __name__ == "__main__":
    sys.exit(main())
