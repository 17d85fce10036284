#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Series of ranks in a real VictoriaMetrics, sent by OTLP.

usage: metrics.py --list | --case NAME --bin FOLDER --gpu GPU -- PROGRAM
"""

import json
import math
import pathlib
import sys
import time
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fleet as fleet_module  # noqa: E402
import history  # noqa: E402
import s3  # noqa: E402
from fleet import check  # noqa: E402


class Victoria:
    def __init__(self, fleet):
        self.fleet = fleet
        self.url = f"http://127.0.0.1:{s3.free_ports(1)[0]}"
        self.child = self.start()

    def start(self):
        child = self.fleet.start(["victoria-metrics", "-httpListenAddr", self.url.removeprefix("http://"), "-storageDataPath",
                                  self.fleet.folder / "metrics", "-memory.allowedBytes", "128MB", "-search.latencyOffset", "0s"], "metrics.log")
        self.fleet.until("VictoriaMetrics answers", lambda: self.get("/health"), 60)
        return child

    def get(self, path, **words):
        try:
            with urllib.request.urlopen(f"{self.url}{path}?{urllib.parse.urlencode(words)}", timeout=10) as answer:
                return answer.read().decode()
        except OSError:
            return None

    def values(self, query):
        """By rank."""
        self.get("/internal/force_flush")  # what came just now is not searched otherwise
        answer = json.loads(self.get("/api/v1/query", query=query) or '{"data": {"result": []}}')
        return {one["metric"].get("rank"): float(one["value"][1]) for one in answer["data"]["result"]}

    def series(self, match):
        return json.loads(self.get("/api/v1/series", **{"match[]": match}))["data"]


def quantile(kernels, part):
    """Of all launches, exact."""
    times = sorted((ns, count) for kernel in kernels for ns, count in kernel.items())
    wanted, below = part * sum(count for _, count in times), 0
    for ns, count in times:
        below += count
        if below >= wanted:
            return ns
    return 0


def case_metrics(fleet):
    """What VictoriaMetrics has is what was launched, though the aggregator and the server of metrics were killed meanwhile."""
    victoria = Victoria(fleet)
    fleet.server()
    daemon = fleet.daemon("--bus", fleet.url(), "--logs", fleet.folder / "host")
    otlp = ["--otlp", f"{victoria.url}/opentelemetry/v1/metrics", "--otlp-every", "2"]
    aggregator = fleet.aggregator(*otlp)
    ranks = 3
    programs = [history.synthetic(fleet, "host", "--kernels", 6, "--rate", 1000, "--launches", 24000 + 1000 * rank, "--speed", 1 + rank,
                                  "--seed", rank, "--report", fleet.folder / f"report{rank}.json", "--hold", 4, rank=rank,
                                  name=f"synthetic{rank}") for rank in range(ranks)]
    fleet.until("the first values are there", lambda: len(victoria.values("rochound_launches_total")) == ranks, 60)
    aggregator.kill()
    aggregator.wait()
    victoria.child.kill()
    victoria.child.wait()
    aggregator = fleet.aggregator(*otlp)
    time.sleep(2)
    victoria.child = victoria.start()
    fleet.until("beats are there", lambda: len(victoria.values("rochound_dispatches_total")) == ranks, 60)
    state = victoria.values("rochound_process_state")
    check(set(state.values()) <= {0, 1}, f"states {state}")
    fleet.wait_for(programs, 120)
    time.sleep(1)
    daemon.terminate()
    fleet.wait_for([daemon], 20)
    check(not fleet.spooled(), "messages were left in the spool")
    aggregator.terminate()
    fleet.wait_for([aggregator], 60)
    stored = fleet.lake()
    fleet_module.compare(history.reported(fleet.folder.glob("report*.json")), stored["kernels"], stored["losses"])
    reports = [json.loads((fleet.folder / f"report{rank}.json").read_text()) for rank in range(ranks)]
    found = {}
    for rank, report in enumerate(reports):
        kernels = [{int(ns): count for ns, count in times.items()} for times in report.values()]
        want = sum(sum(times.values()) for times in kernels)
        sums = {name: victoria.values(f"rochound_{name}")[str(rank)] for name in ("launches_total", "busy_seconds_total", "lost_total",
                                                                                 "untimed_launches_total")}
        check(sums["launches_total"] == want, f"rank {rank}: {sums['launches_total']} launches, {want} were recorded; "
              + victoria.get("/api/v1/query_range", query="rochound_launches_total", start=time.time() - 60, step="1s"))
        busy = sum(ns * count for times in kernels for ns, count in times.items()) * 1e-9
        check(math.isclose(sums["busy_seconds_total"], busy, rel_tol=1e-9), f"rank {rank}: busy {sums['busy_seconds_total']} s instead of {busy} s")
        check(sums["lost_total"] == 0 and sums["untimed_launches_total"] == 0, f"rank {rank}: {sums}")
        counted = victoria.values("rochound_kernel_duration_nanoseconds_count")[str(rank)]
        check(counted == want, f"rank {rank}: the histogram has {counted}")
        # A bucket is a power of two, within which VictoriaMetrics interpolates.
        for part in (0.5, 0.9):
            got = victoria.values(f"histogram_quantile({part}, sum(rochound_kernel_duration_nanoseconds_bucket) by (rank, vmrange))")[str(rank)]
            exact = quantile(kernels, part)
            check(exact / 2 <= got <= exact * 2, f"rank {rank}: quantile {part} is {got}, exactly {exact}")
        fine = victoria.values('rochound_kernel_seconds{quantile="0.5"}')[str(rank)] * 1e9
        check(math.isclose(fine, quantile(kernels, 0.5), rel_tol=0.15), f"rank {rank}: median of the last interval {fine}, of all {quantile(kernels, 0.5)}")
        found[rank] = len(victoria.series(f'{{rank="{rank}"}}'))
    # An alert: kernels take longer on one rank than on the others.
    slow = victoria.values('rochound_kernel_seconds{quantile="0.5"} > on() group_left() 1.4 * median(rochound_kernel_seconds{quantile="0.5"})')
    check(set(slow) == {"2"}, f"slower than the others: {slow}")
    check(all(15 <= count <= 40 for count in found.values()), f"series per rank: {found}")
    return f"{sum(found.values()) / ranks:.0f} series per rank, counters exact"


CASES = {name.removeprefix("case_"): function for name, function in list(globals().items()) if name.startswith("case_")}

if __name__ == "__main__":
    sys.exit(fleet_module.main(CASES))
