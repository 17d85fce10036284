#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The package rochound-fleet as it is made from the build folder, and that nothing else needs what it needs.

usage: package.py --list | --case NAME --bin FOLDER --gpu GPU -- PROGRAM
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools/package"))
import debian  # noqa: E402
import fleet as fleet_module  # noqa: E402
from fleet import check  # noqa: E402

# What only the fleet may be linked to.
FLEETS_OWN = re.compile(r"libnats|libopentelemetry|libgrpc|libprotobuf")


def out(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def case_package(fleet):
    """What is in it, who may be root in it, and that it unpacks to programs that run."""
    output = fleet.folder / "packages"
    output.mkdir()
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1700000000")  # as ./dev package sets it
    file = debian.make("rochound-fleet", debian.PACKAGES["rochound-fleet"], fleet.bin.parent, output, debian.version())
    fields = out("dpkg-deb", "--field", file)
    check(re.search(r"^Depends: .*libnats", fields, re.M) and "opentelemetry-cpp (>= " in fields, fields)
    place = fleet.folder / "unpacked"
    subprocess.run(["dpkg-deb", "--extract", file, place], check=True)
    subprocess.run(["dpkg-deb", "--control", file, fleet.folder / "control"], check=True)
    for path in ("usr/bin/rochoundd", "usr/bin/rochound-fleet"):
        check((place / path).is_symlink() and (place / path).resolve().is_file(), f"{path} leads nowhere")
        check(debian.version() in out(place / path, "--version"), f"{path} does not run")
    for script in ("postinst", "prerm", "postrm"):
        subprocess.run(["sh", "-n", fleet.folder / "control" / script], check=True)
    unit = (place / "usr/lib/systemd/system/rochoundd.service").read_text()
    for line in ("User=rochoundd", "MemoryMax=", "CPUQuota=", "CapabilityBoundingSet=CAP_SYS_PTRACE CAP_DAC_READ_SEARCH", "NoNewPrivileges=yes"):
        check(line in unit, f"the unit lacks {line}")
    check("u rochoundd " in (place / "usr/lib/sysusers.d/rochound-fleet.conf").read_text(), "no user is made")
    check((place / "usr/lib/rochound/share/rochound/fleet/grafana.json").is_file(), "no dashboard")
    verified = "not verified: there is no systemd-analyze"
    if shutil.which("systemd-analyze"):
        done = subprocess.run(["systemd-analyze", "verify", "--root", place, "rochoundd.service"], capture_output=True, text=True, check=False)
        check(not re.search("Unknown|Failed to parse|Invalid", done.stderr), done.stderr)
        verified = "verified"
    # The base and what is loaded into programs: not a library of the fleet's.
    looked = 0
    for path in [*fleet.bin.iterdir(), *(fleet.bin.parent / "lib").glob("*.so*")]:
        if path.name in ("rochoundd", "rochound-fleet") or path.name.startswith(("fleet", "bench_fleet")) or not path.is_file():
            continue
        if path.read_bytes()[:4] == b"\x7fELF":
            needs = out("readelf", "-d", path)
            check(not FLEETS_OWN.search(needs), f"{path.name} is linked to a library of the fleet")
            looked += 1
    check(looked >= 3, f"only {looked} programs and libraries were looked at")
    return f"{file.stat().st_size / 1e6:.1f} MB; unit {verified}; {looked} others need nothing of it"


CASES = {name.removeprefix("case_"): function for name, function in list(globals().items()) if name.startswith("case_")}

if __name__ == "__main__":
    sys.exit(fleet_module.main(CASES))
