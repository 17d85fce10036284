# SPDX-License-Identifier: MIT
"""Vector instructions that reach across lanes or registers."""

from state import MASK32
from valu import read_source

OPS = {}


def op(names):
    def register(function):
        for name in names.split():
            OPS[name] = function
        return function

    return register


@op("v_readfirstlane_b32")
def readfirstlane(wave, i):
    lanes = wave.active()
    lane = lanes[0] if lanes else 0
    wave.write_scalar(i.operands[0].index, read_source(wave, i.operands[1], "b32", lane))


@op("v_readlane_b32")
def readlane(wave, i):
    lane = read_source(wave, i.operands[2], "b32", 0) & wave.wave_size - 1
    wave.write_scalar(i.operands[0].index, read_source(wave, i.operands[1], "b32", lane))


@op("v_writelane_b32")
def writelane(wave, i):
    lane = read_source(wave, i.operands[2], "b32", 0) & wave.wave_size - 1
    wave.write_vector("v", i.operands[0].index, lane,
                      read_source(wave, i.operands[1], "b32", lane))


@op("v_permlane16_b32 v_permlanex16_b32")
def permlane(wave, i):
    """Any lane of the same row of 16 (x16: of the neighbour row). op_sel: [0] reads lanes that are
    off (else such a lane keeps its value), [1] is bound control: it gets 0."""
    fetch_inactive, bound = (i.modifiers.get("op_sel", [0, 0]) + [0, 0])[:2]
    low, high = (read_source(wave, o, "b32", 0) for o in i.operands[2:4])
    select = high << 32 | low
    old = list(wave.vector("v", i.operands[1].index))
    for lane in wave.active():
        row = lane & ~15
        if "x16" in i.base:
            row ^= 16
        source = row + (select >> 4 * (lane & 15) & 15)
        if wave.exec >> source & 1 or fetch_inactive:
            wave.write_vector("v", i.operands[0].index, lane, old[source])
        elif bound:
            wave.write_vector("v", i.operands[0].index, lane, 0)


@op("v_swap_b32")
def swap(wave, i):
    exchange(wave, i.operands[0].index, i.operands[1].index)


def exchange(wave, a, b):
    for lane in wave.active():
        x, y = wave.read_vector("v", a, lane), wave.read_vector("v", b, lane)
        wave.write_vector("v", a, lane, y)
        wave.write_vector("v", b, lane, x)


@op("v_swaprel_b32")
def swaprel(wave, i):
    exchange(wave, i.operands[0].index + (wave.m0 >> 16 & 0x3FF),
             i.operands[1].index + (wave.m0 & 0x3FF))


@op("v_movrels_b32 v_movreld_b32 v_movrelsd_b32 v_movrelsd_2_b32")
def movrel(wave, i):
    kind = i.base.split("_")[1]
    source, target = i.operands[1], i.operands[0].index
    from_add = wave.m0 if kind in ("movrels", "movrelsd") else 0
    to_add = wave.m0 if kind in ("movreld", "movrelsd") else 0
    if "_2_" in i.base:
        from_add, to_add = wave.m0 & 0x3FF, wave.m0 >> 16 & 0x3FF
    for lane in wave.active():
        if source.kind == "v":
            value = wave.read_vector("v", source.index + from_add, lane)
        else:
            value = read_source(wave, source, "b32", lane)
        wave.write_vector("v", target + to_add, lane, value & MASK32)
