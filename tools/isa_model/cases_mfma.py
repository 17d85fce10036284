# SPDX-License-Identifier: MIT
"""Cases for matrix instructions and accumulation registers."""

import mfma
from cases_valu import OTHER, PARTIAL


def registers(kind, first, count):
    return "%s%d" % (kind, first) if count == 1 else "%s[%d:%d]" % (kind, first, first + count - 1)


def sources(shape, kind, first, bank, dwords):
    """Inputs for `dwords` registers of one matrix."""
    if kind == "f64":
        return "%s%d=all(0) %s%d=%s" % (bank, first, bank, first + 1,
                                        "small_f64a" if first % 8 == 0 else "small_f64b")
    names = {"f32": ("small_f32", "small_f32b"), "xf32": ("small_f32", "small_f32b"),
             "f16": ("small_f16", "small_f162"), "bf16": ("small_bf16", "small_bf162"),
             "i8": ("int_a", "int_b", "int_c", "int_d"), "fp8": ("small_fp8", "small_fp8b"),
             "bf8": ("small_bf8", "small_bf8b")}[kind]
    start = 0 if first % 8 == 0 else 1
    return " ".join("%s%d=%s" % (bank, first + n, names[(start + n) % len(names)])
                    for n in range(dwords))


def start_values(shape, bank, first, count):
    """C: small numbers, a different one in each register."""
    if shape.out == "f64":
        return " ".join("%s%d=%s" % (bank, first + n, "all(0)" if n % 2 == 0 else "small_f64a")
                        for n in range(count))
    kind = "int_c" if shape.out == "i32" else "small_f32"
    other = "int_d" if shape.out == "i32" else "small_f32b"
    return " ".join("%s%d=%s" % (bank, first + n, other if n % 3 else kind) for n in range(count))


def mx(book):
    """Products of 8, 6 and 4 bit floats with and without scales."""
    data = {"fp8": ("small_fp8", "small_fp8b"), "bf8": ("small_bf8", "small_bf8b"),
            "fp6": ("small_fp6a0", "small_fp6a1", "small_fp6a2", "small_fp6b0", "small_fp6b1",
                    "small_fp6b2"),
            "bf6": ("small_bf6a0", "small_bf6a1", "small_bf6a2", "small_bf6b0", "small_bf6b1",
                    "small_bf6b2"),
            "fp4": ("int_c", "int_d", "int_a")}

    def matrix(kind, first):
        dwords = mfma.OCP[kind].width
        names = data[kind]
        return registers("v", first, dwords), " ".join(
            "v%d=%s" % (first + n, names[(n + first // 8) % len(names)]) for n in range(dwords))

    for shape, count in (("16x16x128", 4), ("32x32x64", 16)):
        c, d = registers("v", 40, count), registers("v", 120, count)
        for left, x in enumerate(mfma.MX):
            for right, y in enumerate(mfma.MX):
                if count == 16 and left != right and (left, right) not in ((0, 4), (4, 3)):
                    continue
                (a, a_in), (b, b_in) = matrix(x, 8), matrix(y, 16)
                tail = " cbsz:%d blgp:%d" % (left, right)
                inputs = a_in + " " + b_in
                text = "v_mfma_f32_%s_f8f6f4 %s, %s, %s, %s" % (shape, d, a, b, "%s")
                if left == right:
                    book.add(text % "1.0" + tail, inputs + " exec=" + PARTIAL)
                text = "v_mfma_scale_f32_%s_f8f6f4 %s, %s, %s, %s, v30, v31" % (
                    shape, d, a, b, c)
                sums = " ".join("v%d=all(%x)" % (40 + n, 0x3F800000) for n in range(count))
                select = " op_sel:[%d,%d,0] op_sel_hi:[%d,%d,0]" % (
                    left & 1, right & 1, right >> 1 & 1, left >> 1 & 1)
                book.add(text + select + tail, "%s %s v30=mx_scale v31=mx_scale2" % (inputs, sums))
    a, b = registers("v", 8, 8), registers("v", 16, 8)
    book.add("v_mfma_scale_f32_16x16x128_f8f6f4 v[120:123], %s, %s, 0, v30, v31" % (a, b),
             "v30=all(7f) v31=iota(f8,1)")


def add(book):
    book.file("mfma")
    for name in mfma.DENSE + mfma.OLD + mfma.DEEP:
        shape = mfma.Shape("v_mfma_" + name)
        # For newer targets the assembler takes the old names to mean the new ones.
        target = "gfx90a" if shape.old else None
        dwords = max(1, shape.per_lane * shape.bits // 32)
        count = shape.results() * (2 if shape.out == "f64" else 1)
        a, b = registers("v", 8, dwords), registers("v", 12, dwords)
        inputs = (sources(shape, shape.kinds[0], 8, "v", dwords) + " "
                  + sources(shape, shape.kinds[1], 12, "v", dwords))
        c = registers("v", 40, count)
        d = registers("v", 120, count)
        text = "v_mfma_%s %s, %s, %s, %s"
        book.add(text % (name, d, a, b, "0"), inputs, target=target)
        # In place, and whatever exec says.
        book.add(text % (name, c, a, b, c),
                 inputs + " " + start_values(shape, "v", 40, count) + " exec=" + PARTIAL,
                 target=target)
        big = count >= 16
        if not big:
            book.add(text % (name, registers("a", 20, count), registers("a", 8, dwords), b,
                             registers("a", 40, count)),
                     sources(shape, shape.kinds[0], 8, "a", dwords) + " "
                     + sources(shape, shape.kinds[1], 12, "v", dwords) + " "
                     + start_values(shape, "a", 40, count), target=target)
        if shape.blocks > 1 and shape.out != "f64" and not big:
            for cbsz, abid in ((1, 1), (2, 3), (4, 5)):
                if 1 << cbsz <= shape.blocks:
                    book.add(text % (name, d, a, b, "0") + " cbsz:%d abid:%d" % (cbsz, abid),
                             inputs, target=target)
        if not big and (shape.kinds[0] == "f32"
                        or (shape.blocks > 1 and shape.kinds[0] == "f16")):
            for blgp in range(1, 8):
                book.add(text % (name, d, a, b, "0") + " blgp:%d" % blgp, inputs, optional=True,
                         target=target)
        if shape.kinds[0] == "f32" and not big:
            book.add(text % (name, d, a, b, "1.0"), "v8=special_f32 v12=small_f32", target=target)
        if shape.out == "f64":
            book.add(text % (name, d, a, b, c) + (" blgp:5" if shape.old else " neg:[1,0,1]"),
                     inputs + " " + start_values(shape, "v", 40, count), target=target)
        if shape.kinds[0] in ("f16", "bf16") and not big:
            # Denormals count, but not on gfx90a; the sums are denormal nowhere.
            tiny = "all(2000200)" if shape.kinds[0] == "f16" else "all(400040)"
            huge = "all(70007000)"
            book.add(text % (name, d, a, b, "0"), " ".join(
                "v%d=%s v%d=%s" % (8 + n, tiny, 12 + n, huge) for n in range(dwords)),
                target=target)
    book.file("mfma_mx")
    mx(book)
    book.file("smfmac")
    for name in mfma.SPARSE:
        shape = mfma.Shape("v_smfmac_" + name)
        groups = 64 // shape.m
        wide = shape.k // groups * shape.bits // 32
        narrow = wide // 2
        count = shape.results()
        inputs = (sources(shape, shape.kinds[0], 8, "v", narrow) + " "
                  + sources(shape, shape.kinds[1], 12, "v", wide) + " "
                  + start_values(shape, "v", 40, count) + " v20=sparse")
        text = "v_smfmac_%s %s, %s, %s, v20" % (name, registers("v", 40, count),
                                               registers("v", 8, narrow), registers("v", 12, wide))
        book.add(text, inputs)
        if count < 16 and shape.k // groups < 32:  # else all of the index register is used
            book.add(text + " abid:1", inputs + " exec=" + PARTIAL)
    book.file("accvgpr")
    for exec_ in ("", " exec=" + PARTIAL, " exec=0"):
        book.add("v_accvgpr_read_b32 v20, a2", "a2=int_a" + exec_)
        book.add("v_accvgpr_write_b32 a20, v2", "v2=int_a" + exec_)
        book.add("v_accvgpr_write_b32 a20, 1.0", exec_)
        book.add("v_accvgpr_write_b32 a20, s4", "s4=12345678" + exec_)
        book.add("v_accvgpr_mov_b32 a20, a2", "a2=int_a" + exec_)
    # Memory instructions may load to and store from them.
    book.add("ds_read_b64 a[20:21], v2", "v2=iota(100,8) exec=" + OTHER)
    book.add("ds_write_b32 v2, a4", "v2=iota(100,4) a4=int_a exec=" + OTHER)
    book.add("ds_add_rtn_u32 a20, v2, a4", "v2=iota(100,4) a4=int_a exec=" + OTHER)
    book.add("global_load_dwordx4 a[20:23], v[2:3], off",
             "mem v2=iota(200100,10) v3=all(0) exec=" + OTHER)
    book.add("global_store_dwordx2 v[2:3], a[4:5], off",
             "mem v2=iota(200100,8) v3=all(0) a4=int_a a5=int_b exec=" + OTHER)
    book.add("flat_load_dword a20, v[2:3]", "mem v2=iota(200100,4) v3=all(0) exec=" + OTHER)
    book.add("buffer_load_dword a20, v2, s[8:11], 0 offen",
             "mem s8=200100 s9=0 s10=1000 s11=31014fac v2=iota(0,4) exec=" + OTHER)
    book.add("global_load_short_d16_hi a20, v[2:3], off",
             "mem v2=iota(200100,2) v3=all(0) exec=" + OTHER)
