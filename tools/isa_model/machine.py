# SPDX-License-Identifier: MIT
"""Runs a few instructions on a wave: finds who knows a mnemonic."""

import asm
import buffer_format
import ds
import flat
import gfx11
import mfma
import mubuf
import rows_convert  # noqa: F401 (adds rows)
import rows_float    # noqa: F401
import rows_gfx950
import rows_int      # noqa: F401
import rows_lane
import salu
import scratch
import smem
import valu
import vop3p


def run(wave, program, end):
    steps = 0
    wave.end = end
    while wave.pc != end:
        instruction, length = program[wave.pc]
        wave.next_pc = wave.pc + length
        step(wave, instruction)
        wave.pc = wave.next_pc
        steps += 1
        assert steps < 10000, "does not end"


TABLES = (salu.OPS, rows_lane.OPS, vop3p.OPS, ds.OPS, flat.OPS, smem.OPS, mubuf.OPS, mfma.OPS,
          rows_gfx950.OPS, scratch.OPS, buffer_format.OPS, gfx11.OPS)


def known():
    """Every mnemonic that the model runs."""
    return sorted({name for table in TABLES for name in table} | set(valu.ROWS))


def old_names():
    """Spellings of one target that an assembler takes for others as well."""
    return {"v_mfma_" + name for name in mfma.OLD}


def step(wave, instruction):
    if instruction.second:
        gfx11.run_pair(wave, instruction, instruction.second)
        return
    base = instruction.base
    for table in TABLES:
        if base in table:
            table[base](wave, instruction)
            return
    if base in valu.ROWS:
        valu.execute(wave, instruction)
        return
    raise ValueError("the model does not know " + base)
