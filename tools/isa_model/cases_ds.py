# SPDX-License-Identifier: MIT
"""Cases for LDS."""

from cases_valu import OTHER, PARTIAL


def add(book):
    book.file("ds_plain")
    for name, out, step in (("b64_tr_b16", "v[20:21]", 8), ("b64_tr_b8", "v[20:21]", 8),
                            ("b64_tr_b4", "v[20:21]", 8), ("b96_tr_b6", "v[20:22]", 16)):
        for inputs in ("v2=iota(100,%x)" % step, "v2=shuffle"):
            book.add("ds_read_%s %s, v2" % (name, out), inputs.replace("shuffle", "iota(1000,28)"))
            book.add("ds_read_%s %s, v2 offset:64" % (name, out), inputs)
        book.add("ds_read_%s %s, v2" % (name, out.replace("v[", "a[")), "v2=iota(200,%x)" % step)
    for name, size in (("b8", 1), ("b16", 2), ("b32", 4), ("b64", 8), ("b96", 12), ("b128", 16)):
        dwords = max(1, size // 4)
        step = 16 if size > 8 else size
        data = "v4" if dwords == 1 else "v[4:%d]" % (3 + dwords)
        out = "v20" if dwords == 1 else "v[20:%d]" % (19 + dwords)
        for text in ("ds_write_%s v2, %s" % (name, data),
                     "ds_write_%s v2, %s offset:%d" % (name, data, 64 * step)):
            book.add(text, "v2=iota(100,%x)" % step)
            book.add(text, "v2=iota(400,%x) exec=%s" % (step, PARTIAL))
            book.add(text, "v2=iota(0,%x) exec=0" % step)
        if size >= 4:
            for text in ("ds_read_%s %s, v2" % (name, out),
                         "ds_read_%s %s, v2 offset:%d" % (name, out, 64 * step)):
                book.add(text, "v2=iota(100,%x)" % step)
                book.add(text, "v2=iota(400,%x) exec=%s" % (step, PARTIAL))
                book.add(text, "v2=iota(0,%x) exec=0" % step)
            book.add("ds_read_%s %s, v2" % (name, out), "v2=all(%x)" % (step * 5))
    # The address register may be the destination.
    book.add("ds_read_b64 v[2:3], v2", "v2=iota(40,8)")
    book.add("ds_read_b128 v[2:5], v2", "v2=iota(40,10)")
    for name in ("u8", "i8", "u16", "i16", "u8_d16", "u8_d16_hi", "i8_d16", "i8_d16_hi", "u16_d16",
                 "u16_d16_hi"):
        step = 2 if "16" in name.split("_")[0] else 1
        book.add("ds_read_%s v20, v2" % name, "v2=iota(100,%x)" % step)
        book.add("ds_read_%s v20, v2 offset:%d" % (name, 2 * step),
                 "v2=iota(300,%x) exec=%s" % (step, PARTIAL))
        book.add("ds_read_%s v20, v2" % name, "v2=iota(100,%x) exec=0" % step)
    for name in ("b8", "b16"):
        step = 1 if name == "b8" else 2
        book.add("ds_write_%s_d16_hi v2, v4" % name, "v2=iota(100,%x)" % step)
        book.add("ds_write_%s_d16_hi v2, v4 offset:6" % name,
                 "v2=iota(100,%x) exec=%s" % (step, PARTIAL))
    for bits in (32, 64):
        size = bits // 8
        first, second = ("v4", "v6") if bits == 32 else ("v[4:5]", "v[6:7]")
        out = "v[20:21]" if bits == 32 else "v[20:23]"
        for st in ("", "st64"):
            offsets = "offset0:1 offset1:3" if st else "offset0:2 offset1:130"
            base = "v2=iota(100,%x)" % size
            for exec_ in ("", " exec=" + PARTIAL, " exec=0"):
                book.add("ds_write2%s_b%d v2, %s, %s %s" % (st, bits, first, second, offsets),
                         base + exec_)
                book.add("ds_read2%s_b%d %s, v2 %s" % (st, bits, out, offsets), base + exec_)
                book.add("ds_wrxchg2%s_rtn_b%d %s, v2, %s, %s %s" % (
                    st, bits, out, first, second, offsets), base + exec_)
            book.add("ds_read2%s_b%d %s, v2 offset1:1" % (st, bits, out), base)

    book.file("ds_atomic")
    integer = [("add", "u"), ("sub", "u"), ("rsub", "u"), ("inc", "u"), ("dec", "u"), ("min", "i"),
               ("max", "i"), ("min", "u"), ("max", "u"), ("and", "b"), ("or", "b"), ("xor", "b")]
    for bits in (32, 64):
        size = bits // 8
        data = "v4" if bits == 32 else "v[4:5]"
        out = "v20" if bits == 32 else "v[20:21]"
        places = "v2=iota(100,%x) lds@100=int_a lds@200=int_b" % size
        values = "v4=int_c v5=int_d"
        for stem, kind in integer:
            kind = "%s%d" % (kind, bits)
            book.add("ds_%s_%s v2, %s" % (stem, kind, data), "%s %s" % (places, values))
            book.add("ds_%s_%s v2, %s offset:8" % (stem, kind, data),
                     "%s %s exec=%s" % (places, values, PARTIAL))
            book.add("ds_%s_rtn_%s %s, v2, %s" % (stem, kind, out, data),
                     "%s %s exec=%s" % (places, values, OTHER))
            book.add("ds_%s_rtn_%s %s, v2, %s offset:8" % (stem, kind, out, data),
                     "%s %s exec=0" % (places, values))
        # All lanes on one place: the sum does not depend on the order.
        book.add("ds_add_u%d v2, %s" % (bits, data), "v2=all(100) %s exec=%s" % (values, PARTIAL))
        book.add("ds_max_i%d v2, %s" % (bits, data), "v2=all(100) " + values)
        book.add("ds_wrxchg_rtn_b%d %s, v2, %s" % (bits, out, data), "%s %s exec=%s" % (
            places, values, PARTIAL))
        third = "v6" if bits == 32 else "v[6:7]"
        for stem in ("mskor", "cmpst"):
            same = "v4=int_a v5=int_b v6=int_c v7=int_d"
            if bits == 64:  # memory holds pairs of int_a
                same = "v4=even_a v5=odd_a v6=int_c v7=int_d"
            book.add("ds_%s_b%d v2, %s, %s" % (stem, bits, data, third), places + " " + same)
            book.add("ds_%s_rtn_b%d %s, v2, %s, %s" % (stem, bits, out, data, third),
                     "%s %s exec=%s" % (places, same, PARTIAL))
            book.add("ds_%s_rtn_b%d %s, v2, %s, %s offset:16" % (stem, bits, out, data, third),
                     "%s %s" % (places, same))
            book.add("ds_%s_rtn_b%d %s, v2, %s, %s" % (stem, bits, out, data, third),
                     "%s %s exec=0" % (places, same))
        floats = ("v2=iota(100,4) lds@100=f32_x v4=f32_y" if bits == 32 else
                  "v2=iota(100,8) lds@100=f64_mix lds@200=f64_mix2 v4=f64_ylo v5=f64_yhi")
        for stem in ("min", "max", "add"):
            for exec_ in ("", " exec=" + PARTIAL, " exec=0"):
                book.add("ds_%s_f%d v2, %s" % (stem, bits, data), floats + exec_,
                         optional=stem == "add")
                book.add("ds_%s_rtn_f%d %s, v2, %s" % (stem, bits, out, data), floats + exec_,
                         optional=stem == "add")
        floats = ("v2=iota(100,4) lds@100=f32_x v4=f32_x v6=f32_y" if bits == 32 else
                  "v2=iota(100,8) lds@100=f64_mix lds@200=f64_mix2 v4=f64_mixlo v5=f64_mixhi "
                  "v6=int_a v7=int_b")
        for exec_ in ("", " exec=" + PARTIAL, " exec=0"):
            book.add("ds_cmpst_f%d v2, %s, %s" % (bits, data, third), floats + exec_)
            book.add("ds_cmpst_rtn_f%d %s, v2, %s, %s" % (bits, out, data, third), floats + exec_)
    for kind in ("f16", "bf16"):
        values = "v4=small_%s lds@100=small_%s2" % (kind, kind)
        for exec_ in ("", " exec=" + PARTIAL, " exec=0"):
            book.add("ds_pk_add_%s v2, v4" % kind, "v2=iota(100,4) %s%s" % (values, exec_))
            book.add("ds_pk_add_rtn_%s v20, v2, v4" % kind, "v2=iota(100,4) %s%s" % (values, exec_))
    for exec_ in ("", " exec=" + PARTIAL, " exec=0"):
        book.add("ds_wrap_rtn_b32 v20, v2, v4, v6",
                 "v2=iota(100,4) lds@100=int_a v4=int_b v6=int_c" + exec_)
        book.add("ds_condxchg32_rtn_b64 v[20:21], v2, v[4:5]",
                 "v2=iota(100,8) v4=int_a v5=int_b" + exec_)

    book.file("ds_lanes")
    for name in ("ds_append", "ds_consume"):
        for exec_ in ("ffffffffffffffff", PARTIAL, "0"):
            book.add(name + " v20", "m0=100 exec=" + exec_)
            book.add(name + " v20 offset:8", "m0=100 exec=" + exec_)
    book.add("ds_write_addtid_b32 v4", "m0=100 exec=" + PARTIAL)
    book.add("ds_write_addtid_b32 v4 offset:32", "m0=100")
    book.add("ds_read_addtid_b32 v20", "m0=100 exec=" + PARTIAL)
    book.add("ds_read_addtid_b32 v20 offset:32", "m0=100")
    book.add("ds_read_addtid_b32 v20 offset:32", "m0=100 exec=0")
    for name in ("ds_permute_b32", "ds_bpermute_b32"):
        for index in ("shuffle", "scatter", "iota(0,4)", "all(1c)", "int_a"):
            book.add(name + " v20, v2, v4", "v2=%s v4=int_b" % index)
            book.add(name + " v20, v2, v4", "v2=%s v4=int_b exec=%s" % (index, PARTIAL))
        book.add(name + " v20, v2, v4 offset:4", "v2=shuffle v4=int_b")
        book.add(name + " v2, v2, v2", "v2=shuffle")
        book.add(name + " v20, v2, v4", "v2=shuffle v4=int_b exec=0")
    for offset in ("swizzle(QUAD_PERM,2,3,0,1)", "swizzle(QUAD_PERM,1,1,1,1)", "swizzle(SWAP,4)",
                   "swizzle(REVERSE,8)", "swizzle(BROADCAST,16,3)", 'swizzle(BITMASK_PERM,"01pip")',
                   "0x1f", "0x041f", "0x7c1f", "0x0010", "0x80b1"):
        for exec_ in ("", " exec=" + PARTIAL):
            book.add("ds_swizzle_b32 v20, v2 offset:%s" % offset, "v2=int_a" + exec_)
    for offset in ("0xc0a0", "0xc4a7", "0xe000", "0xe010", "0xe003", "0xe01f"):
        book.add("ds_swizzle_b32 v20, v2 offset:%s" % offset, "v2=int_a")
    book.add("ds_swizzle_b32 v20, v2 offset:0x41f", "v2=int_a exec=0")
    book.add("ds_nop", "exec=" + PARTIAL)
