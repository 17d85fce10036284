# SPDX-License-Identifier: MIT
"""Reads a flight log's kernel launches with nothing but docs/formats/flight-log.md, and makes histograms of them.

What the fleet counts is compared with this: another reader, another language, other arithmetic.
"""

import collections
import math
import pathlib
import struct

SUB_BUCKETS = 32
TICK_NS = 10  # the software GPU's counter runs at 100 MHz
HOST_ANCHOR = 12


def strings(folder):
    data = (folder / "strings").read_bytes()
    found, at = {}, 64
    while at + 8 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 0:
            break
        if kind == 1:
            found[at // 8] = data[at + 8:at + 8 + length].decode()
        at += (8 + length + 7) // 8 * 8
    return found


def records(folder):
    """(kind, small, wide, bytes) of all records of a log that is not written any more."""
    for path in sorted(folder.glob("segment-*")):
        data = path.read_bytes()
        if data[:8] != b"HOUNDSEG":
            continue
        chunk_bytes, = struct.unpack_from("<I", data, 16)
        for start in range(4096, len(data), chunk_bytes):
            magic, state = struct.unpack_from("<4sI", data, start)
            if magic != b"CHNK" or state not in (1, 2):
                continue
            at = start + 64
            while at + 32 <= min(start + chunk_bytes, len(data)):
                kind, units, small, wide = struct.unpack_from("<BBHI", data, at)
                if kind == 0:
                    break
                yield kind, small, wide, data[at:at + units * 32]
                at += units * 32


def bucket(ns):
    """The index at scale 5 of a duration that is not zero: above 2^(i/32), up to 2^((i+1)/32)."""
    if ns & (ns - 1) == 0:
        return (ns.bit_length() - 1) * SUB_BUCKETS - 1
    return math.ceil(math.log2(ns) * SUB_BUCKETS) - 1


class Kernel:
    def __init__(self):
        self.buckets = collections.Counter()
        self.launches = self.untimed = self.zeros = self.sum = 0

    def add(self, begin, end):
        self.launches += 1
        if begin == 0 and end == 0:
            self.untimed += 1
            return
        ns = (end - begin) * TICK_NS
        self.sum += ns
        if ns == 0:
            self.zeros += 1
        else:
            self.buckets[bucket(ns)] += 1

    def merge(self, other):
        self.buckets += other.buckets
        self.launches += other.launches
        self.untimed += other.untimed
        self.zeros += other.zeros
        self.sum += other.sum

    def at_scale(self, scale):
        coarse = collections.Counter()
        for index, count in self.buckets.items():
            coarse[index >> (5 - scale)] += count
        return coarse


def kernels(folder):
    """By name: what is in the log of one process. Launches without a time record are left out."""
    folder = pathlib.Path(folder)
    names, symbols, dispatches, times = strings(folder), {}, {}, {}
    for kind, _, wide, data in records(folder):
        if kind == 4:
            number, = struct.unpack_from("<Q", data, 16)
            dispatches[number], = struct.unpack_from("<I", data, 32)
        elif kind == 5:
            number, begin, end = struct.unpack_from("<QQQ", data, 8)
            times[number] = begin, end
        elif kind == 15:
            symbols[wide], = struct.unpack_from("<I", data, 16)
    found = collections.defaultdict(Kernel)
    for number, kernel in dispatches.items():
        if number in times:
            found[names[symbols[kernel]]].add(*times[number])
    return found


def submit_times(folder):
    """When kernels were submitted, in seconds of CLOCK_REALTIME, sorted."""
    anchors, ticks = [], []
    for kind, _, _, data in records(pathlib.Path(folder)):
        if kind == 4:
            ticks.append(struct.unpack_from("<Q", data, 24)[0])
        elif kind == HOST_ANCHOR:
            anchors.append(struct.unpack_from("<QQQ", data, 8))
    (tsc0, _, real0), (tsc1, _, real1) = min(anchors), max(anchors)
    slope = (real1 - real0) / (tsc1 - tsc0)
    return sorted((real0 + (tick - tsc0) * slope) * 1e-9 for tick in ticks)


def merged(folders):
    total = collections.defaultdict(Kernel)
    for folder in folders:
        for name, kernel in kernels(folder).items():
            total[name].merge(kernel)
    return total


def differences(raw, sketches):
    """What is not equal. sketches: dictionaries as `rochound-fleet kernels --json` and the daemon's messages have."""
    got = collections.defaultdict(Kernel)
    scales = collections.defaultdict(lambda: 5)
    for row in sketches:
        scales[row["kernel"]] = min(scales[row["kernel"]], row["scale"])
    for row in sketches:
        kernel, scale = got[row["kernel"]], scales[row["kernel"]]
        kernel.launches += row["launches"]
        kernel.untimed += row["untimed"]
        kernel.zeros += row["zeros"]
        kernel.sum += row.get("sum", row.get("sum_ns"))
        for i, count in enumerate(row["buckets"]):
            if count:
                kernel.buckets[(row["first"] + i) >> (row["scale"] - scale)] += count
    found = []
    for name in sorted(set(raw) | set(got)):
        want, have = raw[name], got[name]
        for what in ("launches", "untimed", "zeros", "sum"):
            if getattr(want, what) != getattr(have, what):
                found.append(f"{name}: {what} is {getattr(have, what)}, the log has {getattr(want, what)}")
        if want.at_scale(scales[name]) != have.buckets:
            found.append(f"{name}: buckets differ by {want.at_scale(scales[name]) - have.buckets} and "
                         f"{have.buckets - want.at_scale(scales[name])}")
    return found
