#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the portable tarball and the wheel from a build that is linked to an older libc (ROCHOUND_OLD_LIBC); `./dev package`
runs it inside the root that built it. docs/decisions/portable.md says how such a build runs on other distributions.

The same bytes for the same build: files are sorted, owned by nobody in particular, and as old as the last commit.
"""

import argparse
import base64
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile

import debian
import inside
import older_versions

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SYSTEM = pathlib.Path("/usr/lib/x86_64-linux-gnu")
BUNDLED = "lib/bundled"
EXTENSION = "usr/lib/duckdb/extensions"
# Their headers say how the C library and the kernel are called; nothing of them is in our files.
INTERFACES = {"libc6-dev", "linux-libc-dev"}
# npm packages that are part of the report's page; the others only make it.
PAGE = ("uplot", "@fontsource-variable/inter")


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, **more)


def told(*command):
    return run(*command, capture_output=True, text=True).stdout.strip()


def is_elf(path):
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def bundle(tree, libc):
    """Copies the libraries that the command needs and no distribution is sure to have. Returns where they are from."""
    folder = tree / BUNDLED
    folder.mkdir(parents=True)
    sources = []
    todo = [tree / "bin/rochound"]
    extension = sorted(pathlib.Path("/", EXTENSION).glob("*/*/sqlite_scanner.duckdb_extension"))[-1]
    shutil.copyfile(extension, folder / extension.name)
    sources.append(extension)
    todo.append(folder / extension.name)
    while todo:
        for name in inside.needed(todo.pop()):
            if name in inside.LIBC or (folder / name).exists():
                continue
            source = (SYSTEM / name).resolve()
            shutil.copyfile(source, folder / name)
            sources.append(source)
            todo.append(folder / name)
    old = older_versions.old_symbols(libc)
    provided = older_versions.provided_symbols(SOURCE / "src/portable/newer_libc.list")
    for file in sorted(folder.iterdir()):
        elf = older_versions.Elf(file)
        older_versions.rewrite(elf, old, older_versions.newest(old), provided)
        file.write_bytes(elf.data)
    return sources


def make_tree(build, tree, libc, number):
    for component in ("rochound", "softgpu", "selftest", "development"):
        run("cmake", "--install", build, "--component", component, "--prefix", tree, "--strip", stdout=subprocess.DEVNULL)
    sources = bundle(tree, libc)
    module = tree / "lib/python3/site-packages/rochound"
    shutil.copytree(SOURCE / "python/rochound", module, ignore=shutil.ignore_patterns("__pycache__"))
    (module / "_version.py").write_text(f'VERSION = "{number}"\n')
    shutil.copyfile(SOURCE / "LICENSE", tree / "LICENSE")
    for path in tree.rglob("*"):
        if path.is_dir() or path.is_symlink():
            continue
        path.chmod(0o755 if is_elf(path) and path.parent.name in ("bin", "rochound", "selftest") else 0o644)
    return sources


def owners(files):
    """The Debian packages that these files are of."""
    found = set()
    files = sorted({str(pathlib.Path(file).resolve()) for file in files})
    for start in range(0, len(files), 500):
        for line in told("dpkg-query", "-S", *files[start:start + 500]).splitlines():
            found.add(line.split(":")[0])
    return found


def compiled_in(build):
    """Files of others that the compiler and the linker have read for what was built: headers, objects and archives."""
    read = re.findall(r"^ +(/usr/\S+)$", told("ninja", "-C", build, "-t", "deps"), flags=re.MULTILINE)
    # What hipcc links into the kernels of the self-test's programs.
    bitcode = re.findall(r": (/\S+)$", told("dpkg-query", "-S", "*/amdgcn/bitcode/ockl.bc"), flags=re.MULTILINE)
    # Nothing of a shared library is in our files; those that come along are looked for elsewhere.
    return {file for file in (*read, *bitcode) if not re.search(r"\.so(\.[0-9]+)*$", file)}


def components(sources, build):
    """(name, version, kind, licence text) of everything that is not ours."""
    for name in sorted(owners([*sources, *compiled_in(build)]) - INTERFACES):
        text = pathlib.Path("/usr/share/doc", name, "copyright").read_text(encoding="utf-8", errors="replace")
        yield name, told("dpkg-query", "-W", "-f", "${Version}", name), "deb", text
    for name in PAGE:
        folder = build / "src/report/web/node_modules" / name
        text = next(path for path in sorted(folder.iterdir()) if path.name.upper().startswith("LICEN")).read_text()
        yield name, json.loads((folder / "package.json").read_text())["version"], "npm", text


def write_notice(path, parts):
    lines = ["rochound is under the licence in LICENSE. This installation also has parts of others:\n"]
    lines += [f"  {name} {version} ({kind})\n" for name, version, kind, _ in parts]
    for name, version, kind, text in parts:
        lines.append(f"\n{'=' * 100}\n{name} {version} ({kind})\n{'=' * 100}\n{text.rstrip()}\n")
    path.write_text("".join(lines), encoding="utf-8")


def write_bill(path, parts, number, moment):
    """Software bill of materials, SPDX 2.3."""
    def package(name, version, kind):
        purl = f"pkg:deb/debian/{name}@{version}?arch=amd64" if kind == "deb" else f"pkg:npm/{name.replace('@', '%40')}@{version}"
        return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name, "versionInfo": version,
                "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
                "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
                "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]}

    others = [package(name, version, kind) for name, version, kind, _ in parts]
    ours = {"SPDXID": "SPDXRef-rochound", "name": "rochound", "versionInfo": number, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "MIT", "licenseDeclared": "MIT", "copyrightText": "NOASSERTION"}
    names = hashlib.sha256(json.dumps(others).encode()).hexdigest()[:16]
    bill = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"rochound-{number}",
            "documentNamespace": f"https://rochound.invalid/spdx/{number}-{names}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment)), "creators": ["Tool: rochound tools/package"]},
            "packages": [ours, *others],
            "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relatedSpdxElement": "SPDXRef-rochound", "relationshipType": "DESCRIBES"}]
            + [{"spdxElementId": "SPDXRef-rochound", "relatedSpdxElement": one["SPDXID"], "relationshipType": "CONTAINS"} for one in others]}
    path.write_text(json.dumps(bill, indent=1) + "\n")


def make_tarball(tree, file, moment):
    with file.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in [tree, *sorted(tree.rglob("*"))]:
            member = tar.gettarinfo(path, arcname=str(path.relative_to(tree.parent)))
            member.uid = member.gid = 0
            member.uname = member.gname = "root"
            member.mtime = moment
            if member.isdir():
                member.mode = 0o755
            if member.isreg():
                with path.open("rb") as content:
                    tar.addfile(member, content)
            else:
                tar.addfile(member)


def make_wheel(tree, output, number, limit, moment):
    tag = f"py3-none-manylinux_{limit[0]}_{limit[1]}_x86_64"
    info = f"rochound-{number}.dist-info"
    module = tree / "lib/python3/site-packages/rochound"
    files = {f"rochound/{path.relative_to(module)}": path for path in module.rglob("*") if path.is_file()}
    for path in tree.rglob("*"):
        place = str(path.relative_to(tree))
        if path.is_file() and not place.startswith(("lib/python3/", "NOTICE", "LICENSE", "rochound.spdx")):
            files[f"rochound/home/{place}"] = path
    for name in ("LICENSE", "NOTICE", "rochound.spdx.json"):
        files[f"{info}/licenses/{name}"] = tree / name
    texts = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: rochound\nVersion: {number}\n"
                            "Summary: Recorder and tools for programs on AMD GPUs\nLicense: MIT\nRequires-Python: >=3.8\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: rochound tools/package\nRoot-Is-Purelib: false\nTag: {tag}\n",
        f"{info}/entry_points.txt": "[console_scripts]\nrochound = rochound.command:main\n",
    }
    file = output / f"rochound-{number}-{tag}.whl"
    records = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as wheel:
        def add(name, content, mode):
            member = zipfile.ZipInfo(name, time.gmtime(moment)[:6])
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = (0o100000 | mode) << 16
            wheel.writestr(member, content)

        for name in sorted([*files, *texts]):
            content = files[name].read_bytes() if name in files else texts[name].encode()
            add(name, content, files[name].stat().st_mode & 0o777 if name in files else 0o644)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            records.append(f"{name},sha256={digest},{len(content)}\n")
        add(f"{info}/RECORD", "".join(records) + f"{info}/RECORD,,\n", 0o644)
    return file


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--libc", type=pathlib.Path, required=True, help="the folder of old_libc.sh")
    made = parser.add_mutually_exclusive_group(required=True)
    made.add_argument("--output", type=pathlib.Path, help="folder of the tarball and the wheel")
    made.add_argument("--tree", type=pathlib.Path, help="only what is in them, in this folder")
    options = parser.parse_args()
    build = options.build.absolute()
    number = (SOURCE / "VERSION").read_text().strip()
    if options.tree:
        shutil.rmtree(options.tree, ignore_errors=True)
        make_tree(build, options.tree.absolute(), options.libc, number)
        return 0
    output = options.output.absolute()
    output.mkdir(parents=True, exist_ok=True)
    moment = int(os.environ.get("SOURCE_DATE_EPOCH") or told("git", "-C", SOURCE, "log", "-1", "--format=%ct"))
    work = output / "work"
    shutil.rmtree(work, ignore_errors=True)
    tree = work / f"rochound-{number}-x86_64"
    tree.mkdir(parents=True)
    sources = make_tree(build, tree, options.libc, number)
    debian.refuse_paths(tree)
    parts = list(components(sources, build))
    write_notice(tree / "NOTICE", parts)
    write_bill(tree / "rochound.spdx.json", parts, number, moment)
    limit = older_versions.newest(older_versions.old_symbols(options.libc))
    findings = inside.check(tree, limit)
    for finding in findings:
        print(finding, file=sys.stderr)
    if findings:
        return 1
    print(inside.table(tree))
    for old in [*output.glob("*.tar.gz"), *output.glob("*.whl")]:
        old.unlink()
    tarball = output / f"{tree.name}.tar.gz"
    make_tarball(tree, tarball, moment)
    wheel = make_wheel(tree, output, number, limit, moment)
    shutil.copyfile(tree / "rochound.spdx.json", output / "rochound.spdx.json")
    shutil.rmtree(work)
    debian.write_sums(output)
    for file in (tarball, wheel):
        print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
