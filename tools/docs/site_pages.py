# SPDX-License-Identifier: MIT
"""The site: all pages of the checkout, built by mkdocs-material, with its links checked.

Pages are put into a folder of the checkout's shape, so that their links lead where they do in the checkout. What they
link to beside pages (headers, programs, schemas) comes along; a link to a folder becomes its text.
"""

import pathlib
import re
import shutil
import subprocess

import links

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)|(?:src|srcset|href)=\"([^\"#]+)\"")
FENCE = re.compile(r"^([ \t]*)```.*?^\1```[ \t]*$", re.MULTILINE | re.DOTALL)
# Title of a section, its pages in this order, and the folder whose other pages follow.
SECTIONS = [
    ("Home", ["README.md", "docs/installing.md", "docs/comparison.md", "CHANGELOG.md"], None),
    ("Examples", ["examples/README.md"], None),
    ("Guides", ["docs/guides/record.md", "docs/guides/explain.md", "docs/guides/report.md", "docs/guides/faults.md",
                "docs/guides/doctor.md"], "docs/guides"),
    ("Reference", ["docs/reference/commands.md", "docs/reference/fleet-commands.md", "docs/reference/environment.md"], "docs/reference"),
    ("Formats", [], "docs/formats"),
    ("Software GPU", [], "docs/softgpu-*"),
    ("How it works", ["docs/architecture.md", "docs/how-it-loads.md", "docs/safety.md"], "docs/decisions"),
    ("Taking part", ["CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md"], "docs"),
]


def pages_of(source):
    found = [path.relative_to(source) for path in [*source.glob("*.md"), *source.glob("docs/**/*.md"), *source.glob("examples/*.md")]]
    return sorted(path.as_posix() for path in found)


def navigation(pages):
    """Sections with their pages; a page that no section lists is in the last one whose folder it is in."""
    left = list(pages)
    sections = []
    for title, first, _ in SECTIONS:
        sections.append((title, [page for page in first if page in left]))
        left = [page for page in left if page not in first]
    for (_, chosen), (_, _, folder) in zip(sections, SECTIONS):
        more = [page for page in left if folder and pathlib.PurePosixPath(page).match(folder + ("" if "*" in folder else "/*"))]
        chosen += more
        left = [page for page in left if page not in more]
    return [section for section in sections if section[1]], left


def title(source, page):
    heading = re.search(r"^# (.*)$", (source / page).read_text(), re.MULTILINE)
    return heading[1] if heading else page


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def targets(text):
    """Files that a page links to, outside of its blocks of code."""
    for match in LINK.finditer(FENCE.sub("", text)):
        target = match[1] or match[2]
        if "://" not in target and not target.startswith("mailto:"):
            yield target


def stage(source, folder):
    """Copies pages and what they link to; the pages. Raises where a link leads nowhere."""
    pages = pages_of(source)
    wanted = set(pages)
    folders = {}  # page -> links to folders
    for page in pages:
        for target in targets((source / page).read_text()):
            place = (source / page).parent.joinpath(target).resolve()
            if not place.is_relative_to(source) or not place.exists():
                raise SystemExit(f"{page}: links to {target}, which does not exist")
            if place.is_dir():
                folders.setdefault(page, []).append(target)
            else:
                wanted.add(place.relative_to(source).as_posix())
    for name in sorted(wanted):
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, copy)
    for page, links_to_folders in folders.items():
        text = (folder / page).read_text()
        for target in links_to_folders:
            text = re.sub(rf"\[([^\]]*)\]\({re.escape(target)}\)", r"\1", text)
        (folder / page).write_text(text)
    return pages


def configure(source, folder, pages, output):
    sections, left = navigation(pages)
    if left:
        raise SystemExit(f"no section of the site takes {', '.join(left)}; tools/docs/site_pages.py lists them")
    lines = [(source / "tools/docs/mkdocs.yml").read_text(), f"docs_dir: {quoted(str(folder))}", f"site_dir: {quoted(str(output))}", "nav:"]
    for name, chosen in sections:
        lines.append(f"  - {quoted(name)}:")
        lines += [f"    - {quoted(title(source, page))}: {page}" for page in chosen]
    return "\n".join(lines) + "\n"


def make(source, output):
    if shutil.which("mkdocs") is None:
        print("skipped: there is no mkdocs; ./dev root --libraries brings it")
        return 77
    work = output.parent / (output.name + ".pages")
    for folder in (work, output):
        shutil.rmtree(folder, ignore_errors=True)
    (work / "pages").mkdir(parents=True)
    pages = stage(source, work / "pages")
    settings = work / "mkdocs.yml"
    settings.write_text(configure(source, work / "pages", pages, output))
    done = subprocess.run(["mkdocs", "build", "--quiet", "--strict", "--config-file", settings], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout + done.stderr)
        return 1
    problems, count = links.check(output)
    print("\n".join(problems) or f"{len(pages)} pages, {count} links, all of them lead somewhere: {output}/index.html")
    return 1 if problems else 0
