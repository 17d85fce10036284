#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A job by a real Slurm: eight nodes on this machine, a step of recorded programs, asked about by the job's number.

usage: slurm.py --list | --case NAME --bin FOLDER --gpu GPU -- PROGRAM
"""

import json
import pathlib
import secrets
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fleet as fleet_module  # noqa: E402
import raw_log  # noqa: E402
import s3  # noqa: E402
from fleet import FULL, check  # noqa: E402

NODES = 8


class Slurm:
    """munged, slurmctld and eight slurmd, in a folder."""

    def __init__(self, fleet):
        self.fleet, self.folder = fleet, fleet.folder / "slurm"
        for name in ("state", "run", *(f"spool/n{i}" for i in range(NODES))):
            (self.folder / name).mkdir(parents=True)
        # munged asks that nobody else may write to any folder above its socket: /tmp is sticky, which it forgives with --force.
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        self.socket = self.folder / "run/munge.socket"
        fleet.start(["munged", "--foreground", "--force", "--key-file", key, "--socket", self.socket, "--pid-file", self.folder / "run/munged.pid",
                     "--seed-file", self.folder / "run/seed", "--log-file", self.folder / "munged.out"], "munged.log")
        fleet.until("munged answers", self.socket.exists, 30)
        ports = s3.free_ports(NODES + 1)
        host = socket.gethostname().split(".")[0]
        nodes = "\n".join(f"NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[i + 1]} CPUs=16 RealMemory=1000"
                          for i in range(NODES))
        self.config = self.folder / "slurm.conf"
        self.config.write_text(f"""ClusterName=fleet
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={self.socket}
CredType=cred/munge
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool/%n
SlurmctldPidFile={self.folder}/run/ctld.pid
SlurmdPidFile={self.folder}/run/d.%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
SlurmdParameters=config_overrides
{nodes}
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""")
        fleet.environment["SLURM_CONF"] = str(self.config)
        fleet.start(["slurmctld", "-D", "-f", self.config], "slurmctld.log")
        for i in range(NODES):
            fleet.start(["slurmd", "-D", "-N", f"n{i}", "-f", self.config], f"slurmd{i}.log")
        fleet.until("all nodes are idle", lambda: self.idle() == NODES, 120)

    def idle(self):
        done = subprocess.run(["sinfo", "-h", "-N", "-t", "idle"], capture_output=True, text=True, env=self.fleet.environment, check=False)
        return len(done.stdout.split("\n")) - 1


def run_job(fleet):
    slurm = Slurm(fleet)
    fleet.server()
    daemon = fleet.daemon("--bus", fleet.url())
    aggregator = fleet.aggregator()
    ranks = 64 if FULL else NODES
    logs = fleet.folder / "logs"
    # One software GPU per rank; all ranks write below one folder, as a shared file system has it.
    step = fleet.start(["srun", "-N", NODES, "-n", ranks, "--overcommit", fleet.bin / "rochound", "softgpu", "--gpu", fleet.options.gpu, "--",
                        fleet.bin / "rochound", "run", "--log-dir", logs / "%r", "--log-only", "--", fleet.options.program, 30 if FULL else 12, "AWAY"],
                       "program.log")

    def running():
        done = subprocess.run(["squeue", "-h", "-o", "%A %T"], capture_output=True, text=True, env=fleet.environment, check=False)
        return done.stdout.split()
    fleet.until("the job runs", lambda: "RUNNING" in running(), 60)
    job = running()[0]
    said = fleet.folder / "program.log"
    fleet.until("all ranks have launched their kernels", lambda: said.read_text(errors="replace").count("launched ") == ranks, 600)
    time.sleep(3)
    # The last seconds of all ranks, which now wait for nothing.
    window = fleet.folder / "window"
    fleet.run(fleet.bin / "rochound-fleet", "window", "--bus", fleet.url(), "--job", job, "--from", "-600", "--hosts", "1", "--patience", "60", "-o", window,
              timeout=300)
    windows = sorted(window.glob("*/process-*"))
    check(len(windows) == ranks, f"{len(windows)} windows of {ranks} ranks")
    told = fleet.run(fleet.bin / "rochound-fleet", "hang", "--bus", fleet.url(), "--job", job, "--hosts", "1", "--json")
    cards = json.loads(told)["ranks"]
    check(sorted(card["rank"] for card in cards) == list(range(ranks)), f"ranks {sorted(card['rank'] for card in cards)}")
    raw = raw_log.merged(sorted(logs.glob("process-*")) or sorted(logs.glob("*/process-*")))
    check(fleet_module.launches(raw_log.merged(windows)) == fleet_module.launches(raw), "the window does not hold every launch")
    fleet.run(fleet.bin / "rochound", "report", *sorted(window.glob("rank*")), "-o", fleet.folder / "report.html", timeout=600)
    check((fleet.folder / "report.html").stat().st_size > 100000, "the report is empty")
    subprocess.run(["scancel", job], env=fleet.environment, check=True)
    fleet.wait_for([step], 60)
    time.sleep(2)
    daemon.terminate()
    fleet.wait_for([daemon], 30)
    aggregator.terminate()
    fleet.wait_for([aggregator], 30)
    answer = fleet.lake("--job", job)
    found = raw_log.differences(raw, answer["kernels"])
    check(not found, "\n".join(found))
    jobs = json.loads(fleet.run(fleet.bin / "rochound-fleet", "jobs", "--lake", fleet.folder / "lake", "--json"))
    check([one["job"] for one in jobs] == [job] and jobs[0]["ranks"] == ranks, f"jobs {jobs}")
    del slurm
    return f"job {job}: {fleet_module.launches(raw)} launches of {ranks} ranks on {NODES} nodes"


def case_slurm(fleet):
    """srun starts ranks on eight nodes; rank, size and job are Slurm's, and job, window and report are asked by its number."""
    try:
        return run_job(fleet)
    finally:
        # Ranks are no children of ours: Slurm's own daemons start them, in sessions of their own.
        subprocess.run(["scancel", "--state=RUNNING"], env=fleet.environment, check=False)
        time.sleep(2)


CASES = {name.removeprefix("case_"): function for name, function in list(globals().items()) if name.startswith("case_")}

if __name__ == "__main__":
    sys.exit(fleet_module.main(CASES))
