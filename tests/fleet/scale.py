#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The fleet at size, on one machine: many ranks, many daemons, many connections. docs/scale.md has what it measured.

usage: scale.py --list | --case NAME --bin FOLDER --gpu GPU -- PROGRAM

ROCHOUND_FULL=1: 10^8 launches, 64 daemons.
"""

import json
import os
import pathlib
import select
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fleet as fleet_module  # noqa: E402
import history  # noqa: E402
import nats  # noqa: E402
import raw_log  # noqa: E402
from fleet import FULL, check  # noqa: E402

RING = 24 << 20
TICK = os.sysconf("SC_CLK_TCK")


def usage(child):
    """Seconds of processor time, and megabytes, of a running process."""
    fields = pathlib.Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1].split()
    pages = int(pathlib.Path(f"/proc/{child.pid}/statm").read_text().split()[1])
    return (int(fields[11]) + int(fields[12])) / TICK, pages * 4096 / 1e6


def stream(client, name="RH_SK_default_0"):
    return json.loads(client.request(f"$JS.API.STREAM.INFO.{name}", "", 10) or "{}").get("state", {"bytes": 0, "messages": 0})


def hosts_and_ranks(fleet, hosts, ranks, rate, launches, *more, interval=1):
    daemons = [fleet.daemon("--bus", fleet.url(), "--logs", fleet.folder / f"host{host}", *more, state=f"state{host}",
                            host=f"h{host}", interval=interval, poll=500) for host in range(hosts)]
    programs = [history.synthetic(fleet, f"host{host}", "--kernels", 100, "--rate", rate, "--launches", launches, "--ring", RING, "--seed",
                                  host * 1000 + rank, "--report", fleet.folder / f"report{host}.{rank}.json", "--hold", 3,
                                  rank=host * ranks + rank, name=f"synthetic{host}.{rank}") for host in range(hosts) for rank in range(ranks)]
    return daemons, programs


def case_exact_64(fleet):
    """64 ranks on eight hosts: what is in the lake is the sketch of all raw records, whose rings were overwritten meanwhile."""
    fleet.server()
    aggregator = fleet.aggregator()
    launches, rate = (1_562_500, 5000) if FULL else (8000, 800)
    begin = time.monotonic()
    daemons, programs = hosts_and_ranks(fleet, 8, 8, rate, launches, interval=10 if FULL else 2)
    fleet.wait_for(programs, 3600 if FULL else 300)
    fleet.until("all is sent", lambda: not list(fleet.folder.glob("state*/spool/*.json")), 60)
    time.sleep(2)
    for daemon in daemons:
        daemon.terminate()
    fleet.wait_for(daemons, 60)
    check(not list(fleet.folder.glob("state*/spool/*.json")), "messages were left in a spool")
    aggregator.terminate()
    fleet.wait_for([aggregator], 120)
    raw = history.reported(fleet.folder.glob("report*.json"))
    check(fleet_module.launches(raw) == 64 * launches, f"{fleet_module.launches(raw)} launches were recorded")
    answer = fleet.lake()
    fleet_module.compare(raw, answer["kernels"], answer["losses"])
    # Quantiles: within what is said of them.
    worst = 0
    for row in answer["kernels"]:
        times = sorted(exact_times(fleet, row["kernel"]).items())
        for part, got in ((0.5, row["p50_ns"]), (0.99, row["p99_ns"])):
            wanted, below = part * row["launches"], 0
            exact = next(ns for ns, count in times if (below := below + count) >= wanted)
            worst = max(worst, abs(got - exact) / exact)
    check(worst <= 0.0110, f"a quantile is off by {100 * worst:.2f}%")
    ranks = json.loads(history.command(fleet, "jobs", "--lake", fleet.folder / "lake", "--json"))[0]["ranks"]
    check(ranks == 64, f"{ranks} ranks")
    return f"{64 * launches} launches of 64 ranks, exact; quantiles within {100 * worst:.2f}%; {time.monotonic() - begin:.0f} s"


_times = {}


def exact_times(fleet, kernel):
    if not _times:
        for path in fleet.folder.glob("report*.json"):
            for name, times in json.loads(path.read_text()).items():
                known = _times.setdefault(name, {})
                for ns, count in times.items():
                    known[int(ns)] = known.get(int(ns), 0) + count
    return _times[kernel]


def case_daemons(fleet):
    """What daemons, server and aggregator take, at several numbers of hosts with one GPU each."""
    rows = []
    for hosts in (1, 8, 64) if FULL else (1, 4):
        with fleet_module.tempfile.TemporaryDirectory(prefix="rochound-fleet-") as folder:
            part = fleet_module.Fleet(folder, fleet.options)
            try:
                rows.append(measure(part, hosts))
            finally:
                part.end()
    print(json.dumps(rows, indent=1))
    check(all(row["losses"] == 0 for row in rows), "something was lost")
    return "; ".join(f"{row['hosts']} hosts: {row['daemon_percent_of_a_core']:.2f}% of a core each, {row['bytes_per_gpu_and_second']:.0f} B/s per GPU"
                     for row in rows)


def measure(fleet, hosts):
    server = fleet.server()
    fleet.until("the server answers", lambda: "Server is ready" in (fleet.folder / "nats.log").read_text(), 30)
    aggregator = fleet.aggregator(flush=10)
    rate = max(200, 20000 // hosts)
    interval = 30 if FULL else 10
    seconds = 3 * interval
    daemons, programs = hosts_and_ranks(fleet, hosts, 1, rate, rate * (seconds + 20), interval=interval)
    time.sleep(10)
    client = nats.Client(fleet.port)
    before, sent, begin = [usage(one) for one in (server, aggregator, *daemons)], stream(client), time.monotonic()
    time.sleep(seconds)
    after, received, elapsed = [usage(one) for one in (server, aggregator, *daemons)], stream(client), time.monotonic() - begin
    client.close()
    for program in programs:
        program.terminate()
    fleet.wait_for(programs, 60)
    time.sleep(3)
    for daemon in daemons:
        daemon.terminate()
    fleet.wait_for(daemons, 60)
    aggregator.terminate()
    fleet.wait_for([aggregator], 60)
    answer = fleet.lake()
    found = raw_log.differences(history.reported(fleet.folder.glob("report*.json")), answer["kernels"])
    check(not found, "\n".join(found))
    percent = [100 * (two[0] - one[0]) / elapsed for one, two in zip(before, after)]
    return {"hosts": hosts, "launches_per_second_and_gpu": rate, "interval_s": interval,
            "daemon_percent_of_a_core": sum(percent[2:]) / hosts,
            "daemon_ns_per_launch": sum(percent[2:]) / hosts * 1e7 / rate,
            "daemon_mb": max(two[1] for two in after[2:]),
            "server_percent_of_a_core": percent[0], "server_mb": after[0][1],
            "aggregator_percent_of_a_core": percent[1], "aggregator_mb": after[1][1],
            "messages": received["messages"] - sent["messages"],
            "bytes_per_gpu_and_second": (received["bytes"] - sent["bytes"]) / elapsed / hosts * interval / 60,
            "losses": sum(loss["count"] for loss in answer["losses"])}


def case_connections(fleet):
    """A request to 1,000 connections, each of which answers as a daemon does."""
    count = 1000
    server = fleet.server()
    fleet.until("the server answers", lambda: "Server is ready" in (fleet.folder / "nats.log").read_text(), 30)
    clients = [nats.Client(fleet.port) for _ in range(count)]
    by_file = {}
    poll = select.epoll()
    for number, client in enumerate(clients):
        client.send(f"SUB rh.ctl.default.all 1\r\nSUB rh.ctl.default.host.h{number} 2\r\n".encode())
        client.socket.setblocking(False)
        by_file[client.socket.fileno()] = number
        poll.register(client.socket.fileno(), select.EPOLLIN)
    ended = threading.Event()

    def answer():
        while not ended.is_set():
            for file, _ in poll.poll(0.2):
                number = by_file[file]
                data = clients[number].socket.recv(65536)
                for line in data.split(b"\r\n"):
                    if line.startswith(b"MSG") and len(line.split()) == 5:
                        text = json.dumps({"version": 1, "host": f"h{number}", "now_ns": time.time_ns(), "looked_ns": time.time_ns(), "cards": [
                            {"rank": number, "ranks": count, "pid": 1, "state": "running", "dispatches": 5, "launches": 5, "in_flight": 0,
                             "oldest": [], "collectives": 0, "last_end_ns": 0, "recorder_silent_ns": 0, "open_calls": [], "communicators": [], "exact": True}]}).encode()
                        clients[number].send(f"PUB {line.split()[3].decode()} {len(text)}\r\n".encode() + text + b"\r\n")
                    elif line.startswith(b"PING"):
                        clients[number].send(b"PONG\r\n")
    thread = threading.Thread(target=answer)
    thread.start()
    try:
        times = []
        for _ in range(5):
            begin = time.monotonic()
            told = json.loads(fleet.run(fleet.bin / "rochound-fleet", "hang", "--bus", fleet.url(), "--job", "j1", "--hosts", count, "--patience", "20",
                                        "--json"))
            times.append(time.monotonic() - begin)
            check(len(told["ranks"]) == count, f"{len(told['ranks'])} ranks answered")
        _, memory = usage(server)
    finally:
        ended.set()
        thread.join()
    print(json.dumps({"connections": count, "seconds": sorted(times), "server_mb": memory}))
    return f"{count} daemons answer within {sorted(times)[2]:.2f} s (the command included); the server takes {memory:.0f} MB"


CASES = {name.removeprefix("case_"): function for name, function in list(globals().items()) if name.startswith("case_")}

if __name__ == "__main__":
    sys.exit(fleet_module.main(CASES))
