# SPDX-License-Identifier: MIT
"""Reads a .pftrace as Perfetto does, knowing only the wire format of protobuf and the field numbers it needs.

Written apart from the writer, so that a mistake there is no mistake here: interned names are looked up in the state of
their sequence, slices are matched track by track, and anything that Perfetto would drop is an error.
"""

import struct


class Wrong(Exception):
    pass


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Wrong("a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """{field number: [value, ...]}; numbers, or bytes."""
    found = {}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = ("fixed64", struct.unpack_from("<Q", data, at)[0]), at + 8
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise Wrong("a message is cut off")
        elif kind == 5:
            value, at = ("fixed32", struct.unpack_from("<I", data, at)[0]), at + 4
        else:
            raise Wrong(f"wire type {kind}")
        found.setdefault(key >> 3, []).append(value)
    return found


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def one(message, field, default=None):
    values = message.get(field, [default])
    if len(values) != 1:
        raise Wrong(f"field {field} stands {len(values)} times")
    return values[0]


class Track:
    def __init__(self, message):
        self.name = one(message, 2, b"").decode()
        self.parent = one(message, 5)
        self.pid = self.tid = None
        self.is_counter = 8 in message
        if 3 in message:
            process = fields(one(message, 3))
            self.pid = one(process, 1)
            self.name = one(process, 6, b"").decode()
        if 4 in message:
            thread = fields(one(message, 4))
            self.pid, self.tid = one(thread, 1), one(thread, 2)
            self.name = one(thread, 5, b"").decode()


class Slice:
    def __init__(self, track, start, name, category, flows, details, depth):
        self.track, self.start, self.end = track, start, None
        self.name, self.category, self.flows, self.details, self.depth = name, category, flows, details, depth


class Trace:
    """tracks: by uuid; slices and instants: lists; counters: {track uuid: [(time, value)]}; states: how often names
    were forgotten."""

    def __init__(self, data):
        self.tracks, self.slices, self.instants, self.counters, self.states = {}, [], [], {}, 0
        events = []
        names = None
        top = fields(data)
        if set(top) - {1}:
            raise Wrong("something that is no packet")
        for order, packet in enumerate(map(fields, top.get(1, []))):
            if one(packet, 10) != 1:
                raise Wrong("a packet of no sequence")
            flags = one(packet, 13, 0)
            if flags & 1:
                names = {1: {}, 2: {}, 3: {}}
                self.states += 1
            for data in packet.get(12, []):
                for kind, entries in fields(data).items():
                    for entry in map(fields, entries):
                        if one(entry, 1) in names[kind]:
                            raise Wrong("an id is given away twice")
                        names[kind][one(entry, 1)] = one(entry, 2).decode()
            if 60 in packet:
                track = fields(one(packet, 60))
                self.tracks[one(track, 1)] = Track(track)
            if 11 in packet:
                if not flags & 2:
                    raise Wrong("an event that does not need the names it uses")
                event = fields(one(packet, 11))
                events.append((one(packet, 8), order, event, self.resolve(event, names)))
        open_slices = {}
        for time, _, event, (name, category, details) in sorted(events, key=lambda e: (e[0], e[1])):
            uuid = one(event, 11)
            if uuid not in self.tracks:
                raise Wrong("an event on no track")
            flows = []
            for flow in event.get(47, []):
                if not isinstance(flow, tuple) or flow[0] != "fixed64":
                    raise Wrong("a flow that Perfetto does not see")
                flows.append(flow[1])
            kind = one(event, 9)
            stack = open_slices.setdefault(uuid, [])
            if kind == 1:
                slice_ = Slice(self.tracks[uuid], time, name, category, flows, details, len(stack))
                stack.append(slice_)
                self.slices.append(slice_)
            elif kind == 2:
                if not stack:
                    raise Wrong("an end without a beginning")
                stack.pop().end = time
            elif kind == 3:
                self.instants.append(Slice(self.tracks[uuid], time, name, category, flows, details, len(stack)))
            elif kind == 4:
                if not self.tracks[uuid].is_counter:
                    raise Wrong("a count on a track of slices")
                self.counters.setdefault(uuid, []).append((time, signed(one(event, 30))))
            else:
                raise Wrong(f"an event of type {kind}")
        if any(open_slices.values()):
            raise Wrong("a slice that never ends")

    @staticmethod
    def resolve(event, names):
        name = names[2][one(event, 10)] if 10 in event else None
        category = names[1][one(event, 3)] if 3 in event else None
        details = {}
        for detail in map(fields, event.get(4, [])):
            value = one(detail, 6).decode() if 6 in detail else signed(one(detail, 4))
            details[names[3][one(detail, 1)]] = value
        return name, category, details

    def flows(self):
        """[(slice it begins at, slice it leads to)], as Perfetto draws them: from the earliest to the next."""
        by_flow = {}
        for slice_ in self.slices + self.instants:
            for flow in slice_.flows:
                by_flow.setdefault(flow, []).append(slice_)
        found = []
        for ends in by_flow.values():
            ends.sort(key=lambda s: s.start)
            found += list(zip(ends, ends[1:]))
        return found
