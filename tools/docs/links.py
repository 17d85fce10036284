# SPDX-License-Identifier: MIT
"""Links of a folder of HTML pages: each leads to a file that is there, and to a place in it."""

import functools
import html.parser
import pathlib
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.places.update(values[name] for name in ("id", "name") if values.get(name))
        for name in ("href", "src"):
            if values.get(name):
                self.links.append(values[name])
        for one in (values.get("srcset") or "").split(","):
            if one.strip():
                self.links.append(one.split()[0])


@functools.cache
def read(path):
    return Page(path.read_text(errors="replace"))


def problem(folder, page, link):
    """What is wrong with a link of a page; None: nothing."""
    parts = urllib.parse.urlsplit(link)
    if parts.scheme in ("http", "https", "mailto", "data", "javascript") or parts.netloc:
        return None
    path = urllib.parse.unquote(parts.path)
    target = page if not path else (folder / path.lstrip("/") if path.startswith("/") else page.parent / path).resolve()
    if target.is_dir():
        target = target / "index.html"
    if not target.is_file():
        return f"{page.relative_to(folder)}: {link} leads nowhere"
    place = urllib.parse.unquote(parts.fragment)
    if place and target.suffix == ".html" and place not in read(target).places:
        return f"{page.relative_to(folder)}: {link} leads to no place of that page"
    return None


def check(folder):
    """Problems, and how many links there are."""
    folder = pathlib.Path(folder).resolve()
    problems, count = [], 0
    for page in sorted(folder.rglob("*.html")):
        if page.name == "404.html":
            continue  # its links are relative to wherever somebody got lost
        for link in read(page).links:
            count += 1
            wrong = problem(folder, page, link)
            if wrong:
                problems.append(wrong)
    return problems, count
