#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What goes wrong in a fleet: servers, links, disks, clocks, credentials, forged messages. One case per test.

usage: faults.py --list | --case NAME --bin FOLDER --gpu GPU -- PROGRAM

In each case programs run on, everything that was launched arrives once, what is lost is said, and nobody has to help.
ROCHOUND_FULL=1 runs a case at full size. Cases with links and disks need root: they run in namespaces of their own.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fleet as fleet_module  # noqa: E402
import history  # noqa: E402
import nats  # noqa: E402
import raw_log  # noqa: E402
import s3  # noqa: E402
from fleet import FULL, check  # noqa: E402


def ask(fleet, sql):
    return history.command(fleet, "ask", "--lake", fleet.folder / "lake", sql).split("\n")[1].split("\t")


def settle(fleet, daemon, aggregator):
    """Ends both in order; what they had to do is done."""
    time.sleep(1)
    fleet.until("all messages are sent", lambda: not list((fleet.folder / "state/spool").glob("*.json")) or daemon.poll() is not None, 120)
    daemon.terminate()
    fleet.wait_for([daemon], 40)
    check(not fleet.spooled(), "messages were left in the spool")
    aggregator.terminate()
    fleet.wait_for([aggregator], 40)


def all_stored(fleet, daemon, aggregator, *of_lake):
    """How many launches there were, all of which are in the lake once both have ended."""
    settle(fleet, daemon, aggregator)
    raw = fleet.raw()
    answer = fleet.lake(*of_lake)
    fleet_module.compare(raw, answer["kernels"], answer["losses"])
    return fleet_module.launches(raw)


def steady(folders, begin, end):
    """How fast programs launched between two instants (CLOCK_REALTIME), compared with the rest, and the longest pause between launches."""
    inside, outside, inside_seconds, outside_seconds, pause = 0, 0, 0, 0, 0
    for folder in folders:
        times = raw_log.submit_times(folder)
        check(len(times) > 100, f"{folder} has {len(times)} launches")
        inside += sum(begin <= at < end for at in times)
        outside += sum(not begin <= at < end for at in times)
        first, last = times[0], times[-1]
        overlap = max(0, min(last, end) - max(first, begin))
        inside_seconds += overlap
        outside_seconds += last - first - overlap
        pause = max([pause, *(after - before for before, after in zip(times, times[1:]))])
    return inside / max(inside_seconds, 0.1) / max(1, outside / max(outside_seconds, 0.1)), pause


def unharmed(fleet, twin, begin, end, most_pause=3):
    """The programs did not notice. Other work on this machine makes rates differ: those of a twin without a daemon too."""
    fleet.wait_for([twin], 300)
    rate, pause = steady(fleet.logs(), begin, end)
    rate /= steady(list(fleet.folder.glob("twin/process-*")), begin, end)[0]
    check(rate > 0.4, f"while things were broken, programs launched {rate:.2f} times as fast as the twin")
    check(pause < most_pause, f"a program launched nothing for {pause:.1f} s")
    return f"rate {rate:.2f} of that before and after, as the twin's is 1, longest pause {pause:.2f} s"


class Cluster:
    """Three nats-servers."""

    def __init__(self, fleet):
        self.fleet = fleet
        ports = s3.free_ports(9)
        self.clients, self.routes, self.monitors = ports[:3], ports[3:6], ports[6:]
        routes = ", ".join(f"nats://127.0.0.1:{port}" for port in self.routes)
        for i in range(3):
            (fleet.folder / f"n{i}.conf").write_text(
                f'server_name: n{i}\nlisten: 127.0.0.1:{self.clients[i]}\nhttp: 127.0.0.1:{self.monitors[i]}\nmax_payload: 8MB\n'
                f'jetstream {{ store_dir: "{fleet.folder}/n{i}", max_file_store: 1GB, max_mem_store: 64MB }}\n'
                f'cluster {{ name: fleet, listen: 127.0.0.1:{self.routes[i]}, routes: [{routes}] }}\n')
        self.children = [self.start(i) for i in range(3)]
        fleet.until("the cluster has a leader", lambda: any(self.information(i, "jsz").get("meta_cluster", {}).get("leader")
                                                            for i in range(3)), 60)

    def start(self, i):
        return self.fleet.start(["nats-server", "-c", self.fleet.folder / f"n{i}.conf"], f"n{i}.log")

    def information(self, i, what):
        with contextlib.suppress(OSError, ValueError), urllib.request.urlopen(f"http://127.0.0.1:{self.monitors[i]}/{what}", timeout=3) as answer:
            return json.load(answer)
        return {}

    def leader(self, stream):
        """The number of the server that leads this stream."""
        for i in range(3):
            for account in self.information(i, "jsz?accounts=true&streams=true&config=false").get("account_details", []):
                for detail in account.get("stream_detail", []):
                    if detail["name"] == stream and detail.get("cluster", {}).get("leader"):
                        return int(detail["cluster"]["leader"][1:])
        return None

    def urls(self):
        return [word for port in self.clients for word in ("--bus", f"nats://127.0.0.1:{port}")]


def case_cluster(fleet):
    """Each of three servers is killed, then the stream's leader; the leader, the daemon and the aggregator are stopped for a while."""
    cluster = Cluster(fleet)
    daemon = fleet.daemon(*cluster.urls(), "--replicas", "3")
    aggregator = fleet.start([fleet.bin / "rochound-fleet", "aggregate", *cluster.urls(), "--replicas", "3", "--lake", fleet.folder / "lake",
                              "--flush", "1"], "aggregator.log")
    rounds = 3 if FULL else 1
    programs = [fleet.program(rank, 60 * rounds + 20) for rank in range(2 if FULL else 1)]
    twin = fleet.twin(60 * rounds + 20)
    fleet.until("something is stored", lambda: list(fleet.folder.glob("lake/sketches/**/*.parquet")), 60)
    leader = cluster.leader("RH_SK_default_0")
    check(leader is not None, "the stream has no leader")
    begin = time.time()
    leaders = []
    for _ in range(rounds):
        for i in range(3):
            cluster.children[i].kill()
            cluster.children[i].wait()
            time.sleep(3)
            cluster.children[i] = cluster.start(i)
            time.sleep(3)
        fleet.until("the stream has a leader", lambda: cluster.leader("RH_SK_default_0") is not None, 60)
        leaders.append(cluster.leader("RH_SK_default_0"))
        cluster.children[leaders[-1]].kill()
        cluster.children[leaders[-1]].wait()
        time.sleep(8)
        cluster.children[leaders[-1]] = cluster.start(leaders[-1])
        fleet.until("the stream has a leader", lambda: cluster.leader("RH_SK_default_0") is not None, 60)
        for child in (cluster.children[cluster.leader("RH_SK_default_0")], daemon, aggregator):
            os.kill(child.pid, signal.SIGSTOP)
            time.sleep(5)
            os.kill(child.pid, signal.SIGCONT)
    end = time.time()
    fleet.wait_for(programs, 300)
    launches = all_stored(fleet, daemon, aggregator)
    return f"{launches} launches; leaders killed: {leaders}; {unharmed(fleet, twin, begin, end)}"


class Link:
    """A host of its own, in a network namespace, with a cable to this one. The test itself is in one, too."""

    def __init__(self, fleet):
        self.here, self.there = "10.77.0.1", "10.77.0.2"
        self.holder = fleet.start(["unshare", "--net", "sleep", "100000"], "link.log")
        time.sleep(0.5)
        self.run("ip", "link", "set", "lo", "up")
        self.run("ip", "link", "add", "cable", "type", "veth", "peer", "name", "other")
        self.run("ip", "link", "set", "other", "netns", self.holder.pid)
        self.run("ip", "addr", "add", f"{self.here}/24", "dev", "cable")
        self.run("ip", "link", "set", "cable", "up")
        self.enter = ["nsenter", "--net", "--target", str(self.holder.pid), "--"]
        for command in (["ip", "link", "set", "lo", "up"], ["ip", "addr", "add", f"{self.there}/24", "dev", "other"],
                        ["ip", "link", "set", "other", "up"]):
            self.run(*self.enter, *command)

    @staticmethod
    def run(*command):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        check(done.returncode == 0, f"{' '.join(map(str, command))}: {done.stderr}")

    def cut(self):
        self.run("ip", "link", "set", "cable", "down")

    def mend(self):
        self.run("ip", "link", "set", "cable", "up")

    def slow(self, rate):
        for device, enter in (("cable", []), ("other", self.enter)):
            self.run(*enter, "tc", "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate, "burst", "2000", "latency", "400ms")

    def fast(self):
        for device, enter in (("cable", []), ("other", self.enter)):
            self.run(*enter, "tc", "qdisc", "del", "dev", device, "root")


def alone(*kinds):
    """Runs a case again in namespaces of its own, where it may change the network and mount."""
    def wrap(case):
        def run(fleet):
            if os.environ.get("ROCHOUND_TEST_ALONE"):
                return case(fleet)
            words = [sys.executable, "-B", __file__, "--case", case.__name__.removeprefix("case_"), "--bin", fleet.bin, "--gpu", fleet.options.gpu,
                     fleet.options.program]
            done = subprocess.run(["unshare", *kinds, *(str(word) for word in words)], capture_output=True, text=True, check=False,
                                  env={**os.environ, "ROCHOUND_TEST_ALONE": "1"})
            check(done.returncode == 0, done.stdout + done.stderr)
            return done.stdout.split(": ", 1)[1].strip()
        run.__name__, run.__doc__ = case.__name__, case.__doc__
        return run
    return wrap


def across(fleet):
    """A server here, and a daemon on the other side of a link."""
    link = Link(fleet)
    fleet.port = 4222
    (fleet.folder / "nats.conf").write_text(f'listen: {link.here}:4222\nmax_payload: 8MB\n'
                                            f'jetstream {{ store_dir: "{fleet.folder}/nats", max_file_store: 1GB, max_mem_store: 64MB }}\n')
    fleet.server()
    url = f"nats://{link.here}:4222"
    daemon = fleet.start([*link.enter, fleet.bin / "rochoundd", "--state", fleet.folder / "state", "--host", "h1", "--interval", "1", "--grace", "0.5",
                          "--poll", "100", "--beat", "1", "--bus", url], "rochoundd.log")
    aggregator = fleet.start([fleet.bin / "rochound-fleet", "aggregate", "--bus", url, "--lake", fleet.folder / "lake", "--flush", "1"],
                             "aggregator.log")
    return link, daemon, aggregator


@alone("--net")
def case_partition(fleet):
    """The link between a host and the bus is cut, twice, the second time for longer than a connection lives."""
    link, daemon, aggregator = across(fleet)
    second = 90 if FULL else 40
    program = fleet.program(0, 45 + second)
    twin = fleet.twin(45 + second)
    fleet.until("something is stored", lambda: list(fleet.folder.glob("lake/sketches/**/*.parquet")), 60)
    begin = time.time()
    for seconds in (6, second):
        link.cut()
        time.sleep(seconds)
        waiting = len(list((fleet.folder / "state/spool").glob("*.json")))
        check(waiting >= 3, f"{waiting} messages wait after {seconds} s without a link")
        link.mend()
        fleet.until("the messages that waited are sent", lambda: len(list((fleet.folder / "state/spool").glob("*.json"))) < 3, 60)
    end = time.time()
    fleet.wait_for([program], 300)
    launches = all_stored(fleet, daemon, aggregator)
    return f"{launches} launches; {unharmed(fleet, twin, begin, end)}"


@alone("--net")
def case_slow_link(fleet):
    """The link becomes slower than what is to be sent: messages wait on disk, and all arrive."""
    link, daemon, aggregator = across(fleet)
    program = fleet.program(0, 45)
    twin = fleet.twin(45)
    fleet.until("something is stored", lambda: list(fleet.folder.glob("lake/sketches/**/*.parquet")), 60)
    begin = time.time()
    link.slow("4kbit")
    time.sleep(25)
    waiting = len(list((fleet.folder / "state/spool").glob("*.json")))
    check(waiting >= 3, f"{waiting} messages wait on a slow link")
    link.fast()
    end = time.time()
    fleet.wait_for([program], 300)
    launches = all_stored(fleet, daemon, aggregator)
    return f"{launches} launches; {waiting} messages waited; {unharmed(fleet, twin, begin, end)}"


@alone("--mount", "--propagation", "unchanged")
def case_full_disk(fleet):
    """The daemon's disk fills up, and the lake's: both wait for room, and nothing is missing in the end."""
    names = ("state", "lake")
    for name in names:
        (fleet.folder / name).mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", fleet.folder / name], check=True)
    try:
        return full_disk(fleet)
    finally:
        for name in names:
            subprocess.run(["umount", "--lazy", fleet.folder / name], check=True)


def full_disk(fleet):
    fleet.server()
    daemon = fleet.daemon("--bus", fleet.url())
    aggregator = fleet.aggregator()
    program = fleet.program(0, 50)
    twin = fleet.twin(50)
    fleet.until("something is stored", lambda: list(fleet.folder.glob("lake/sketches/**/*.parquet")), 60)

    def fill(name):
        with open(fleet.folder / name / "filler", "wb", buffering=0) as out, contextlib.suppress(OSError):
            while True:
                out.write(b"x" * 512)
    begin = time.time()
    for name in ("state", "lake"):
        fill(name)
        before = len(list(fleet.folder.glob("lake/sketches/**/*.parquet")))
        time.sleep(8)
        after = len(list(fleet.folder.glob("lake/sketches/**/*.parquet")))
        check(after - before <= 4, f"with {name} full, {after - before} files came")
        (fleet.folder / name / "filler").unlink()
        fleet.until(f"with room again, files come ({name})", lambda: len(list(fleet.folder.glob("lake/sketches/**/*.parquet"))) > after, 60)
    end = time.time()
    said = (fleet.folder / "rochoundd.log").read_text()
    check("No space left" in said, f"the daemon says nothing about the full disk: {said}")
    fleet.wait_for([program], 300)
    launches = all_stored(fleet, daemon, aggregator)
    return f"{launches} launches; {unharmed(fleet, twin, begin, end)}"


def case_clocks(fleet):
    """Hosts whose clocks are wrong by a day, by an hour, and one that is set back by two hours: everything arrives, at once."""
    fleet.server()
    preload = str(fleet.bin / "fleet_skew.so")
    skews = {"ahead": 86400, "behind": -3600, "jumps": 7200}
    daemons, programs = [], []
    for host, seconds in skews.items():
        (fleet.folder / f"skew.{host}").write_text(str(seconds))
        wrong = {"LD_PRELOAD": preload, "ROCHOUND_TEST_SKEW": str(fleet.folder / f"skew.{host}")}
        daemons.append(fleet.start([fleet.bin / "rochoundd", "--state", fleet.folder / f"state.{host}", "--host", host, "--logs",
                                    fleet.folder / host, "--interval", "1", "--grace", "0.5", "--poll", "100", "--bus", fleet.url()],
                                   f"{host}.log", **wrong))
        programs.append(fleet.start([fleet.bin / "fleet_synthetic", fleet.folder / host, "--kernels", "5", "--rate", "1000", "--launches",
                                     60000 if FULL else 15000, "--report", fleet.folder / f"report.{host}.json", "--hold", "1"],
                                    f"synthetic.{host}.log", ROCHOUND_JOB=host, ROCHOUND_RANK="0", **wrong))
    aggregator = fleet.aggregator()
    time.sleep(6)
    (fleet.folder / "skew.jumps").write_text("0")
    # What was recorded before the clock was set back does not wait for two hours.
    time.sleep(5)
    early = int(ask(fleet, "SELECT coalesce(sum(launches), 0)::BIGINT FROM sketches WHERE host = 'jumps'")[0])
    check(early > 4000, f"only {early} launches of the host whose clock was set back have come")
    fleet.wait_for(programs, 120)
    time.sleep(2)
    for daemon in daemons:
        daemon.terminate()
    fleet.wait_for(daemons, 40)
    aggregator.terminate()
    fleet.wait_for([aggregator], 40)
    raw = history.reported(fleet.folder.glob("report.*.json"))
    answer = fleet.lake()
    fleet_module.compare(raw, answer["kernels"], answer["losses"])
    days = {row["day"] for row in json.loads(history.command(fleet, "kernels", "--lake", fleet.folder / "lake", "--by", "day", "--json"))["kernels"]}
    check(len(days) >= 2, f"days {days}")
    return f"{fleet_module.launches(raw)} launches of three hosts, on the days {', '.join(sorted(days))}"


def case_credentials(fleet):
    """A host's credentials expire while it runs, and are renewed a while later."""
    import keys as keys_module  # needs python3-nacl
    keys = keys_module.Keys(fleet.folder / "keys", ["one"])
    keys.authority("ca")
    for name in ("server", "host"):
        keys.certificate(name, "ca")

    def host(seconds):
        return keys.user("one", "host", ["rh.sk.one.>", "rh.beat.one.>", "_INBOX.>", "$JS.API.STREAM.INFO.>", "$JS.API.STREAM.CREATE.>"],
                         ["_INBOX.>", "rh.ctl.one.>", "rh.code.one.>"], seconds=seconds)
    reader = keys.user("one", "reader", ["$JS.API.>", "rh.code.>"], ["_INBOX.>"])
    fleet.port = s3.free_ports(1)[0]
    (fleet.folder / "nats.conf").write_text(keys.server(fleet.port, fleet.folder / "nats"))
    fleet.server()
    tls = ["--bus", f"tls://127.0.0.1:{fleet.port}", "--authority", keys.folder / "ca.pem", "--certificate", keys.folder / "host.pem", "--key",
           keys.folder / "host.key"]
    program = fleet.program(0, 35)
    twin = fleet.twin(35)
    fleet.until("the program runs", fleet.logs, 60)
    credentials = host(8)
    daemon = fleet.daemon("--tenant", "one", "--credentials", credentials, *tls)
    aggregator = fleet.start([fleet.bin / "rochound-fleet", "aggregate", "--tenant", "one", "--credentials", reader, *tls, "--lake",
                              fleet.folder / "lake", "--flush", "1"], "aggregator.log")
    fleet.until("something is stored", lambda: list(fleet.folder.glob("lake/sketches/**/*.parquet")), 60)
    begin = time.time()
    time.sleep(20)
    waiting = len(list((fleet.folder / "state/spool").glob("*.json")))
    check(waiting >= 5, f"{waiting} messages wait although the credentials have expired")
    host(10000)
    fleet.until("the messages that waited are sent", lambda: len(list((fleet.folder / "state/spool").glob("*.json"))) < 3, 60)
    end = time.time()
    fleet.wait_for([program], 300)
    launches = all_stored(fleet, daemon, aggregator, "--tenant", "one")
    return f"{launches} launches; {waiting} messages waited; {unharmed(fleet, twin, begin, end)}"


USERS = """authorization {{ users: [
  {{ user: h1, password: one, permissions: {{ publish: {{ allow: ["rh.sk.default.*.*.h1", "rh.beat.default.*.h1", "_INBOX.>",
     "$JS.API.STREAM.INFO.>", "$JS.API.STREAM.CREATE.>"] }}, subscribe: {{ allow: ["_INBOX.>", "rh.ctl.default.>", "rh.code.default.h1"] }} }} }}
  {{ user: h2, password: two, permissions: {{ publish: {{ allow: ["rh.sk.default.*.*.h2", "rh.beat.default.*.h2", "_INBOX.>"] }}, subscribe: {{ allow: ["_INBOX.>"] }} }} }}
  {{ user: reader, password: three, permissions: {{ publish: {{ allow: ["$JS.API.>", "rh.code.default.>"] }}, subscribe: {{ allow: ["_INBOX.>"] }} }} }}
  {{ user: control, password: four, permissions: {{ publish: {{ allow: ["rh.ctl.default.>"] }}, subscribe: {{ allow: ["_INBOX.>"] }} }} }}
] }}
"""


def case_forged(fleet):
    """Messages that were sent again, altered, made up, or sent by somebody who may not: nothing of them counts, and each that got
    into the stream is a row that says so."""
    fleet.port = s3.free_ports(1)[0]
    (fleet.folder / "nats.conf").write_text(f'listen: 127.0.0.1:{fleet.port}\njetstream {{ store_dir: "{fleet.folder}/nats" }}\n' + USERS.format())
    fleet.server()
    url = "nats://{}@127.0.0.1:" + str(fleet.port)
    # The messages that will be sent are kept: what an honest host says.
    program = history.synthetic(fleet, "host", "--kernels", 5, "--launches", 6000, "--rate", 2000, "--report", fleet.folder / "report0.json")
    daemon = fleet.daemon("--logs", fleet.folder / "host")
    fleet.wait_for([program], 60)
    time.sleep(1)
    daemon.terminate()
    fleet.wait_for([daemon], 20)
    messages = fleet.spooled()
    check(len(messages) >= 3, f"{len(messages)} messages")
    daemon = fleet.daemon("--logs", fleet.folder / "host", "--bus", url.format("h1:one"))
    fleet.until("all is sent", lambda: not fleet.spooled(), 60)
    aggregate = [fleet.bin / "rochound-fleet", "aggregate", "--bus", url.format("reader:three"), "--lake", fleet.folder / "lake", "--flush", "0"]
    fleet.run(*aggregate, "--once")
    raw = history.reported([fleet.folder / "report0.json"])
    answer = fleet.lake()
    fleet_module.compare(raw, answer["kernels"], answer["losses"])
    shown = json.dumps(answer["kernels"])
    subject = "rh.sk.default.0.j1.{}"
    one = nats.Client(fleet.port, "h1", "one")
    # A host's own messages, sent again with other ids: each counts once.
    for number, message in enumerate(messages):
        one.publish(subject.format("h1"), json.dumps(message), f"again{number}")
    fleet.run(*aggregate, "--once")
    answer = fleet.lake()
    check(json.dumps(answer["kernels"]) == shown and not answer["losses"], "messages that were sent again count")
    # One host in the name of another: on its own subject it is refused, on the other's the server does not let it.
    two = nats.Client(fleet.port, "h2", "two")
    forged = {**messages[0], "number": 1000, "nth": 1000}
    two.publish(subject.format("h2"), json.dumps(forged), "forged1")
    two.publish(subject.format("h1"), json.dumps(forged), "forged2")
    check(any("Permissions Violation" in error for error in two.errors), f"h2 may write h1's subject: {two.errors}")
    # Things that are no messages, on a subject that one may write to.
    good = {**messages[0], "host": "h2", "epoch": "e"}
    wrong = ["", "nonsense", "[]", "{}", json.dumps({**good, "tenant": "other"}), json.dumps({**good, "shard": 7}),
             json.dumps({**good, "job": "j2"}), json.dumps({**good, "rows": [{**good["rows"][0], "launches": "many"}]}),
             json.dumps({**good, "rows": [{**good["rows"][0], "launches": -1}]}),
             json.dumps({**good, "rows": [{**good["rows"][0], "buckets": [10**30]}]}), json.dumps({**good, "nth": -1}),
             json.dumps({**good, "rows": [{**good["rows"][0], "launches": good["rows"][0]["launches"] + 1}]})]
    for number, text in enumerate(wrong):
        two.publish(subject.format("h2"), text, f"wrong{number}")
    fleet.run(*aggregate, "--once")
    answer = fleet.lake()
    check(json.dumps(answer["kernels"]) == shown, "a forged message counts")
    refused = sum(loss["count"] for loss in answer["losses"] if loss["what"].startswith("messages refused"))
    check(refused == len(wrong) + 1, f"{refused} refused: {answer['losses']}")
    host = ask(fleet, "SELECT string_agg(DISTINCT host, ',') FROM sketches WHERE loss LIKE 'messages refused%'")[0]
    check(host == "h2", f"refused messages are said to be of {host}")
    # Requests by those who may not ask.
    card = json.dumps({"what": "cards", "job": "j1"})
    check(two.request("rh.ctl.default.all", card) is None, "h2 got a card")
    check(two.request("rh.code.default.h1", json.dumps({"hash": "0" * 32})) is None, "h2 got code")
    reader = nats.Client(fleet.port, "reader", "three")
    check(reader.request("rh.ctl.default.all", card) is None, "a reader controls")
    # The honest host goes on, and answers who may ask.
    more = history.synthetic(fleet, "host", "--kernels", 5, "--launches", 3000, "--rate", 2000, "--seed", 2, "--report", fleet.folder / "report1.json",
                             "--hold", 10, name="synthetic1")
    time.sleep(2)
    control = nats.Client(fleet.port, "control", "four")
    answer = control.request("rh.ctl.default.all", card, 10)
    check(answer is not None and json.loads(answer)["host"] == "h1", f"control gets {answer}")
    check(control.request("$JS.API.STREAM.INFO.RH_SK_default_0") is None, "control reads streams")
    fleet.wait_for([more], 60)
    time.sleep(1)
    daemon.terminate()
    fleet.wait_for([daemon], 20)
    fleet.run(*aggregate, "--once")
    found = raw_log.differences(history.reported(fleet.folder.glob("report*.json")), fleet.lake()["kernels"])
    check(not found, "\n".join(found))
    return f"{len(messages)} sent again, {len(wrong) + 2} forged: {refused} refused, nothing counts"


CASES = {name.removeprefix("case_"): function for name, function in list(globals().items()) if name.startswith("case_")}

if __name__ == "__main__":
    sys.exit(fleet_module.main(CASES))
