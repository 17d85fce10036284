# SPDX-License-Identifier: MIT
"""Cases for flat, global, scalar and buffer memory. The mapped memory is 8 KiB at 0x200000."""

import scratch as scratch_model
import softfloat
from cases_valu import OTHER, PARTIAL

LOADS = (("ubyte", 1), ("sbyte", 1), ("ushort", 2), ("sshort", 2), ("dword", 4), ("dwordx2", 8),
         ("dwordx3", 12), ("dwordx4", 16), ("ubyte_d16", 1), ("ubyte_d16_hi", 1), ("sbyte_d16", 1),
         ("sbyte_d16_hi", 1), ("short_d16", 2), ("short_d16_hi", 2))
STORES = (("byte", 1), ("short", 2), ("byte_d16_hi", 1), ("short_d16_hi", 2), ("dword", 4),
          ("dwordx2", 8), ("dwordx3", 12), ("dwordx4", 16))
INTEGER = "add sub smin smax umin umax and or xor inc dec swap".split()


def vgprs(first, size):
    dwords = max(1, size // 4)
    return "v%d" % first if dwords == 1 else "v[%d:%d]" % (first, first + dwords - 1)


def add(book):
    plain(book)
    atomic(book)
    scalar(book)
    scratch(book)
    flat_apertures(book)
    buffers(book)
    formats(book)


def plain(book):
    for space in ("flat", "global"):
        book.file(space)
        tail = ", off" if space == "global" else ""
        wide = "mem v2=iota(200100,%x) v3=all(0)"
        for name, size in LOADS:
            out = vgprs(20, size)
            text = "%s_load_%s %s, v[2:3]%s" % (space, name, out, tail)
            book.add(text, wide % size)
            book.add(text + " offset:%d" % (4 * size), wide % size + " exec=" + PARTIAL)
            book.add(text, wide % size + " exec=0")
            if space == "global":
                book.add(text + " offset:-%d" % (2 * size), wide % size + " exec=" + OTHER)
                text = "global_load_%s %s, v2, s[4:5] offset:%d" % (name, out, size)
                book.add(text, "mem v2=iota(100,%x) s4=200000 s5=0 exec=%s" % (size, PARTIAL))
        for name, size in STORES:
            data = vgprs(6, size)
            text = "%s_store_%s v[2:3], %s%s" % (space, name, data, tail)
            book.add(text, wide % size)
            book.add(text + " offset:%d" % (4 * size), wide % size + " exec=" + PARTIAL)
            book.add(text, wide % size + " exec=0")
            if space == "global":
                book.add(text + " offset:-%d" % (2 * size), wide % size + " exec=" + OTHER)
                text = "global_store_%s v2, %s, s[4:5] offset:%d" % (name, data, size)
                book.add(text, "mem v2=iota(100,%x) s4=200000 s5=0 exec=%s" % (size, PARTIAL))
        # Not aligned, across a page, and outside.
        text = "%s_load_dword v20, v[2:3]%s" % (space, tail)
        book.add(text, "mem v2=iota(200101,5) v3=all(0)")
        book.add(text, "mem v2=iota(200fe1,1) v3=all(0)")
        book.add(text, "mem v2=all(10) v3=all(0)")
        book.add(text, "mem v2=all(10) v3=all(0) exec=0")
        book.add(text, "mem v2=iota(201f00,4) v3=all(0)")
        book.add(text, "mem v2=iota(201f04,4) v3=all(0)")
        book.add(text, "mem v2=iota(201f04,4) v3=all(0) exec=7fffffff7fffffff", wave=64)
        book.add("%s_store_dword v[2:3], v6%s" % (space, tail), "mem v2=all(10) v3=all(0)")
        book.add("%s_load_dwordx4 v[2:5], v[2:3]%s" % (space, tail),
                 "mem v2=iota(200004,10) v3=all(0)")
    # The 32 bit part of an address is unsigned.
    book.add("global_load_dword v20, v2, s[4:5]", "mem v2=all(80000000) s4=80200010 s5=ffffffff")
    book.add("global_load_dword v20, v2, s[4:5] offset:-16", "mem v2=iota(0,4) s4=200110 s5=0")
    for exec_ in ("", " exec=" + PARTIAL, " exec=0"):
        book.add("global_load_dword_addtid v20, s[4:5] offset:16", "mem s4=200100 s5=0" + exec_)
        book.add("global_store_dword_addtid v6, s[4:5] offset:16", "mem s4=200100 s5=0" + exec_)
        book.add("global_load_lds_dword v[2:3], off",
                 "mem v2=iota(200100,8) v3=all(0) m0=400" + exec_)
        book.add("global_load_lds_dword v2, s[4:5] offset:64",
                 "mem v2=iota(100,8) s4=200000 s5=0 m0=400" + exec_)
        for wide in ("dwordx3", "dwordx4"):
            book.add("global_load_lds_%s v[2:3], off" % wide,
                     "mem v2=iota(200100,10) v3=all(0) m0=400" + exec_)
            book.add("global_load_lds_%s v2, s[4:5] offset:64" % wide,
                     "mem v2=iota(100,14) s4=200000 s5=0 m0=400" + exec_)


def atomic(book):
    for space in ("flat", "global"):
        book.file(space + "_atomic")
        tail = ", off" if space == "global" else ""
        for bits, suffix in ((32, ""), (64, "_x2")):
            size = bits // 8
            data, out = vgprs(6, size), vgprs(20, size)
            pair = vgprs(6, 2 * size)
            start = "v2=iota(200100,%x) v3=all(0) mem@200100=int_a mem@200200=int_b " % size

            def both(name, data, values, full=True):
                stem = "%s_atomic_%s" % (space, name)
                book.add("%s v[2:3], %s%s" % (stem, data, tail), start + values, optional=True)
                for bit in ("sc0", "glc"):
                    book.add("%s %s, v[2:3], %s%s %s" % (stem, out, data, tail, bit),
                             start + values + " exec=" + PARTIAL, optional=True)
                    if full:
                        book.add("%s %s, v[2:3], %s%s offset:8 %s" % (stem, out, data, tail, bit),
                                 start + values + " exec=" + OTHER, optional=True)
                        book.add("%s %s, v[2:3], %s%s %s" % (stem, out, data, tail, bit),
                                 start + values + " exec=0", optional=True)

            for name in INTEGER:
                both(name + suffix, data, "v6=int_c v7=int_d")
            compare = ("v6=int_c v7=int_a" if bits == 32 else
                       "v6=int_c v7=int_d v8=even_a v9=odd_a")
            both("cmpswap" + suffix, pair, compare)
            book.add("%s_atomic_add%s v[2:3], %s%s" % (space, suffix, data, tail),
                     "mem v2=all(200108) v3=all(0) v6=int_c v7=int_d exec=" + PARTIAL)
            if space == "global":
                for bit in ("", " sc0", " glc"):
                    dst = out + ", " if bit else ""
                    book.add("global_atomic_add%s %sv2, %s, s[4:5] offset:16%s" % (
                        suffix, dst, data, bit),
                        "mem v2=iota(100,%x) s4=200000 s5=0 v6=int_c v7=int_d exec=%s" % (
                            size, PARTIAL), optional=True)
        start32 = "v2=iota(200100,4) v3=all(0) mem@200100=%s v6=%s"
        start64 = ("v2=iota(200100,8) v3=all(0) mem@200100=f64_mix mem@200200=f64_mix2 v6=f64_ylo "
                   "v7=f64_yhi")
        for name, inputs in (("add_f32", start32 % ("f32_x", "f32_y")),
                             ("fmin", start32 % ("f32_x", "f32_y")),
                             ("fmax", start32 % ("f32_x", "f32_y")),
                             ("pk_add_f16", start32 % ("small_f16", "small_f162")),
                             ("pk_add_bf16", start32 % ("small_bf16", "small_bf162")),
                             ("csub", start32 % ("int_a", "int_b")),
                             ("add_f64", start64), ("min_f64", start64), ("max_f64", start64),
                             ("fmin_x2", start64), ("fmax_x2", start64)):
            size = 8 if "64" in name or "x2" in name else 4
            for exec_ in ("", " exec=" + PARTIAL, " exec=0"):
                book.add("%s_atomic_%s v[2:3], %s%s" % (space, name, vgprs(6, size), tail),
                         inputs + exec_, optional=True)
                for bit in ("sc0", "glc"):
                    book.add("%s_atomic_%s %s, v[2:3], %s%s %s" % (
                        space, name, vgprs(20, size), vgprs(6, size), tail, bit), inputs + exec_,
                        optional=True)
        # Compare and swap of floats, with numbers that are equal in bits if at all.
        for bit in ("", " glc"):
            dst = "v20, " if bit else ""
            book.add("%s_atomic_fcmpswap %sv[2:3], v[6:7]%s%s" % (space, dst, tail, bit),
                     "v2=iota(200100,4) v3=all(0) mem@200100=f32_x v6=f32_y v7=f32_x exec="
                     + PARTIAL)
            dst = "v[20:21], " if bit else ""
            book.add("%s_atomic_fcmpswap_x2 %sv[2:3], v[6:9]%s%s" % (space, dst, tail, bit),
                     "v2=iota(200100,8) v3=all(0) mem@200100=f64_mix mem@200200=f64_mix2 v6=int_a "
                     "v7=int_b v8=f64_mixlo v9=f64_mixhi exec=" + PARTIAL)


def scalar(book):
    book.file("smem")
    base = "mem s4=200100 s5=0"
    descriptor = "mem s4=200100 s5=0 s6=100 s7=%s"
    for dwords in (1, 2, 4, 8, 16):
        name = "dword" + ("x%d" % dwords if dwords > 1 else "")
        out = "s20" if dwords == 1 else "s[20:%d]" % (19 + dwords)
        for offset in ("0x0", "0x40", "0x7fc"):
            book.add("s_load_%s %s, s[4:5], %s" % (name, out, offset), base)
        book.add("s_load_%s %s, s[4:5], -0x20" % (name, out), base)
        book.add("s_load_%s %s, s[4:5], s8" % (name, out), base + " s8=124")
        book.add("s_load_%s %s, s[4:5], s8 offset:0x10" % (name, out), base + " s8=124")
        book.add("s_load_%s %s, s[4:5], 0x0" % (name, out), base + " exec=0")
        for word3 in ("27000",):
            for offset in ("0x0", "0x40", "0x1000"):
                book.add("s_buffer_load_%s %s, s[4:7], %s" % (name, out, offset),
                         descriptor % word3)
            book.add("s_buffer_load_%s %s, s[4:7], s8" % (name, out), descriptor % word3 + " s8=24")
    book.add("s_load_dwordx2 s[4:5], s[4:5], 0x8", base)
    book.add("s_load_dword vcc_hi, s[4:5], 0x8", base)
    book.add("s_load_dword s20, s[4:5], 0x0", "mem s4=10 s5=0")
    book.add("s_memtime s[20:21]")
    book.add("s_memrealtime s[20:21]")
    for dwords in (1, 2, 4):
        name = "dword" + ("x%d" % dwords if dwords > 1 else "")
        data = "s20" if dwords == 1 else "s[20:%d]" % (19 + dwords)
        for offset in ("0x10", "s8"):
            book.add("s_store_%s %s, s[4:5], %s" % (name, data, offset), base + " s8=124")
        book.add("s_buffer_store_%s %s, s[4:7], 0x10" % (name, data), descriptor % "27000")
        book.add("s_scratch_store_%s %s, s[4:5], 0x10" % (name, data), base)
        book.add("s_scratch_load_%s %s, s[4:5], 0x10" % (name, data), base)
    book.file("smem_atomic")
    for bits, suffix in ((32, ""), (64, "_x2")):
        for name in INTEGER + ["cmpswap"]:
            dwords = bits // 32 * (2 if name == "cmpswap" else 1)
            data = "s20" if dwords == 1 else "s[20:%d]" % (19 + dwords)
            values = "mem@200100=int_a s20=5 s21=80000000 s22=0e2d56a7 s23=12345678"
            for tail in ("", " glc"):
                book.add("s_atomic_%s%s %s, s[4:5], 0x8%s" % (name, suffix, data, tail),
                         base + " " + values)
                book.add("s_buffer_atomic_%s%s %s, s[4:7], 0x8%s" % (name, suffix, data, tail),
                         descriptor % "27000" + " " + values)
        data = "s[20:21]" if bits == 32 else "s[20:23]"
        equal = "mem@200100=iota(0,1) s20=5 s21=%s s22=2 s23=3" % (
            "2" if bits == 32 else "80000000")
        book.add("s_atomic_cmpswap%s %s, s[4:5], 0x8 glc" % (suffix, data), base + " " + equal)


def buffers(book):
    # Words 1 to 3: raw, 4 KiB; on gfx10 OOB_SELECT=3 (raw) stands in word 3.
    raw = "mem s8=200100 s9=0 s10=1000 s11=31014fac"
    # A structure of 16 bytes, checked by index on gfx10.
    struct_ = "mem s8=200100 s9=100000 s10=800 s11=11014fac"
    book.file("mubuf")
    for name, size in LOADS:
        out = vgprs(20, size)
        text = "buffer_load_%s %s, " % (name, out)
        book.add(text + "off, s[8:11], 0", raw)
        book.add(text + "off, s[8:11], s4 offset:%d" % (8 * size), raw + " s4=40 exec=" + PARTIAL)
        book.add(text + "v2, s[8:11], 0 offen", raw + " v2=iota(0,%x)" % size)
        book.add(text + "v2, s[8:11], s4 offen offset:%d" % size,
                 raw + " s4=40 v2=iota(10,%x) exec=%s" % (size, PARTIAL))
        book.add(text + "v2, s[8:11], 0 idxen", struct_ + " v2=iota(0,1)")
        book.add(text + "v[2:3], s[8:11], 0 idxen offen", struct_ + " v2=iota(1,1) v3=all(0)")
        book.add(text + "v2, s[8:11], 0 offen", raw + " v2=iota(0,%x) exec=0" % size)
    for name, size in STORES:
        data = vgprs(6, size)
        text = "buffer_store_%s %s, " % (name, data)
        book.add(text + "off, s[8:11], s4 offset:%d" % (8 * size), raw + " s4=40 exec=8000")
        book.add(text + "v2, s[8:11], 0 offen", raw + " v2=iota(0,%x)" % size)
        book.add(text + "v2, s[8:11], s4 offen offset:%d" % size,
                 raw + " s4=40 v2=iota(10,%x) exec=%s" % (size, PARTIAL))
        book.add(text + "v2, s[8:11], 0 idxen", struct_ + " v2=iota(0,1)")
        book.add(text + "v2, s[8:11], 0 offen", raw + " v2=iota(0,%x) exec=0" % size)
    # Outside the range: 0 is read, nothing is written.
    short = "mem s8=200100 s9=0 s10=80 s11=31014fac"
    book.add("buffer_load_dword v20, v2, s[8:11], 0 offen", short + " v2=iota(0,4)")
    book.add("buffer_load_dword v20, v2, s[8:11], 0 offen", short + " v2=far")
    book.add("buffer_load_dwordx2 v[20:21], v2, s[8:11], 0 offen", short + " v2=iota(0,8)")
    book.add("buffer_store_dword v6, v2, s[8:11], 0 offen", short + " v2=iota(0,4)")
    book.add("buffer_store_dword v6, v2, s[8:11], 0 offen offset:64", short + " v2=iota(0,4)")
    book.add("buffer_store_byte v6, v2, s[8:11], 0 offen", short + " v2=iota(70,1)")
    indexed = "mem s8=200100 s9=100000 s10=10 s11=11014fac"
    book.add("buffer_load_dword v20, v2, s[8:11], 0 idxen", indexed + " v2=iota(0,1)",
             target="gfx1")
    book.add("buffer_store_dword v6, v2, s[8:11], 0 idxen", indexed + " v2=iota(0,1)",
             target="gfx1")
    # Swizzled, as scratch is on gfx10: lanes interleave by the index stride.
    for stride, word3 in ((3, "e80fac"), (2, "c80fac")):
        scratch = "mem s8=200100 s9=80000000 s10=ffffffff s11=%s" % ("31" + word3)
        tail = " exec=ffffffff" if stride == 2 else ""
        wave = 32 if stride == 2 else None
        book.add("buffer_store_dword v6, off, s[8:11], 0 offset:4", scratch + tail, wave=wave, target=("gfx9", "gfx1030"))
        book.add("buffer_store_dword v6, v2, s[8:11], 0 offen", scratch + " v2=shift_dword" + tail,
                 wave=wave, target=("gfx9", "gfx1030"))
        book.add("buffer_load_dword v20, v2, s[8:11], s4 offen offset:8",
                 scratch + " v2=shift_dword s4=100" + tail, wave=wave, target=("gfx9", "gfx1030"))
        book.add("buffer_load_ubyte v20, v2, s[8:11], 0 offen offset:1",
                 scratch + " v2=shift_dword" + tail, wave=wave, target=("gfx9", "gfx1030"))
        book.add("buffer_store_short v6, off, s[8:11], s4 offset:6", scratch + " s4=40" + tail,
                 wave=wave, target=("gfx9", "gfx1030"))
    for exec_ in ("", " exec=" + PARTIAL, " exec=0"):
        book.add("buffer_load_dword v2, s[8:11], s4 offen lds",
                 raw + " s4=40 v2=iota(0,8) m0=400" + exec_)
        for wide in ("dwordx3", "dwordx4"):
            book.add("buffer_load_%s v2, s[8:11], s4 offen offset:8 lds" % wide,
                     raw + " s4=40 v2=iota(0,18) m0=400" + exec_, name="buffer_load_" + wide)

    book.file("mubuf_atomic")
    for bits, suffix in ((32, ""), (64, "_x2")):
        size = bits // 8
        data = vgprs(6, size)
        start = raw + " mem@200100=int_a mem@200200=int_b v2=iota(0,%x) " % size
        for name in INTEGER + ["cmpswap"]:
            values, regs = "v6=int_c v7=int_d", data
            if name == "cmpswap":
                regs = vgprs(6, 2 * size)
                values = ("v6=int_c v7=int_a" if bits == 32 else
                          "v6=int_c v7=int_d v8=even_a v9=odd_a")
            text = "buffer_atomic_%s%s %s, v2, s[8:11], 0 offen" % (name, suffix, regs)
            book.add(text, start + values)
            for bit in (" sc0", " glc"):
                book.add(text + bit, start + values + " exec=" + PARTIAL, optional=True)
                book.add(text + " offset:16" + bit, start + values + " exec=0", optional=True)
        book.add("buffer_atomic_add%s %s, off, s[8:11], s4 offset:8" % (suffix, data),
                 start + "v6=int_c v7=int_d s4=10 exec=" + PARTIAL)
        book.add("buffer_atomic_add%s %s, v2, s[8:11], 0 offen sc0" % (suffix, data),
                 short + " v2=iota(0,%x) v6=int_c v7=int_d" % size, optional=True)
        book.add("buffer_atomic_add%s %s, v2, s[8:11], 0 offen glc" % (suffix, data),
                 short + " v2=iota(0,%x) v6=int_c v7=int_d" % size, optional=True)
    floats = raw + " v2=iota(0,4) mem@200100=%s v6=%s"
    doubles = raw + (" v2=iota(0,8) mem@200100=f64_mix mem@200200=f64_mix2 v6=f64_ylo v7=f64_yhi")
    for name, inputs in (("add_f32", floats % ("f32_x", "f32_y")),
                         ("fmin", floats % ("f32_x", "f32_y")),
                         ("fmax", floats % ("f32_x", "f32_y")),
                         ("pk_add_f16", floats % ("small_f16", "small_f162")),
                         ("pk_add_bf16", floats % ("small_bf16", "small_bf162")),
                         ("csub", floats % ("int_a", "int_b")),
                         ("add_f64", doubles), ("min_f64", doubles), ("max_f64", doubles),
                         ("fmin_x2", doubles), ("fmax_x2", doubles)):
        size = 8 if "64" in name or "x2" in name else 4
        for bit in ("", " sc0", " glc"):
            for exec_ in (" exec=" + PARTIAL, " exec=0"):
                book.add("buffer_atomic_%s %s, v2, s[8:11], 0 offen%s" % (
                    name, vgprs(6, size), bit), inputs + exec_, optional=True)
    for bit in ("", " glc"):
        book.add("buffer_atomic_fcmpswap v[6:7], v2, s[8:11], 0 offen" + bit,
                 raw + " v2=iota(0,4) mem@200100=f32_x v6=f32_y v7=f32_x exec=" + PARTIAL)
        book.add("buffer_atomic_fcmpswap_x2 v[6:9], v2, s[8:11], 0 offen" + bit,
                 raw + " v2=iota(0,8) mem@200100=f64_mix mem@200200=f64_mix2 v6=int_a v7=int_b "
                 "v8=f64_mixlo v9=f64_mixhi exec=" + PARTIAL)


def scratch(book):
    book.file("scratch")
    base = "mem scratch=200000,40"
    for name, size in LOADS + tuple(("store_" + n, s) for n, s in STORES):
        align = min(4, size)
        for vector, scalar, inputs in (
                ("v2", "off", "v2=scratch%d" % align), ("off", "s4", "s4=10"),
                ("off", "off", ""), ("v2", "s4", "v2=scratch%d s4=8" % align)):
            for tail, exec_ in (("", ""), (" offset:%d" % align, " exec=" + PARTIAL),
                                (" offset:%d" % align, " exec=0")):
                text = "scratch_load_%s %s, %s, %s%s" % (name, vgprs(20, size), vector, scalar,
                                                         tail)
                if name.startswith("store_"):
                    text = "scratch_%s %s, %s, %s%s" % (name, vector, vgprs(6, size), scalar, tail)
                book.add(text, "%s %s%s" % (base, inputs, exec_),
                         optional=(vector, scalar) != ("v2", "off"))
    for name, step in (("dword", 4), ("ubyte", 1), ("sbyte", 1), ("ushort", 2), ("sshort", 2)):
        for exec_ in ("", " exec=" + PARTIAL, " exec=0"):
            book.add("scratch_load_lds_%s v2, off offset:%d" % (name, step),
                     "%s v2=scratch%d m0=400%s" % (base, step, exec_))
            book.add("global_load_lds_%s v[2:3], off" % name,
                     "mem v2=iota(200100,%x) v3=all(0) m0=400%s" % (step, exec_))


def flat_apertures(book):
    """Flat addresses that mean LDS or scratch. The aperture itself is read from the hardware, so
    the numbers do not matter: what is fixed is the data."""
    book.file("flat_aperture")
    # s[4:5] and v3 hold the aperture.
    enter = "s_mov_b64 s[4:5], src_%s_base; v_mov_b32 v3, s5; "

    def hide(wave):
        for lane in wave.active():
            wave.write_vector("v", 3, lane, softfloat.unknown(32))
        wave.masks[4] = wave.masks[5] = 0

    def lds_load(wave):
        hide(wave)
        for lane in wave.active():
            at = wave.read_vector("v", 2, lane)
            wave.write_vector("v", 20, lane, wave.load_lds(at, 4))

    def lds_store(wave):
        hide(wave)
        for lane in wave.active():
            wave.store_lds(wave.read_vector("v", 2, lane), 4, wave.read_vector("v", 6, lane))

    def lds_add(wave):
        hide(wave)
        for lane in wave.active():
            at = wave.read_vector("v", 2, lane)
            old = wave.load_lds(at, 4)
            wave.store_lds(at, 4, old + wave.read_vector("v", 6, lane) & 0xFFFFFFFF)

    def scratch_load(wave):
        hide(wave)
        for lane in wave.active():
            at = scratch_model.place(wave, wave.read_vector("v", 2, lane), lane)
            wave.write_vector("v", 20, lane, wave.load(at, 4))

    def scratch_store(wave):
        hide(wave)
        for lane in wave.active():
            at = scratch_model.place(wave, wave.read_vector("v", 2, lane), lane)
            wave.store(at, 4, wave.read_vector("v", 6, lane))

    for exec_ in ("", " exec=" + PARTIAL, " exec=0"):
        lds = "v2=iota(100,4)" + exec_
        book.add(enter % "shared" + "flat_load_dword v20, v[2:3]", lds, expect=lds_load,
                 name="flat_load_dword")
        book.add(enter % "shared" + "flat_store_dword v[2:3], v6", lds, expect=lds_store,
                 name="flat_store_dword")
        book.add(enter % "shared" + "flat_atomic_add v[2:3], v6", lds, expect=lds_add,
                 name="flat_atomic_add")
        private = "mem scratch=200000,40 v2=scratch4" + exec_
        book.add(enter % "private" + "flat_load_dword v20, v[2:3]", private, expect=scratch_load,
                 name="flat_load_dword")
        book.add(enter % "private" + "flat_store_dword v[2:3], v6", private, expect=scratch_store,
                 name="flat_store_dword")


# Descriptor word 3: how components map, and the format, per target.
WORD3 = {
    "gfx9": lambda dfmt, nfmt: 0xFAC | nfmt << 12 | dfmt << 15,
    "gfx1": lambda unified, _: 0x31000FAC | unified << 12,
}
FLOATS = {"gfx9": ((4, 7), (11, 7), (13, 7), (14, 7)), "gfx1030": (22, 64, 74, 77),
          "gfx11": (22, 50, 60, 63), "gfx12": (22, 50, 60, 63)}
HALVES = {"gfx9": ((2, 7), (5, 7), (12, 7), (12, 7)), "gfx1030": (13, 29, 71, 71),
          "gfx11": (13, 29, 57, 57), "gfx12": (13, 29, 57, 57)}
UINT = {"gfx9": (10, 4), "gfx1030": 60, "gfx11": 46, "gfx12": 46}


def formats(book):
    book.file("buffer_format")
    for target in ("gfx9", "gfx1030", "gfx11", "gfx12"):
        def descriptor(code):
            pair = code if isinstance(code, tuple) else (code, 0)
            return "mem s8=200100 s9=0 s10=1000 s11=%x" % WORD3["gfx9" if target == "gfx9" else "gfx1"](*pair)

        for n, name in enumerate(("x", "xy", "xyz", "xyzw")):
            size = 4 * (n + 1)
            out, data = vgprs(20, size), vgprs(6, size)
            half_out, half_data = vgprs(20, 4 * (n // 2 + 1)), vgprs(6, 4 * (n // 2 + 1))
            full = descriptor(FLOATS[target][n])
            half = descriptor(HALVES[target][n])
            for exec_ in ("", " exec=" + PARTIAL, " exec=0"):
                tail = " v2=iota(0,10)" + exec_
                book.add("buffer_load_format_%s %s, v2, s[8:11], 0 offen" % (name, out),
                         full + tail, target=target)
                book.add("buffer_store_format_%s %s, v2, s[8:11], 0 offen" % (name, data),
                         full + tail, target=target)
                book.add("buffer_load_format_d16_%s %s, v2, s[8:11], 0 offen" % (name, half_out),
                         half + tail, target=target)
                if n != 2 or "exec=0" in exec_:  # there is no format of three halves
                    book.add("buffer_store_format_d16_%s %s, v2, s[8:11], 0 offen" % (
                        name, half_data), half + tail, target=target)
            # More components than the format has: 0, 0 and 1.
            book.add("buffer_load_format_%s %s, v2, s[8:11], 0 offen" % (name, out),
                     descriptor(FLOATS[target][0]) + " v2=iota(0,10)", target=target)
            book.add("buffer_load_format_%s %s, v2, s[8:11], 0 offen" % (name, out),
                     descriptor(UINT[target]) + " v2=iota(0,4)", target=target)
            # Outside: zeros.
            book.add("buffer_load_format_%s %s, v2, s[8:11], 0 offen" % (name, out),
                     full + " v2=all(100000)", target=target, optional=n != 0)
            typed("tbuffer_load_format_%s %s, v2, s[8:11], 0 offen" % (name, out), book, target,
                  ("32", "32_32", "32_32_32", "32_32_32_32")[n], descriptor(FLOATS[target][n]))
            typed("tbuffer_store_format_%s %s, v2, s[8:11], 0 offen" % (name, data), book, target,
                  ("32", "32_32", "32_32_32", "32_32_32_32")[n], descriptor(FLOATS[target][n]))
            typed("tbuffer_load_format_d16_%s %s, v2, s[8:11], 0 offen" % (name, half_out), book,
                  target, ("16", "16_16", "16_16_16_16", "16_16_16_16")[n],
                  descriptor(HALVES[target][n]))
            typed("tbuffer_store_format_d16_%s %s, v2, s[8:11], 0 offen" % (name, half_data),
                  book, target, ("16", "16_16", "16_16_16_16", "16_16_16_16")[n],
                  descriptor(HALVES[target][n]), ("exec=0",) if n == 2 else EXECS)
        half = descriptor(HALVES[target][0])
        for exec_ in ("", " exec=" + PARTIAL, " exec=0"):
            book.add("buffer_load_format_d16_hi_x v20, v2, s[8:11], 0 offen",
                     half + " v2=iota(0,4)" + exec_, target=target)
            book.add("buffer_store_format_d16_hi_x v6, v2, s[8:11], 0 offen",
                     half + " v2=iota(0,4)" + exec_, target=target)


EXECS = ("", "exec=" + PARTIAL, "exec=0")


def typed(text, book, target, name, inputs, execs=EXECS):
    spelled = ("format:[BUF_DATA_FORMAT_%s,BUF_NUM_FORMAT_FLOAT]" if target == "gfx9"
               else "format:[BUF_FMT_%s_FLOAT]") % name
    head, _, tail = text.rpartition(" offen")
    text = "%s %s offen%s" % (head, spelled, tail)
    for exec_ in execs:
        book.add(text, inputs + " v2=iota(0,10) " + exec_, target=target)
