# SPDX-License-Identifier: MIT
"""What the recorder's tests ask of a trace, and of what a program says about itself."""

import collections
import json
import re
import sqlite3


def parse_counts(text):
    """The sums of all `counts` lines of a program's output: totals, calls by function, kernels by name."""
    totals, calls, kernels = collections.Counter(), collections.Counter(), collections.Counter()
    processes = 0
    for line in text.split("\n"):
        words = line.split()
        if not words or not words[0].startswith("counts"):
            continue
        target = {"counts": totals, "counts-calls": calls, "counts-kernels": kernels}[words[0]]
        processes += words[0] == "counts"
        for word in words[2:]:
            name, number = word.rsplit("=", 1)
            target[name] += int(number)
    return totals, calls, kernels, processes


def plain_name(demangled):
    """`void (anonymous namespace)::Twice<int>(int*)` is called `Twice` by the program that launches it."""
    name = demangled.replace("(anonymous namespace)::", "")
    name = name.split("(")[0]
    while "<" in name:
        shorter = re.sub(r"<[^<>]*>", "", name)
        if shorter == name:
            break
        name = shorter
    return name.split("::")[-1].split()[-1]


def taken_early(fault_log):
    """Kernels that the GPU took before their doorbell, and so perhaps before the recorder came to lend them a signal: they
    may have no time. By process and packet, as Trace.untimed_kernels()."""
    faults = (json.loads(line) for line in fault_log.read_text().splitlines())
    return collections.Counter((one["process"], one["packet"]) for one in faults
                               if one["fault"] == "early-packets" and one["kernel"])


class Trace:
    """A .rpd file."""

    def __init__(self, path):
        self.database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)

    def rows(self, query, *values):
        return self.database.execute(query, values).fetchall()

    def one(self, query, *values):
        return self.rows(query, *values)[0][0]

    def kernels(self):
        """User kernels by plain name."""
        found = collections.Counter()
        for name, number in self.rows(
                "select s.string, count(*) from rocpd_op o join rocpd_string s on s.id = o.description_id "
                "join rocpd_string t on t.id = o.opType_id where t.string = 'KernelExecution' group by 1"):
            found[plain_name(name)] += number
        return found

    def untimed_kernels(self):
        """By process and packet: on several queues, the same may be there more than once."""
        return collections.Counter(self.rows(
            "select p.pid, o.sequenceId from rocpd_op o join rocpd_string t on t.id = o.opType_id "
            "join rochound_process p on p.session = o.id >> 32 "
            "where t.string = 'KernelExecution' and o.end <= o.start"))

    def hip_calls(self):
        """HIP calls by function, without those that the runtime made inside another one."""
        found = collections.Counter()
        open_until = {}
        for pid, tid, begin, end, name in self.rows(
                "select a.pid, a.tid, a.start, a.end, n.string from rocpd_api a "
                "join rocpd_string n on n.id = a.apiName_id join rocpd_string d on d.id = a.domain_id "
                "where d.string = 'hip' order by a.pid, a.tid, a.start, a.end desc, a.id"):
            if end <= open_until.get((pid, tid), -1) and begin < open_until[(pid, tid)]:
                continue
            open_until[(pid, tid)] = end
            found[name] += 1
        return found

    def copies(self):
        """Copies that were made: calls, but not those that were captured into a graph; and what graph launches copied."""
        captures = self.rows(
            "select b.pid, b.tid, b.start, (select min(e.end) from rocpd_api e join rocpd_string f on f.id = e.apiName_id "
            "where e.pid = b.pid and e.tid = b.tid and e.start > b.start and f.string = 'hipStreamEndCapture') "
            "from rocpd_api b join rocpd_string n on n.id = b.apiName_id where n.string = 'hipStreamBeginCapture'")
        calls = [row for row in self.rows("select a.pid, a.tid, a.start from rocpd_copyapi c join rocpd_api a on a.id = c.api_ptr_id")
                 if not any(row[:2] == capture[:2] and capture[2] < row[2] < capture[3] for capture in captures)]
        return len(calls) + self.one(
            "select count(*) from rocpd_op o join rocpd_string t on t.id = o.opType_id join rocpd_api_ops l on l.op_id = o.id "
            "join rocpd_api a on a.id = l.api_id join rocpd_string n on n.id = a.apiName_id "
            "where t.string like 'Copy%' and n.string = 'hipGraphLaunch'")

    def lost(self):
        """What the trace says it lost."""
        return self.rows("select * from rochound_lost") if self.one(
            "select count(*) from sqlite_master where name = 'rochound_lost'") else []
