#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The fleet on real recorded programs, on software GPUs, with a real NATS server: one case per test.

usage: fleet.py --list | --case NAME --bin FOLDER --gpu GPU -- PROGRAM

What arrives is compared with the programs' flight logs, read by raw_log.py: every launch, once, in its bucket.
ROCHOUND_FULL=1 runs a case at full size.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import raw_log  # noqa: E402
import s3  # noqa: E402

FULL = bool(os.environ.get("ROCHOUND_FULL"))


class Failed(Exception):
    pass


def check(good, what):
    if not good:
        raise Failed(what)


class Fleet:
    """A folder with programs, servers and daemons. What is started here ends with it."""

    def __init__(self, folder, options):
        self.folder = pathlib.Path(folder)
        self.bin = pathlib.Path(options.bin)
        self.options = options
        self.children = []
        self.control = self.folder / "control"
        self.control.mkdir(mode=0o700)
        self.environment = {**os.environ, "ROCHOUND_CONTROL_DIR": str(self.control)}

    def start(self, command, log, **variables):
        out = open(self.folder / log, "ab")
        child = subprocess.Popen([str(word) for word in command], stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                 start_new_session=True, env={**self.environment, **variables})
        self.children.append(child)
        return child

    def run(self, *command, timeout=120, codes=(0,)):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout,
                              env=self.environment, check=False)
        check(done.returncode in codes, f"{command[0]} {command[1]}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def end(self):
        for child in self.children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def tail(self):
        return "".join(f"--- {path.name}\n{path.read_text(errors='replace')[-1500:]}" for path in sorted(self.folder.glob("*.log")))

    # --- programs

    def program(self, rank, seconds, *more, job="j1", ranks=None):
        variables = {"ROCHOUND_JOB": job, "ROCHOUND_RANK": str(rank)}
        if ranks:
            variables["ROCHOUND_RANKS"] = str(ranks)
        return self.start(self.recorded(f"logs{rank}", seconds, *more), f"program{rank}.log", **variables)

    def recorded(self, logs, seconds, *more):
        return [self.bin / "rochound", "softgpu", "--gpu", self.options.gpu, "--", self.bin / "rochound", "run",
                "--log-dir", self.folder / logs, "--log-only", "--", self.options.program, seconds, *more]

    def twin(self, seconds):
        """The same program where no daemon sees it: how fast this machine was meanwhile."""
        control = self.folder / "twin-control"
        control.mkdir(mode=0o700)
        return self.start(self.recorded("twin", seconds), "twin.log", ROCHOUND_CONTROL_DIR=str(control))

    def logs(self):
        return sorted(self.folder.glob("logs*/process-*"))

    def raw(self):
        raw = raw_log.merged(self.logs())
        counted = [0, 0, 0]
        for path in self.folder.glob("program*.log"):
            for line in path.read_text(errors="replace").split("\n"):
                if line.startswith("launched "):
                    counted = [a + int(b) for a, b in zip(counted, line.split()[1:])]
        recorded = sum(kernel.launches for name, kernel in raw.items() if "Turn" in name)
        check(sum(counted) == recorded, f"the programs launched {counted}, their logs have {recorded}")
        check(recorded > 100, f"only {recorded} launches")
        return raw

    # --- parts of the fleet

    def daemon(self, *more, state="state", host="h1", interval=1, grace=0.5, poll=100):
        return self.start([self.bin / "rochoundd", "--state", self.folder / state, "--host", host, "--interval", interval,
                           "--grace", grace, "--poll", poll, "--beat", "1", *more], "rochoundd.log")

    def server(self):
        config = self.folder / "nats.conf"
        if not config.exists():
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
            config.write_text(f'listen: 127.0.0.1:{self.port}\nmax_payload: 8MB\n'
                              f'jetstream {{ store_dir: "{self.folder}/nats", max_file_store: 1GB, max_mem_store: 64MB }}\n')
        return self.start(["nats-server", "-c", config], "nats.log")

    def url(self):
        return f"nats://127.0.0.1:{self.port}"

    def aggregator(self, *more, flush=1):
        return self.start([self.bin / "rochound-fleet", "aggregate", "--bus", self.url(), "--lake", self.folder / "lake",
                           "--flush", flush, *more], "aggregator.log")

    def spooled(self):
        return [json.loads(path.read_text()) for path in sorted((self.folder / "state/spool").glob("*.json"))]

    def lake(self, *more):
        return json.loads(self.run(self.bin / "rochound-fleet", "kernels", "--lake", self.folder / "lake", "--json", *more))

    def wait_for(self, children, seconds):
        deadline = time.monotonic() + seconds
        for child in children:
            try:
                child.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise Failed(f"{child.args[-2:]} did not end within {seconds} s") from None

    def until(self, what, condition, seconds=30):
        deadline = time.monotonic() + seconds
        while not condition():
            check(time.monotonic() < deadline, f"not within {seconds} s: {what}")
            time.sleep(0.1)


def compare(raw, rows, losses):
    found = raw_log.differences(raw, rows)
    check(not found, "\n".join(found))
    check(not losses, f"said to be lost: {losses}")


def spooled_rows(messages):
    return [row for message in messages for row in message["rows"]], [loss for message in messages for loss in message["losses"]]


def launches(raw):
    return sum(kernel.launches for kernel in raw.values())


def case_exact(fleet):
    """The daemon finds programs by the control directory; its sketches are those of all raw records."""
    daemon = fleet.daemon()
    programs = [fleet.program(rank, 20 if FULL else 4) for rank in range(8 if FULL else 2)]
    fleet.wait_for(programs, 300)
    time.sleep(1)
    daemon.terminate()
    fleet.wait_for([daemon], 20)
    messages = fleet.spooled()
    check([message["number"] for message in messages] == list(range(1, len(messages) + 1)), "numbers have gaps")
    rows, losses = spooled_rows(messages)
    raw = fleet.raw()
    compare(raw, rows, losses)
    check({row["rank"] for row in rows} == set(range(len(programs))), f"ranks {sorted({row['rank'] for row in rows})}")
    check({message["job"] for message in messages} == {"j1"}, "jobs")
    # The same code on all ranks, though each process loaded it into memory of its own.
    code = {row["code_object"] for row in rows if "Turn" in row["kernel"]}
    check(len(code) == 1 and len(next(iter(code))) == 32, f"code objects {code}")
    return f"{launches(raw)} launches in {len(messages)} messages"


def case_killed(fleet):
    """The daemon is killed again and again, and goes on each time."""
    chooser = random.Random(7)
    programs = [fleet.program(rank, 30 if FULL else 6) for rank in range(4 if FULL else 2)]
    kills = 0
    daemon = fleet.daemon()
    while any(program.poll() is None for program in programs):
        time.sleep(chooser.uniform(0.05, 1.0))
        daemon.kill()
        daemon.wait()
        kills += 1
        daemon = fleet.daemon()
    time.sleep(1)
    daemon.kill()
    daemon.wait()
    fleet.run(fleet.bin / "rochoundd", "--state", fleet.folder / "state", "--host", "h1", "--once")
    rows, losses = spooled_rows(fleet.spooled())
    raw = fleet.raw()
    compare(raw, rows, losses)
    check(kills >= 5, f"only {kills} kills")
    return f"{launches(raw)} launches, {kills} kills of the daemon"


def case_lake(fleet):
    """From programs to Parquet, by daemon, bus and aggregator; beats arrive."""
    fleet.server()
    daemon = fleet.daemon("--bus", fleet.url())
    aggregator = fleet.aggregator()
    programs = [fleet.program(rank, 20 if FULL else 4) for rank in range(8 if FULL else 2)]
    fleet.wait_for(programs, 300)
    time.sleep(1)
    daemon.terminate()
    fleet.wait_for([daemon], 20)
    check(not fleet.spooled(), "messages were left in the spool")
    aggregator.terminate()
    fleet.wait_for([aggregator], 20)
    raw = fleet.raw()
    answer = fleet.lake()
    compare(raw, answer["kernels"], answer["losses"])
    # Again from the beginning: the lake knows what it has.
    before = sorted(fleet.folder.glob("lake/**/*.parquet"))
    fleet.run(fleet.bin / "rochound-fleet", "aggregate", "--bus", fleet.url(), "--lake", fleet.folder / "lake", "--once")
    check(sorted(fleet.folder.glob("lake/**/*.parquet")) == before, "a second run of the aggregator wrote something")
    asked = fleet.run(fleet.bin / "rochound-fleet", "ask", "--lake", fleet.folder / "lake",
                      "SELECT sum(launches)::BIGINT FROM sketches WHERE job = 'j1'").split()
    check(int(asked[-1]) == launches(raw), f"ask says {asked}")
    return f"{launches(raw)} launches in {len(before)} files"


def case_faults(fleet):
    """Daemon, server and aggregator are killed at random; in the end the lake has every launch once."""
    chooser = random.Random(11)
    parts = {"server": fleet.server}
    parts["daemon"] = lambda: fleet.daemon("--bus", fleet.url())
    running = {"server": fleet.server()}
    parts["aggregator"] = fleet.aggregator
    running |= {name: parts[name]() for name in ("daemon", "aggregator")}
    programs = [fleet.program(rank, 60 if FULL else 10) for rank in range(4 if FULL else 2)]
    kills = dict.fromkeys(parts, 0)
    while any(program.poll() is None for program in programs):
        time.sleep(chooser.uniform(0.1, 1.0))
        name = chooser.choice(sorted(parts))
        running[name].kill()
        running[name].wait()
        kills[name] += 1
        if name == "server":
            time.sleep(chooser.uniform(0, 1.5))  # the others see that it is away
        running[name] = parts[name]()
    for name in ("daemon", "aggregator"):
        running[name].kill()
        running[name].wait()
    fleet.run(fleet.bin / "rochoundd", "--state", fleet.folder / "state", "--host", "h1", "--once", "--bus", fleet.url())
    check(not fleet.spooled(), "messages were left in the spool")
    fleet.run(fleet.bin / "rochound-fleet", "aggregate", "--bus", fleet.url(), "--lake", fleet.folder / "lake", "--once")
    raw = fleet.raw()
    answer = fleet.lake()
    compare(raw, answer["kernels"], answer["losses"])
    twice = fleet.run(fleet.bin / "rochound-fleet", "ask", "--lake", fleet.folder / "lake",
                      "SELECT count(*) FROM (SELECT epoch, nth FROM sketches GROUP BY ALL HAVING count(DISTINCT sequence) > 1)")
    check(twice.split()[-1] == "0", f"messages stored twice: {twice}")
    check(all(kills.values()), f"kills {kills}")
    return f"{launches(raw)} launches, kills {kills}"


def case_up(fleet):
    """One command starts it all on one machine; what hangs is explained, what happened before is fetched."""
    folder = fleet.folder / "up"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    up = fleet.start([fleet.bin / "rochound-fleet", "up", "--local", folder, "--lake", fleet.folder / "elsewhere", "--port", port, "--interval", "1",
                      "--flush", "1"], "up.log")
    programs = [fleet.program(0, 3, "STUCK", ranks=3), fleet.program(1, 3, "STUCK", ranks=3), fleet.program(2, 3, "AWAY", ranks=3)]
    control = f"@{folder}/bus.control"

    def says(rank):
        path = fleet.folder / f"program{rank}.log"
        return path.exists() and "launched" in path.read_text(errors="replace")
    fleet.until("the programs have launched their kernels", lambda: all(says(rank) for rank in range(3)), 120)
    time.sleep(5)
    report = json.loads(fleet.run(fleet.bin / "rochound-fleet", "hang", "--bus", control, "--job", "j1", "--hosts", "1", "--json",
                                  codes=(3,)))
    waited = [rank["rank"] for rank in report["ranks"] if rank["waited_for"]]
    check(waited == [2], f"rank 2 is away, and the report says {json.dumps(report, indent=1)}")
    check("2 of 3 ranks wait" in report["conclusion"], report["conclusion"])
    check("code of its own" in next(rank["doing"] for rank in report["ranks"] if rank["rank"] == 2), str(report))
    # A stopped process is asked nothing either.
    stopped = subprocess.run(["pgrep", "-f", f"^{fleet.options.program} 3 AWAY"], capture_output=True, text=True, check=False).stdout.split()
    for pid in stopped:
        if str(fleet.folder) in pathlib.Path(f"/proc/{pid}/maps").read_text():
            os.kill(int(pid), signal.SIGSTOP)
    time.sleep(1.5)
    report = json.loads(fleet.run(fleet.bin / "rochound-fleet", "hang", "--bus", control, "--job", "j1", "--hosts", "1", "--json",
                                  codes=(3,)))
    check("stopped" in next(rank["doing"] for rank in report["ranks"] if rank["rank"] == 2), str(report))
    # The last seconds of all ranks, while they are stuck.
    window = fleet.folder / "window"
    fleet.run(fleet.bin / "rochound-fleet", "window", "--bus", control, "--job", "j1", "--from", "-60", "--hosts", "1",
              "--patience", "30", "-o", window)
    windows = sorted(window.glob("*/process-*"))
    check(len(windows) == 3, f"windows: {windows}")
    raw = raw_log.merged(windows)
    check(launches(raw) == launches(raw_log.merged(fleet.logs())), "the window does not hold every launch")
    fleet.run(fleet.bin / "rochound", "explain", "top", *sorted(window.glob("rank*")))
    def events():
        return json.loads(fleet.run(fleet.bin / "rochound-fleet", "events", "--bus", control, "--json"))
    fleet.until("an event", events, 60)
    found = events()
    check({(event["job"], event["kind"]) for event in found} == {("j1", "hang")}, f"events: {json.dumps(found, indent=1)}")
    fleet.run(fleet.bin / "rochound", "explain", "top", found[0]["trace"])
    # The lake has what has ended by now.
    up.terminate()
    fleet.wait_for([up], 40)
    for program in programs:
        os.killpg(program.pid, signal.SIGKILL)
    answer = json.loads(fleet.run(fleet.bin / "rochound-fleet", "kernels", "--lake", fleet.folder / "elsewhere", "--json"))
    check(not (folder / "lake").exists(), "--lake is not the only lake")
    found = raw_log.differences(raw, answer["kernels"])
    check(not found, "\n".join(found))
    return report["conclusion"]


def case_s3(fleet):
    """The lake on a real S3, whose gateway is killed while messages come: it waits, and nothing is missing or there twice."""
    with s3.storage(fleet, "lake") as ceph:
        fleet.server()
        daemon = fleet.daemon("--bus", fleet.url())
        aggregate = [fleet.bin / "rochound-fleet", "aggregate", "--bus", fleet.url(), "--lake", "s3://lake/prefix", "--flush", "1"]
        aggregator = fleet.start(aggregate, "aggregator.log")
        programs = [fleet.program(rank, 30 if FULL else 6) for rank in range(2)]
        time.sleep(4)
        ceph.kill("client.rgw.x")
        time.sleep(60 if FULL else 3)
        ceph.gateway()
        fleet.wait_for(programs, 300)
        time.sleep(1)
        daemon.terminate()
        fleet.wait_for([daemon], 20)
        aggregator.kill()
        aggregator.wait()
        fleet.run(*aggregate, "--once")
        raw = fleet.raw()
        answer = json.loads(fleet.run(fleet.bin / "rochound-fleet", "kernels", "--lake", "s3://lake/prefix", "--json"))
        compare(raw, answer["kernels"], answer["losses"])
        return f"{launches(raw)} launches"


def case_tenants(fleet):
    """mTLS and tokens: only the right certificate and the right tenant's user get anything through."""
    import keys as keys_module  # needs python3-nacl, as no other case does
    keys = keys_module.Keys(fleet.folder / "keys", ["one", "two"])
    for authority in ("ca", "stranger"):
        keys.authority(authority)
    for name, authority in (("server", "ca"), ("host", "ca"), ("forged", "stranger")):
        keys.certificate(name, authority)

    def host(tenant, name, **more):
        return keys.user(tenant, name, [f"rh.sk.{tenant}.>", f"rh.beat.{tenant}.>", "_INBOX.>", "$JS.API.STREAM.INFO.>",
                                        "$JS.API.STREAM.CREATE.>"], ["_INBOX.>", f"rh.ctl.{tenant}.>", f"rh.code.{tenant}.>"], **more)
    good, other, old = host("one", "good"), host("two", "other"), host("one", "old", seconds=-10)
    reader = keys.user("one", "reader", ["$JS.API.>"], ["_INBOX.>"])
    foreign = keys.user("two", "foreign", ["$JS.API.>"], ["_INBOX.>"])
    fleet.port = s3.free_ports(1)[0]
    (fleet.folder / "nats.conf").write_text(keys.server(fleet.port, fleet.folder / "nats"))
    fleet.server()
    program = fleet.program(0, 3)
    fleet.wait_for([program], 200)
    raw = fleet.raw()

    def reach(credentials, certificate="host"):
        return ["--bus", f"tls://127.0.0.1:{fleet.port}", "--credentials", credentials, "--authority", keys.folder / "ca.pem",
                "--certificate", keys.folder / f"{certificate}.pem", "--key", keys.folder / f"{certificate}.key"]

    def send(state, *more):
        """How many messages are left in the spool."""
        daemon = fleet.start([fleet.bin / "rochoundd", "--state", fleet.folder / state, "--host", state, "--tenant", "one", "--logs",
                              fleet.folder / "logs0", "--poll", "100", "--interval", "1", *more], f"{state}.log")
        time.sleep(3)
        daemon.terminate()
        fleet.wait_for([daemon], 30)
        return len(list((fleet.folder / state / "spool").glob("*.json")))

    def stored(credentials, lake):
        """Launches of tenant one that a reader gets."""
        aggregator = fleet.start([fleet.bin / "rochound-fleet", "aggregate", "--lake", fleet.folder / lake, "--tenant", "one", "--flush", "0",
                                  *reach(credentials)], f"{lake}.log")
        time.sleep(3)
        aggregator.terminate()
        aggregator.wait(30)
        if not list((fleet.folder / lake).glob("**/*.parquet")):
            return 0
        answer = json.loads(fleet.run(fleet.bin / "rochound-fleet", "kernels", "--lake", fleet.folder / lake, "--tenant", "one", "--json"))
        return sum(kernel["launches"] for kernel in answer["kernels"])
    check(send("forged", *reach(good, "forged")) > 0, "a certificate of a stranger got through")
    check(send("expired", *reach(old)) > 0, "an expired user got through")
    check(send("other", *reach(other)) > 0, "tenant two's user wrote to tenant one's subject")
    check(stored(reader, "before") == 0, "somebody got something through")
    check(send("right", *reach(good)) == 0, "the right one did not get through")
    check(stored(foreign, "stolen") == 0, "tenant two's user read tenant one's stream")
    got = stored(reader, "lake1")
    check(got == launches(raw), f"{got} of {launches(raw)} launches arrived")
    return f"{got} launches; a forged certificate, an expired user and two of another tenant got nothing"


CASES = {name.removeprefix("case_"): function for name, function in list(globals().items()) if name.startswith("case_")}


def main(cases):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--case", choices=cases)
    parser.add_argument("--bin")
    parser.add_argument("--gpu", default="mi300x")
    parser.add_argument("program", nargs="?")
    options = parser.parse_args()
    if options.list:
        print("\n".join(cases))
        return 0
    with tempfile.TemporaryDirectory(prefix="rochound-fleet-") as folder:
        fleet = Fleet(folder, options)
        try:
            print(f"PASS {options.case}: {cases[options.case](fleet)}")
            return 0
        except Failed as failure:
            print(f"FAIL {options.case}: {failure}\n{fleet.tail()}")
            return 1
        finally:
            fleet.end()


if __name__ == "__main__":
    sys.exit(main(CASES))
