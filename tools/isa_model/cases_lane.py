# SPDX-License-Identifier: MIT
"""Cases for packed math, dot products, lane moves, DPP and SDWA."""

from cases_valu import COMPUTE, OTHER, PARTIAL


def packed(book):
    book.file("vop3p")
    for name, sources in (("v_pk_add_f16", 2), ("v_pk_mul_f16", 2), ("v_pk_fma_f16", 3),
                          ("v_pk_min_f16", 2), ("v_pk_max_f16", 2)):
        regs = ", ".join(["v20", "v2", "v6", "v10"][:sources + 1])
        sets = (("f16_a", "f16_b", "f16_d"), ("f16_c", "f16_d", "f16_e"),
                ("f16_x", "f16_y", "f16_z"))

        def inputs(which):
            return " ".join("v%d=%s" % (2 + 4 * n, sets[which][n]) for n in range(sources))

        for which in (0, 1):
            book.add("%s %s" % (name, regs), inputs(which) + " " + COMPUTE)
        book.add("%s %s" % (name, regs), inputs(2) + " %s exec=%s" % (COMPUTE, PARTIAL))
        book.add("%s %s" % (name, regs), inputs(2) + " %s exec=0" % COMPUTE)
        book.add("%s %s" % (name, regs), inputs(0) + " mode=f0")
        select = ("0,1,0", "1,0,1", "1,1,0")
        for low, high in ((0, 1), (1, 0), (2, 1)):
            tail = " op_sel:[%s] op_sel_hi:[%s]" % (select[low][:2 * sources - 1],
                                                     select[high][:2 * sources - 1])
            book.add("%s %s%s" % (name, regs, tail), inputs(2) + " " + COMPUTE)
        tail = " neg_lo:[%s] neg_hi:[%s]" % ("1,0,1"[:2 * sources - 1], "0,1,1"[:2 * sources - 1])
        book.add("%s %s%s" % (name, regs, tail), inputs(1) + " " + COMPUTE)
        book.add("%s %s clamp" % (name, regs), inputs(1) + " " + COMPUTE)
        scalar = ", ".join(["v20", "s8", "v6", "v10"][:sources + 1])
        book.add("%s %s" % (name, scalar), inputs(2) + " s8=4200bc00 " + COMPUTE)
        one = ", ".join(["v20", "v2", "1.0", "v10"][:sources + 1])
        book.add("%s %s op_sel_hi:[%s]" % (name, one, "1,0,1"[:2 * sources - 1]),
                 inputs(2) + " " + COMPUTE)
    for name, sources in (("v_pk_mad_i16", 3), ("v_pk_mad_u16", 3), ("v_pk_mul_lo_u16", 2),
                          ("v_pk_add_i16", 2), ("v_pk_sub_i16", 2), ("v_pk_add_u16", 2),
                          ("v_pk_sub_u16", 2), ("v_pk_lshlrev_b16", 2), ("v_pk_lshrrev_b16", 2),
                          ("v_pk_ashrrev_i16", 2), ("v_pk_max_i16", 2), ("v_pk_min_i16", 2),
                          ("v_pk_max_u16", 2), ("v_pk_min_u16", 2)):
        regs = ", ".join(["v20", "v2", "v6", "v10"][:sources + 1])
        inputs = "v2=int_a v6=int_b v10=int_c"
        other = "v2=int_d v6=int_c v10=int_a"
        book.add("%s %s" % (name, regs), inputs)
        book.add("%s %s" % (name, regs), other + " exec=" + PARTIAL)
        book.add("%s %s" % (name, regs), inputs + " exec=0")
        book.add("%s %s op_sel:[%s] op_sel_hi:[%s]" % (
            name, regs, "0,1,1"[:2 * sources - 1], "1,0,0"[:2 * sources - 1]), other)
        if any(x in name for x in ("add", "sub", "mad")):
            book.add("%s %s clamp" % (name, regs), inputs)
            book.add("%s %s clamp" % (name, regs), other)
    for name, sources in (("v_pk_add_f32", 2), ("v_pk_mul_f32", 2), ("v_pk_fma_f32", 3)):
        regs = ", ".join(["v[20:21]", "v[2:3]", "v[6:7]", "v[10:11]"][:sources + 1])
        special = "v2=f32_a v3=f32_c v6=f32_b v7=f32_d v10=f32_e v11=f32_x " + COMPUTE
        plain = "v2=f32_x v3=f32_y v6=f32_z v7=f32_x v10=f32_y v11=f32_z " + COMPUTE
        book.add("%s %s" % (name, regs), special)
        book.add("%s %s" % (name, regs), plain + " exec=" + PARTIAL)
        book.add("%s %s" % (name, regs), plain + " exec=0")
        book.add("%s %s op_sel:[%s] op_sel_hi:[%s]" % (
            name, regs, "0,1,1"[:2 * sources - 1], "1,0,0"[:2 * sources - 1]), plain)
        book.add("%s %s neg_lo:[%s] neg_hi:[%s]" % (
            name, regs, "1,0,1"[:2 * sources - 1], "0,1,0"[:2 * sources - 1]), special)
        scalar = ", ".join(["v[20:21]", "v[2:3]", "s[8:9]", "v[10:11]"][:sources + 1])
        book.add("%s %s" % (name, scalar), plain + " s8=40490fdb s9=bf000000")
        book.add("%s %s op_sel_hi:[%s]" % (name, scalar, "1,0,1"[:2 * sources - 1]),
                 plain + " s8=40490fdb s9=bf000000")
    for select in ("0,0", "1,0", "0,1", "1,1"):
        book.add("v_pk_mov_b32 v[20:21], v[2:3], v[6:7] op_sel:[%s]" % select,
                 "v2=int_a v3=int_b v6=int_c v7=int_d exec=" + PARTIAL)
    book.add("v_pk_mov_b32 v[20:21], v[2:3], v[6:7]", "v2=int_a v3=int_b v6=int_c v7=int_d exec=0")
    for name in ("v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"):
        inputs = "v2=f16_x v6=f32_x v10=f16_y " + COMPUTE
        special = "v2=f16_c v6=f32_c v10=f16_d " + COMPUTE
        book.add(name + " v20, v2, v6, v10 op_sel_hi:[1,0,1]", inputs)
        book.add(name + " v20, v2, v6, v10 op_sel:[1,0,0] op_sel_hi:[1,0,1]",
                 inputs + " exec=" + PARTIAL)
        book.add(name + " v20, v2, v6, v10 op_sel:[1,0,1] op_sel_hi:[1,0,1]", special)
        book.add(name + " v20, -v2, |v6|, -|v10| op_sel_hi:[1,0,1]", inputs)
        book.add(name + " v20, v2, v6, v10", "v2=f32_x v6=f32_y v10=f32_z " + COMPUTE)
        book.add(name + " v20, v2, v6, v10", "v2=f32_a v6=f32_b v10=f32_d " + COMPUTE)
        book.add(name + " v20, v2, v6, v10 op_sel_hi:[1,1,1] clamp", inputs)
        book.add(name + " v20, v2, 1.0, v10 op_sel_hi:[1,0,1]", inputs)
        book.add(name + " v20, v2, v6, v10 op_sel_hi:[1,0,1]", inputs + " exec=0")

    book.file("dot")
    for bits in (16, 8, 4):
        for kind in "iu":
            name = "v_dot%d_%s32_%s%d" % (32 // bits, kind, kind, bits)
            inputs = "v2=int_a v6=int_b v10=int_c"
            other = "v2=int_d v6=int_c v10=int_a"
            book.add(name + " v20, v2, v6, v10", inputs)
            book.add(name + " v20, v2, v6, v10", other + " exec=" + PARTIAL)
            book.add(name + " v20, v2, v6, v10", other + " exec=0")
            book.add(name + " v20, v2, v6, v10 clamp", inputs)
            book.add(name + " v20, v2, v6, v10 clamp", other)
            book.add(name + " v20, v2, v6, s8", other + " s8=7ffffff0")
        name = "v_dot%dc_i32_i%d" % (32 // bits, bits)
        book.add(name + " v20, v2, v6", "v2=int_a v6=int_b v20=int_d exec=" + PARTIAL)
        book.add(name + " v20, v2, v6", "v2=int_c v6=int_d v20=int_a")
        book.add(name + " v20, v2, v6", "v2=int_c v6=int_d v20=int_a exec=0")
    for name in ("v_dot2_f32_f16", "v_dot2_f32_bf16"):
        small = "small_f16" if "bf" not in name else "small_bf16"
        special = "f16_c" if "bf" not in name else "f32_c"
        plain = "v2=%s v6=%s v10=small_f32 %s" % (small, small + "2", COMPUTE)
        book.add(name + " v20, v2, v6, v10", plain, optional=True)
        book.add(name + " v20, v2, v6, v10", plain + " exec=" + PARTIAL, optional=True)
        book.add(name + " v20, v2, v6, v10", plain + " exec=0", optional=True)
        book.add(name + " v20, v2, v6, v10", "v2=%s v6=%s v10=f32_d %s" % (special, small, COMPUTE),
                 optional=True)
        book.add(name + " v20, v2, v6, v10 neg_lo:[1,0,0] neg_hi:[0,1,0]", plain, optional=True)
        book.add(name + " v20, v2, v6, v10 clamp", plain, optional=True)
        name = name.replace("dot2", "dot2c")
        acc = "v2=%s v6=%s v20=small_f32 %s" % (small, small + "2", COMPUTE)
        book.add(name + " v20, v2, v6", acc + " exec=" + PARTIAL, optional=True)
        book.add(name + " v20, v2, v6", acc + " exec=0", optional=True)
    book.add("v_pk_fmac_f16 v20, v2, v6", "v2=f16_x v6=f16_y v20=f16_z " + COMPUTE)
    book.add("v_pk_fmac_f16 v20, v2, v6", "v2=f16_c v6=f16_d v20=f16_e %s exec=%s" % (
        COMPUTE, PARTIAL))
    book.add("v_pk_fmac_f16 v20, v2, v6", "v2=f16_x v6=f16_y v20=f16_z exec=0")


def lanes(book):
    book.file("lanes")
    for exec_ in ("ffffffffffffffff", "f0f0f0f0f0f0f0f0", "8000000000000000", "80000000", "0"):
        book.add("v_readfirstlane_b32 s10, v2", "v2=int_a exec=" + exec_)
        book.add("v_readlane_b32 s10, v2, 5", "v2=int_a exec=" + exec_)
        book.add("v_readlane_b32 s10, v2, s4", "v2=int_a s4=ffffffe7 exec=" + exec_)
        book.add("v_writelane_b32 v20, s4, 9", "s4=12345678 exec=" + exec_)
        book.add("v_writelane_b32 v20, s4, s5", "s4=12345678 s5=2f exec=" + exec_, optional=True)
        book.add("v_writelane_b32 v20, s4, m0", "s4=12345678 m0=71 exec=" + exec_)
        book.add("v_writelane_b32 v20, -16, s5", "s5=3f exec=" + exec_)
    book.add("v_readlane_b32 vcc_lo, v2, 63", "v2=int_b")
    book.add("v_readlane_b32 s10, v2, m0", "v2=int_b m0=12")
    for name in ("v_permlane16_b32", "v_permlanex16_b32"):
        select = "s4=fedcba98 s5=76543210"
        book.add(name + " v20, v2, s4, s5", "v2=int_a " + select)
        book.add(name + " v20, v2, s4, s5", "v2=int_a s4=1234567 s5=89abcdef exec=ffff0000ffff0000")
        book.add(name + " v20, v2, s4, s5", "v2=int_a s4=00000000 s5=ffffffff")
        book.add(name + " v20, v2, s4, s5 op_sel:[1,0]", "v2=int_a exec=" + PARTIAL + " " + select)
        book.add(name + " v20, v2, s4, s5 op_sel:[0,1]", "v2=int_a exec=" + PARTIAL + " " + select)
        book.add(name + " v20, v2, s4, s5 op_sel:[1,1]", "v2=int_a exec=" + PARTIAL + " " + select)
        book.add(name + " v2, v2, s4, s5", "v2=int_a " + select)
        book.add(name + " v20, v2, s4, s5", "v2=int_a exec=0 " + select)
    book.add("v_swap_b32 v2, v6", "v2=int_a v6=int_b")
    book.add("v_swap_b32 v2, v6", "v2=int_a v6=int_b exec=" + PARTIAL)
    book.add("v_swap_b32 v2, v6", "v2=int_a v6=int_b exec=0")
    for m0 in ("0", "3", "20"):
        for name in ("v_movrels_b32", "v_movreld_b32", "v_movrelsd_b32"):
            book.add(name + " v40, v8", "m0=%s exec=%s" % (m0, PARTIAL))
        book.add("v_movreld_b32 v40, s4", "m0=" + m0)
        book.add("v_movrelsd_2_b32 v40, v8", "m0=%s exec=%s" % (m0 + "0005", PARTIAL))
        book.add("v_swaprel_b32 v40, v8", "m0=%s exec=%s" % (m0 + "0005", OTHER))
    book.add("v_movrels_b32 v40, v8", "m0=5 exec=0")


CONTROLS = ["quad_perm:[1,0,3,2]", "quad_perm:[3,3,0,1]", "row_shl:1", "row_shl:15", "row_shr:4",
            "row_shr:8", "row_ror:3", "row_ror:12", "row_mirror", "row_half_mirror", "wave_shl:1",
            "wave_shr:1", "wave_rol:1", "wave_ror:1", "row_bcast:15", "row_bcast:31",
            "row_newbcast:3", "row_share:0", "row_share:11", "row_xmask:1", "row_xmask:15"]


def dpp(book):
    book.file("dpp")
    for control in CONTROLS:
        for tail in ("row_mask:0xf bank_mask:0xf", "row_mask:0xa bank_mask:0xf",
                     "row_mask:0xf bank_mask:0x5", "row_mask:0xf bank_mask:0xf bound_ctrl:0"):
            book.add("v_mov_b32_dpp v20, v2 %s %s" % (control, tail), "v2=int_a")
        book.add("v_mov_b32_dpp v20, v2 %s row_mask:0xf bank_mask:0xf" % control,
                 "v2=int_a exec=" + PARTIAL)
        book.add("v_mov_b32_dpp v20, v2 %s row_mask:0xf bank_mask:0xf bound_ctrl:0" % control,
                 "v2=int_a exec=" + PARTIAL)
        book.add("v_mov_b32_dpp v20, v2 %s row_mask:0xf bank_mask:0xf fi:1" % control,
                 "v2=int_a exec=" + PARTIAL, optional=True)
        book.add("v_mov_b32_dpp v20, v2 %s row_mask:0xf bank_mask:0xf" % control, "v2=int_a exec=0")
        book.add("v_add_f32_dpp v20, v2, v6 %s row_mask:0xf bank_mask:0xf" % control,
                 "v2=f32_x v6=f32_y exec=%s %s" % (OTHER, COMPUTE))
    shift = "row_shr:2 row_mask:0xf bank_mask:0xf"
    for text, inputs in (
            ("v_add_f32_dpp v20, -v2, |v6| ", "v2=f32_x v6=f32_y"),
            ("v_max_i32_dpp v20, v2, v6 ", "v2=int_a v6=int_b"),
            ("v_min_u32_dpp v20, v2, v6 ", "v2=int_a v6=int_b"),
            ("v_and_b32_dpp v20, v2, v6 ", "v2=int_a v6=int_b"),
            ("v_add_u32_dpp v20, v2, v6 ", "v2=int_a v6=int_b"),
            ("v_add_nc_u32_dpp v20, v2, v6 ", "v2=int_a v6=int_b"),
            ("v_add_f16_dpp v20, v2, v6 ", "v2=f16_x v6=f16_y"),
            ("v_fmac_f32_dpp v20, v2, v6 ", "v2=f32_x v6=f32_y v20=f32_z"),
            ("v_mul_f32_dpp v20, v2, v6 ", "v2=f32_x v6=f32_y"),
            ("v_floor_f32_dpp v20, v2 ", "v2=f32_x"),
            ("v_cvt_f32_i32_dpp v20, -v2 ", "v2=int_a"),
            ("v_lshlrev_b32_dpp v20, v2, v6 ", "v2=shift_a v6=int_b"),
            ("v_cndmask_b32_dpp v20, v2, v6, %vcc ", "v2=int_a v6=int_b vcc=f0f0c3c35a5a9669"),
            ("v_add_co_u32_dpp v20, vcc, v2, v6 ", "v2=int_a v6=int_b"),
            ("v_add_co_ci_u32_dpp v20, %vcc, v2, v6, %vcc ",
             "v2=int_a v6=int_b vcc=f0f0c3c35a5a9669")):
        for tail in (shift, shift + " bound_ctrl:0"):
            book.add(text + tail, inputs + " " + COMPUTE, optional="cvt" in text)
    book.add("v_mov_b32_dpp v2, v2 row_shr:1 row_mask:0xf bank_mask:0xf", "v2=int_a")
    for select in ("7,6,5,4,3,2,1,0", "1,1,1,1,5,5,5,5", "0,3,6,1,4,7,2,5"):
        book.add("v_mov_b32_dpp v20, v2 dpp8:[%s]" % select, "v2=int_a")
        book.add("v_mov_b32_dpp v20, v2 dpp8:[%s] fi:1" % select, "v2=int_a exec=" + PARTIAL)
        book.add("v_add_f32_dpp v20, v2, v6 dpp8:[%s]" % select, "v2=f32_x v6=f32_y " + COMPUTE)
        book.add("v_mov_b32_dpp v20, v2 dpp8:[%s]" % select, "v2=int_a exec=0")
    # Doubles move whole on gfx942.
    book.add("v_mov_b64_dpp v[20:21], v[2:3] row_newbcast:5 row_mask:0xf bank_mask:0xf",
             "v2=int_a v3=int_b", optional=True)


def sdwa(book):
    book.file("sdwa")
    selects = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
    inputs = "v2=int_a v6=int_b exec=" + PARTIAL
    for dst in selects:
        for unused in ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"):
            book.add("v_mov_b32_sdwa v20, v2 dst_sel:%s dst_unused:%s src0_sel:DWORD" % (
                dst, unused), inputs)
    for src in selects:
        for sext in ("v2", "sext(v2)"):
            book.add("v_mov_b32_sdwa v20, %s dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:%s" % (
                sext, src), inputs)
            book.add("v_add_u32_sdwa v20, %s, v6 dst_sel:DWORD dst_unused:UNUSED_PAD "
                     "src0_sel:%s src1_sel:WORD_1" % (sext, src), inputs, optional=True)
            book.add("v_add_nc_u32_sdwa v20, %s, v6 dst_sel:DWORD dst_unused:UNUSED_PAD "
                     "src0_sel:%s src1_sel:WORD_1" % (sext, src), inputs, optional=True)
    for text, given in (
            ("v_and_b32_sdwa v20, v2, v6", inputs), ("v_or_b32_sdwa v20, v2, v6", inputs),
            ("v_lshlrev_b32_sdwa v20, v2, v6", inputs), ("v_mul_u32_u24_sdwa v20, v2, v6", inputs),
            ("v_min_i32_sdwa v20, sext(v2), sext(v6)", inputs),
            ("v_add_f16_sdwa v20, v2, v6", "v2=f16_x v6=f16_y " + COMPUTE),
            ("v_mul_f16_sdwa v20, -v2, |v6|", "v2=f16_x v6=f16_y " + COMPUTE),
            ("v_max_f16_sdwa v20, v2, v6", "v2=f16_c v6=f16_d " + COMPUTE)):
        for dst, a, b in (("WORD_1", "WORD_1", "WORD_0"), ("WORD_0", "WORD_0", "WORD_1")):
            for unused in ("UNUSED_PRESERVE", "UNUSED_PAD"):
                book.add("%s dst_sel:%s dst_unused:%s src0_sel:%s src1_sel:%s" % (
                    text, dst, unused, a, b), given)
    for text, given in (
            ("v_add_f32_sdwa v20, -v2, |v6| dst_sel:DWORD", "v2=f32_x v6=f32_y " + COMPUTE),
            ("v_cvt_f32_i32_sdwa v20, sext(v2) dst_sel:DWORD", inputs),
            ("v_cvt_f32_f16_sdwa v20, v2 dst_sel:DWORD", "v2=f16_c " + COMPUTE),
            ("v_cvt_f32_u32_sdwa v20, v2 dst_sel:DWORD", inputs)):
        for src in ("BYTE_2", "WORD_1", "DWORD"):
            if "f16" in text and src == "BYTE_2" or "add_f32" in text and src != "DWORD":
                continue
            tail = " src1_sel:DWORD" if "v6" in text else ""
            book.add("%s dst_unused:UNUSED_PAD src0_sel:%s%s" % (text, src, tail), given)
    book.add("v_cvt_f16_f32_sdwa v20, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD",
             "v2=f32_x " + COMPUTE)
    for src in ("BYTE_1", "WORD_1", "DWORD"):
        for a in ("v2", "sext(v2)"):
            book.add("v_cmp_lt_i32_sdwa %%vcc, %s, v6 src0_sel:%s src1_sel:WORD_0" % (a, src),
                     inputs)
            book.add("v_cmp_eq_u32_sdwa %%s24, %s, v6 src0_sel:%s src1_sel:BYTE_0" % (a, src),
                     inputs)
    book.add("v_add_u16_sdwa v20, v2, v6 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_1 "
             "src1_sel:BYTE_3", inputs)
    book.add("v_mov_b32_sdwa v20, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1",
             "v2=int_a exec=0")


def add(book):
    packed(book)
    lanes(book)
    dpp(book)
    sdwa(book)
