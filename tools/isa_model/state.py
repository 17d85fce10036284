# SPDX-License-Identifier: MIT
"""The state of one wave, filled with the same values as the test harness fills it with
(tests/golden/isa/README.md describes them), and what an instruction changed in it."""

import functools

from softfloat import Pattern, nibbles, from_nibbles

LANES = 64
SGPRS = 106
LDS_SIZE = 65536
CODE = 0x10000
MASK32 = 0xFFFFFFFF
MASK64 = 0xFFFFFFFFFFFFFFFF

# What is mapped when a case asks for memory: base and size of each region.
MEMORY = ((0x200000, 0x2000),)


def fill(seed, index):
    """The value of a register or memory dword that a case does not set."""
    x = ((seed << 24) + index + 1) * 0x9E3779B1 & MASK32
    x ^= x >> 15
    x = x * 0x85EBCA77 & MASK32
    return x ^ x >> 13


SEED_VGPR, SEED_AGPR, SEED_SGPR, SEED_LDS, SEED_MEMORY = 1, 2, 3, 4, 5
FILLED_SGPRS = tuple(fill(SEED_SGPR, i) for i in range(SGPRS))


@functools.lru_cache(None)
def filled(seed, size):
    return b"".join(fill(seed, i).to_bytes(4, "little") for i in range(size // 4))


@functools.lru_cache(None)
def filled_register(seed, index):
    return tuple(fill(seed, index * LANES + lane) for lane in range(LANES))


class Stopped(Exception):
    """The wave ends here with this message, e.g. "memory fault"."""


class Wave:
    def __init__(self, target, wave_size):
        self.name = target
        self.asked = False       # whether an instruction asked which target of a family it is
        self.wave_size = wave_size
        self.full = (1 << wave_size) - 1
        self.sgpr = list(FILLED_SGPRS)
        self.vcc = 0
        self.exec = self.full
        self.m0 = 0
        self.scc = 0
        self.mode = 0xF0
        self.vgpr = {}
        self.agpr = {}
        self.lds = bytearray(filled(SEED_LDS, LDS_SIZE))
        self.lds_patterns = {}   # byte address -> Pattern of the dword there
        self.memory = {}
        self.memory_patterns = {}
        self.scratch = (0, 0)    # base, bytes per lane
        self.pc = CODE
        self.masks = {}          # scalar index -> bits that are fixed, for lane masks
        self.ulp = {}            # vgpr -> (format, ulp) of a result that is only close

    # The target as the architecture documents name it.
    @property
    def gfx9(self):
        return self.name.startswith("gfx9")

    @property
    def gfx10(self):
        """Or later."""
        return self.name.startswith("gfx1")

    @property
    def gfx11(self):
        """Or later."""
        return self.name in ("gfx1100", "gfx1201")

    @property
    def gfx12(self):
        return self.name == "gfx1201"

    @property
    def target(self):
        self.asked = True
        return self.name

    @property
    def ieee(self):
        return not self.gfx12 and bool(self.mode >> 9 & 1)

    @property
    def dx10_clamp(self):
        return self.gfx12 or bool(self.mode >> 8 & 1)

    def map_memory(self):
        for base, size in MEMORY:
            self.memory[base] = bytearray(filled(SEED_MEMORY, size))

    # Vector registers.
    def vector(self, kind, index):
        bank, seed = (self.agpr, SEED_AGPR) if kind == "a" else (self.vgpr, SEED_VGPR)
        if index not in bank:
            bank[index] = list(filled_register(seed, index))
        return bank[index]

    def read_vector(self, kind, index, lane):
        value = self.vector(kind, index)[lane]
        assert not isinstance(value, Pattern), "reads a value that is not fixed"
        return value

    def write_vector(self, kind, index, lane, value):
        self.vector(kind, index)[lane] = value if isinstance(value, Pattern) else value & MASK32

    # Scalar registers, by their number in the operand encoding.
    def read_scalar(self, index):
        if index < SGPRS:
            return self.sgpr[index]
        if index == 106:
            return self.vcc & MASK32
        if index == 107:
            return self.vcc >> 32
        if index == 124:
            return self.m0
        if index == 125:
            return 0
        if index == 126:
            return self.exec & MASK32
        if index == 127:
            return self.exec >> 32
        raise ValueError("scalar %d" % index)

    def write_scalar(self, index, value):
        value &= MASK32
        if index < SGPRS:
            self.sgpr[index] = value
        elif index == 106:
            self.vcc = self.vcc & ~MASK32 | value
        elif index == 107:
            self.vcc = self.vcc & MASK32 | value << 32
        elif index == 124:
            self.m0 = value
        elif index == 125:
            pass
        elif index == 126:
            self.exec = self.exec & ~MASK32 | value
        elif index == 127:
            self.exec = self.exec & MASK32 | value << 32
        else:
            raise ValueError("scalar %d" % index)

    def read_scalar64(self, index):
        return self.read_scalar(index) | self.read_scalar(index + 1) << 32

    def write_scalar64(self, index, value):
        self.write_scalar(index, value)
        self.write_scalar(index + 1, value >> 32)

    # Lane masks: 64 bits in wave64, 32 in wave32.
    def read_mask(self, index):
        return self.read_scalar64(index) if self.wave_size == 64 else self.read_scalar(index)

    def write_mask(self, index, value, fixed=None):
        """`fixed`: the bits that the architecture fixes; all of them if None."""
        if self.wave_size == 64:
            self.write_scalar64(index, value)
        else:
            self.write_scalar(index, value)
        if fixed is not None and fixed != self.full:
            self.masks[index] = fixed & MASK32
            if self.wave_size == 64:
                self.masks[index + 1] = fixed >> 32

    def active(self):
        return [lane for lane in range(self.wave_size) if self.exec >> lane & 1]

    # Memory and LDS, little endian. A Pattern is kept per aligned dword.
    def find(self, address, size):
        for base, data in self.memory.items():
            if base <= address and address + size <= base + len(data):
                return data, address - base
        raise Stopped("memory fault")

    def load(self, address, size):
        data, offset = self.find(address, size)
        assert not any(address + i & ~3 in self.memory_patterns for i in range(size))
        return int.from_bytes(data[offset:offset + size], "little")

    def store(self, address, size, value):
        data, offset = self.find(address, size)
        self.put(data, offset, self.memory_patterns, address, size, value)

    def load_lds(self, address, size):
        if address + size > LDS_SIZE:
            return 0
        assert not any(address + i & ~3 in self.lds_patterns for i in range(size))
        return int.from_bytes(self.lds[address:address + size], "little")

    def store_lds(self, address, size, value):
        if address + size <= LDS_SIZE:
            self.put(self.lds, address, self.lds_patterns, address, size, value)

    @staticmethod
    def put(data, offset, patterns, address, size, value):
        if isinstance(value, Pattern):
            assert address % 4 == 0 and size % 4 == 0
            text = nibbles(value, size * 8)
            for i in range(size // 4):
                part = from_nibbles(text[len(text) - 8 * i - 8:len(text) - 8 * i])
                if isinstance(part, Pattern):
                    patterns[address + 4 * i] = part
                else:
                    data[offset + 4 * i:offset + 4 * i + 4] = part.to_bytes(4, "little")
                    patterns.pop(address + 4 * i, None)
            return
        data[offset:offset + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
