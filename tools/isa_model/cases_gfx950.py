# SPDX-License-Identifier: MIT
"""Cases for the vector instructions that came with gfx950."""

import rows_gfx950
from cases_valu import OTHER, PARTIAL
from rows_gfx950 import OCP, WIDE

COMPUTE = "mode=3f0"


def registers(first, count):
    return "v%d" % first if count == 1 else "v[%d:%d]" % (first, first + count - 1)


def add(book):
    book.file("gfx950_alu")
    for table in (0x00, 0xFF, 0xF0, 0xCC, 0xAA, 0x96, 0x80, 0xFE, 0xCA, 0x53, 0x1D):
        for kind in ("b32", "b16"):
            book.add("v_bitop3_%s v20, v2, v6, v10 bitop3:0x%x" % (kind, table),
                     "v2=int_a v6=int_b v10=int_c exec=" + PARTIAL)
    book.add("v_bitop3_b32 v20, s4, 7, v10 bitop3:0x6a", "s4=12345678 v10=int_c")
    book.add("v_bitop3_b32 v20, v2, v6, v10 bitop3:0x6a", "v2=int_a v6=int_b v10=int_c exec=0")
    for select in ("1,0,0,0", "0,1,0,0", "0,0,1,0", "1,1,1,1", "0,1,0,1"):
        book.add("v_bitop3_b16 v20, v2, v6, v10 bitop3:0x6a op_sel:[%s]" % select,
                 "v2=int_a v6=int_b v10=int_c")
    for kind in ("i8", "u8"):
        name = "v_ashr_pk_%s_i32" % kind
        for tail in ("", " exec=" + PARTIAL, " exec=0"):
            book.add("%s v20, v2, v6, v10" % name, "v2=int_a v6=int_b v10=lane" + tail)
        book.add("%s v20, v2, v6, 3" % name, "v2=small_int v6=int_b")
        book.add("%s v20, v2, v6, v10 op_sel:[0,0,0,1]" % name, "v2=int_c v6=int_d v10=lane")
    for tail in ("", " exec=" + PARTIAL, " exec=0"):
        book.add("v_prng_b32 v20, v2", "v2=int_a" + tail)
    book.add("v_prng_b32 v20, s4", "s4=80000001")
    for name in ("minimum3", "maximum3"):
        for sources in (("f32_c", "f32_d", "f32_e"), ("f32_x", "f32_y", "f32_z"),
                        ("special_f32", "f32_c", "f32_x")):
            inputs = "v2=%s v6=%s v10=%s " % sources
            book.add("v_%s_f32 v20, v2, v6, v10" % name, inputs + COMPUTE)
            book.add("v_%s_f32 v20, -v2, |v6|, v10" % name, inputs + COMPUTE + " exec=" + PARTIAL)
        book.add("v_%s_f32 v20, v2, v6, v10" % name, inputs + "exec=0")
        for sources in (("f16_c", "f16_d", "f16_e"), ("f16_x", "f16_y", "f16_z")):
            inputs = "v2=%s v6=%s v10=%s " % sources
            for tail in ("", " op_sel:[1,0,1] op_sel_hi:[0,1,1]", " neg_lo:[1,0,0] neg_hi:[0,1,1]"):
                book.add("v_pk_%s_f16 v20, v2, v6, v10%s" % (name, tail),
                         inputs + COMPUTE + " exec=" + PARTIAL)
        book.add("v_pk_%s_f16 v20, v2, v6, v10" % name, inputs + "exec=0")
    for name in ("v_permlane16_swap_b32", "v_permlane32_swap_b32"):
        book.add("%s v20, v2" % name, "v2=int_a v20=int_b")
        for exec_ in (PARTIAL, OTHER, "ffff0000ffff", "0"):
            book.add("%s v20, v2" % name, "v2=int_a v20=int_b exec=" + exec_)
            book.add("%s_e64 v20, v2 fi:1" % name, "v2=int_a v20=int_b exec=" + exec_)
            book.add("%s_e64 v20, v2 bound_ctrl:1" % name, "v2=int_a v20=int_b exec=" + exec_)
    halves(book)
    book.file("scale_convert")
    for name in rows_gfx950.OPS:
        if "scalef32" in name:
            scale(book, name)


def halves(book):
    book.add("v_cvt_f32_bf16 v20, v2", "v2=f32_c " + COMPUTE)
    for select in ("WORD_0", "WORD_1"):
        book.add("v_cvt_f32_bf16_sdwa v20, v2 src0_sel:%s" % select, "v2=f32_x " + COMPUTE)
    book.add("v_cvt_f32_bf16 v20, v2", "v2=small_bf16 exec=" + PARTIAL)
    book.add("v_cvt_f32_bf16 v20, v2", "v2=small_bf16 exec=0")
    for kind in ("bf16", "f16"):
        name = "v_cvt_pk_%s_f32" % kind
        for a, b in (("f32_c", "f32_x"), ("f16_edge", "small_f32"), ("f32_y", "f32_d")):
            book.add("%s v20, v2, v6" % name, "v2=%s v6=%s %s" % (a, b, COMPUTE))
        book.add("%s v20, -v2, |v6|" % name, "v2=f32_c v6=f32_x %s exec=%s" % (COMPUTE, PARTIAL))
        book.add("%s v20, v2, v6" % name, "v2=f32_c v6=f32_x exec=0")
        for tail in ("", " op_sel:[0,0,1]"):
            name = "v_cvt_sr_%s_f32 v20, v2, v6%s" % (kind, tail)
            book.add(name, "v2=small_f32 v6=int_a %s exec=%s" % (COMPUTE, PARTIAL))
            book.add(name, "v2=f32_c v6=all(0) " + COMPUTE)
        book.add(name, "v2=f32_c v6=all(0) exec=0")


def scale(book, name):
    """One conversion with a scale: from which registers to which, by its name."""
    parts = name[len("v_cvt_scalef32_"):].split("_")
    random = parts[0] == "sr"
    pack = parts[-3] if len(parts) > 2 and parts[-3] != "sr" else ""
    to, of = parts[-2:]
    count = {"": 1, "pk": 2, "pk32": 32, "2xpk16": 32}[pack]
    widens = to in WIDE
    wide, tiny = (to, of) if widens else (of, to)
    bits, width = OCP[tiny].width, WIDE[wide].width
    many = count == 32
    dst = 100 if many else 20
    d = registers(dst, max(1, count * (width if widens else bits) // 32))
    data = {"f32": ("small_f32", "f32_x", "small_f32b"),
            "f16": ("small_f16", "f16_x", "small_f162"),
            "bf16": ("small_bf16", "f32_x", "small_bf162")}[wide]
    tail = " v9=scale_f32 " + COMPUTE
    variants = []
    if widens:
        dwords = max(1, count * bits // 32)
        source = registers(32, dwords)
        for names in (("int_a", "int_b", "int_c"), ("int_d", "int_c", "int_a")):
            inputs = " ".join("v%d=%s" % (32 + n, names[n % 3]) for n in range(dwords))
            variants.append(("%s %s, %s, v9" % (name, d, source), inputs))
        selects = ("", " op_sel:[1,0,0]")
        if count * bits == 8:
            selects += (" op_sel:[0,1,0]", " op_sel:[1,1,0]")
        if count == 1 and width == 16:
            selects += (" op_sel:[1,0,1]",)
    else:
        selects = ("", " op_sel:[0,0,0,1]", " op_sel:[0,0,1,0]", " op_sel:[0,0,1,1]")
        if count * bits == 16:
            selects = ("", " op_sel:[0,0,0,1]" if of == "f32" else " op_sel:[0,0,1]")
        two = pack == "2xpk16" or (of == "f32" and pack == "pk" and not random)
        dwords = max(1, count * width // 32 // (2 if two else 1))
        middle = ", v80" if random else ""
        for shift in (0, 1):
            inputs = " ".join("v%d=%s" % (32 + n, data[(n + shift) % 3]) for n in range(dwords))
            source = registers(32, dwords)
            if two:
                source += ", " + registers(64, dwords)
                inputs += " " + " ".join("v%d=%s" % (64 + n, data[(n + shift + 1) % 3])
                                         for n in range(dwords))
            if random:
                inputs += " v80=" + ("all(0)", "int_a")[shift]
            variants.append(("%s %s, %s%s, v9" % (name, d, source, middle), inputs))
    for n, (text, inputs) in enumerate(variants):
        book.add(text, inputs + tail)
        book.add(text, inputs + tail + " exec=" + PARTIAL)
        if not many:
            for select in selects[1:]:
                book.add(text + select, inputs + tail + (" exec=" + OTHER if n else ""))
    text, inputs = variants[0]
    book.add(text, inputs + tail + " exec=0")
    # Any scale, NaN too; and one that is no power of two.
    if not many or widens:
        book.add(text, inputs + " v9=f32_d " + COMPUTE)
    book.add(text.replace("v9", "s4"), inputs + " s4=40490fdb " + COMPUTE)
