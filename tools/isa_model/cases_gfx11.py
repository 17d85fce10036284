# SPDX-License-Identifier: MIT
"""Cases for what came with gfx11 and gfx12."""

import gfx11
from cases_valu import COMPUTE, MASK_INPUT, OTHER, PARTIAL, Form, basic

NEW = ("gfx11", "gfx12")


def halves(book):
    """16 bit operands as halves of registers, in all encodings."""
    book.file("true16")
    sources = "v2=f16_a v3=f16_c v6=f16_b v7=f16_d v10=f16_e " + COMPUTE
    for text in """v_add_f16 v20.l, v2.l, v6.h|v_add_f16 v20.h, v2.h, v6.l|v_mul_f16 v20.h, v2.l, v6.l
            |v_add_f16_e64 v20.h, v2.h, v6.h|v_add_f16_e64 v220.l, v2.h, -v6.l
            |v_fma_f16 v20.h, v2.l, v6.h, v10.l|v_fma_f16 v20.l, v2.h, -v6.h, |v10.h|
            |v_fmac_f16 v20.h, v2.l, v6.h|v_cvt_f32_f16 v20, v2.h|v_cvt_f16_f32 v20.h, v2
            |v_mov_b16 v20.h, v2.l|v_mov_b16 v20.l, v2.h|v_mov_b16 v20.h, 0x1234
            |v_mov_b16_e64 v220.h, v2.h|v_not_b16 v20.h, v2.l|v_not_b16 v20.l, v2.h
            |v_and_b16 v20.h, v2.l, v6.h|v_or_b16 v20.l, v2.h, v6.h|v_xor_b16 v20.h, v2.h, v6.l
            |v_add_nc_u16 v20.h, v2.l, v6.h|v_lshlrev_b16 v20.h, v2.l, v6.h
            |v_cndmask_b16 v20.h, v2.l, v6.h, %s20|v_cndmask_b16 v20.l, v2.h, v6.h, %vcc
            |v_cmp_lt_f16 %vcc, v2.h, v6.l|v_cmp_lt_f16_e64 %s24, v2.l, v6.h
            |v_cmp_class_f16 %vcc, v2.h, v6.h|v_cmpx_lt_f16 v2.l, v6.h|v_cmpx_gt_f16_e64 v2.h, v6.h
            |v_cvt_i32_i16 v20, v2.h|v_cvt_u32_u16 v20, v2.h|v_mad_u32_u16 v20, v2.h, v6.l, v10
            |v_max_f16 v20.h, v2.l, v6.h|v_pack_b32_f16 v20, v2.h, v6.l|v_swap_b16 v20.h, v2.l
            |v_swap_b16 v2.l, v2.h|v_swap_b16 v20.l, v3.l|v_alignbyte_b32 v20, v2, v6, v10.h
            |v_alignbit_b32 v20, v2, v6, v10.h|v_ldexp_f16 v20.h, v2.h, v6.l
            |v_dot2_f16_f16 v20.h, v2, v6, v10.h""".replace("\n", " ").split("|v_"):
        text = " ".join(text.split())
        text = text if text.startswith("v_") else "v_" + text
        for tail in ("", " exec=" + PARTIAL, " exec=0"):
            given = "v2=small_f16 v3=small_f16 v6=small_f162 v7=small_f16 v10=small_f16" if "dot2" in text else sources
            book.add(text, given + " " + MASK_INPUT + tail, optional=True)


def vector(book):
    book.file("valu_gfx11")
    for name in """v_and_b16 v_or_b16 v_xor_b16 v_not_b16 v_cvt_i32_i16 v_cvt_u32_u16 v_minmax_i32
            v_maxmin_i32 v_minmax_u32 v_maxmin_u32""".split():
        basic(book, name)
    for name in """v_minmax_f32 v_maxmin_f32 v_minmax_f16 v_maxmin_f16 v_minmax_num_f32
            v_maxmin_num_f32 v_minmax_num_f16 v_maxmin_num_f16 v_minimum_f32 v_maximum_f32
            v_minimum_f16 v_maximum_f16 v_minimum_f64 v_maximum_f64 v_minimum3_f32 v_maximum3_f32
            v_minimum3_f16 v_maximum3_f16 v_minimummaximum_f32 v_maximumminimum_f32
            v_minimummaximum_f16 v_maximumminimum_f16 v_cvt_pk_i16_f32 v_cvt_pk_u16_f32
            v_min_num_f32 v_max_num_f32 v_min_num_f16 v_max_num_f16 v_min_num_f64 v_max_num_f64
            v_min3_num_f32 v_max3_num_f32 v_med3_num_f32 v_min3_num_f16 v_max3_num_f16
            v_med3_num_f16""".split():
        form = Form(name)
        for which in range(3):
            book.add(form.text(), form.inputs(which) + " " + COMPUTE)
        book.add(form.text(), form.inputs(0) + " exec=" + PARTIAL)
        book.add(form.text(), form.inputs(0) + " exec=0")
    book.add("v_cndmask_b16 v20, v2, v6, %s20", "v2=int_a v6=int_b " + MASK_INPUT)
    book.add("v_cndmask_b16 v20, v2, v6, %vcc", "v2=int_a v6=int_b exec=%s %s" % (OTHER, MASK_INPUT))
    for signs in ("", " neg_lo:[1,0,0]", " neg_lo:[0,1,0]", " neg_lo:[1,1,0]"):
        for name in ("v_dot4_i32_iu8", "v_dot8_i32_iu4"):
            text = "%s v20, v2, v6, v10%s" % (name, signs)
            book.add(text, "v2=int_a v6=int_b v10=int_c")
            book.add(text + " clamp", "v2=int_c v6=int_d v10=int_a exec=" + PARTIAL)
    for name, data in (("v_dot2_f16_f16", "small_f16"), ("v_dot2_bf16_bf16", "small_bf16")):
        for tail in ("", " exec=" + PARTIAL):
            book.add("%s v20, v2, v6, v10" % name, "v2=%s v6=%s v10=%s%s" % ((data,) * 3 + (tail,)))
    for a in ("fp8", "bf8"):
        for b in ("fp8", "bf8"):
            book.add("v_dot4_f32_%s_%s v20, v2, v6, v10" % (a, b),
                     "v2=small_%s v6=small_%s v10=small_f32" % (a, b))
    for text in ("v_permlane64_b32 v20, v2", "v_permlane64_b32 v2, v2"):
        for tail in ("", " exec=" + PARTIAL, " exec=0"):
            book.add(text, "v2=int_a" + tail)
    for name in ("v_permlane16_var_b32", "v_permlanex16_var_b32"):
        for select in ("", " op_sel:[1,0]", " op_sel:[0,1]"):
            for tail in ("", " exec=" + PARTIAL):
                book.add("%s v20, v2, v6%s" % (name, select), "v2=int_a v6=int_b" + tail)
    for name in ("v_pk_minimum_f16", "v_pk_maximum_f16", "v_pk_min_num_f16", "v_pk_max_num_f16"):
        for tail in ("", " op_sel:[0,1] op_sel_hi:[1,0]", " neg_lo:[1,0] neg_hi:[0,1]"):
            book.add("%s v20, v2, v6%s" % (name, tail), "v2=f16_a v6=f16_b " + COMPUTE)
            book.add("%s v20, v2, v6%s" % (name, tail), "v2=f16_c v6=f16_d exec=" + PARTIAL)
    # DPP in the longer encodings.
    for text in """v_fma_f32_e64_dpp v20, v2, v6, v10 row_shr:1 row_mask:0xf bank_mask:0xf
            |v_add_f32_e64_dpp v20, -v2, |v6| quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
            |v_add3_u32_e64_dpp v20, v2, v6, v10 dpp8:[7,6,5,4,3,2,1,0]
            |v_add_f32_dpp v20, v2, v6 dpp8:[1,0,3,2,5,4,7,6] fi:1
            |v_add3_u32_e64_dpp v20, v2, v6, v10 dpp8:[7,6,5,4,3,2,1,0] fi:1""".split("|v_"):
        text = " ".join(text.split())
        text = text if text.startswith("v_") else "v_" + text
        for tail in ("", " exec=" + PARTIAL):
            book.add(text, "v2=f32_a v6=f32_b v10=f32_d " + COMPUTE + tail, target=NEW,
                     optional=True)


def small_floats(book):
    book.file("valu_fp8_gfx12")
    for kind in ("fp8", "bf8"):
        for byte in range(4):
            for tail in ("", " exec=" + PARTIAL):
                book.add("v_cvt_f32_%s_e64 v20, v2 byte_sel:%d" % (kind, byte), "v2=int_a" + tail)
        for tail in ("", " exec=" + PARTIAL):
            book.add("v_cvt_pk_f32_%s v[20:21], v2.h" % kind, "v2=int_b" + tail)
            book.add("v_cvt_pk_f32_%s v[20:21], v2.l" % kind, "v2=int_b" + tail)
            book.add("v_cvt_f32_%s v20, v2" % kind, "v2=int_b" + tail, target="gfx12")


def transcendental(book):
    book.file("salu_transcendental")
    for kind, one, step in (("f32", 0x3F800000, 0x00800000), ("f16", 0x3C00, 0x400)):
        for n in (-4, -2, 0, 2, 6):
            for name in ("log", "rcp", "sqrt", "rsq"):
                book.add("v_s_%s_%s s20, s4" % (name, kind), "s4=%x scc=1" % (one + n * step))
            book.add("v_s_rcp_%s s20, -s4" % kind, "s4=%x" % (one + n * step))
        numbers = ((0x40400000, 0xC0000000, 0, 0x41200000) if kind == "f32"
                   else (0x4200, 0xC000, 0, 0x4900))
        for x in numbers:
            book.add("v_s_exp_%s s20, s4" % kind, "s4=%x" % x)
            book.add("v_s_exp_%s s20, |s4|" % kind, "s4=%x" % x)


def pairs(book):
    book.file("vopd")
    inputs = "v2=f32_a v3=f32_b v4=f32_c v5=f32_d v6=f32_x v7=f32_y vcc=5a3c0ff0a5c3f00f " + COMPUTE
    for text in """v_dual_mul_f32 v20, v2, v3 :: v_dual_add_f32 v21, v4, v6
            |v_dual_mov_b32 v20, v21 :: v_dual_mov_b32 v21, v20
            |v_dual_add_f32 v2, v2, v3 :: v_dual_sub_f32 v3, v5, v2
            |v_dual_fmac_f32 v20, v2, v3 :: v_dual_fmac_f32 v21, v4, v6
            |v_dual_cndmask_b32 v20, v2, v3 :: v_dual_subrev_f32 v21, v4, v6
            |v_dual_subrev_f32 v21, v2, v3 :: v_dual_cndmask_b32 v20, v21, v6
            |v_dual_fmaak_f32 v20, v2, v3, 0x40490fdb :: v_dual_mul_f32 v21, v4, v6
            |v_dual_fmamk_f32 v20, v2, 0x40490fdb, v3 :: v_dual_mov_b32 v21, v20
            |v_dual_mul_dx9_zero_f32 v20, v2, v3 :: v_dual_max_f32 v21, v4, v6
            |v_dual_min_f32 v20, v2, v3 :: v_dual_mul_dx9_zero_f32 v21, v4, v6
            |v_dual_min_num_f32 v20, v2, v3 :: v_dual_max_num_f32 v21, v4, v6
            |v_dual_max_num_f32 v20, v2, v3 :: v_dual_min_num_f32 v21, v4, v6
            |v_dual_max_f32 v20, v2, v3 :: v_dual_min_f32 v21, v4, v6
            |v_dual_sub_f32 v20, v2, v3 :: v_dual_mov_b32 v21, v5
            |v_dual_mov_b32 v20, v2 :: v_dual_add_nc_u32 v21, v20, v6
            |v_dual_mov_b32 v20, s4 :: v_dual_lshlrev_b32 v21, 3, v6
            |v_dual_mov_b32 v20, -1 :: v_dual_and_b32 v21, v4, v20""".split("|"):
        text = " ".join(text.split())
        for tail in ("", " exec=" + PARTIAL, " exec=0"):
            book.add(text, inputs + tail, wave=32, name=text.split()[0])
    for tail in ("", " exec=" + PARTIAL):
        book.add("v_dual_dot2acc_f32_f16 v20, v2, v3 :: v_dual_mov_b32 v21, v20",
                 "v2=small_f16 v3=small_f16 v20=small_f32" + tail, wave=32,
                 name="v_dual_dot2acc_f32_f16")
        book.add("v_dual_dot2acc_f32_bf16 v20, v2, v3 :: v_dual_mov_b32 v21, v20",
                 "v2=small_bf16 v3=small_bf162 v20=small_f32" + tail, wave=32,
                 name="v_dual_dot2acc_f32_bf16")


def scalar(book):
    book.file("salu_gfx11")
    book.add("s_pack_hl_b32_b16 s20, s4, s5", "s4=12345678 s5=9abcdef0")
    for name in ("s_add_nc_u64", "s_sub_nc_u64", "s_mul_u64"):
        book.add("%s s[20:21], s[4:5], s[6:7]" % name,
                 "s4=89abcdef s5=1234567 s6=fedcba98 s7=76543210 scc=1")
    singles = (0x3F800000, 0x40490FDB, 0xC0200000, 0x7F7FFFFF, 0x00000001, 0x80000000, 0xBF000000,
               0x4B800001, 0x7F800000)
    small = (0x3C00, 0x4248, 0xC100, 0x7BFF, 0x0001, 0x8000, 0xB800, 0x6401, 0x7C00)
    for kind, values in (("f32", singles), ("f16", small)):
        for name in "ceil floor trunc rndne".split():
            for a in values:
                book.add("s_%s_%s s20, s4" % (name, kind), "s4=%x scc=1" % a)
        for name in "add sub mul min_num max_num minimum maximum".split():
            for n, a in enumerate(values[:-1]):
                b = values[(n * 3 + 1) % (len(values) - 1)]
                for mode in ("f0", "ff", "0"):
                    book.add("s_%s_%s s20, s4, s5" % (name, kind),
                             "s4=%x s5=%x mode=%s" % (a, b, mode))
        for n, a in enumerate(values[:-1]):
            book.add("s_fmac_%s s20, s4, s5" % kind,
                     "s4=%x s5=%x s20=%x" % (a, values[n - 1], values[n - 2] if n > 1 else 0))
        nan = 0x7FC00000 if kind == "f32" else 0x7E00
        for name in gfx11.COMPARES:
            for a, b in ((values[0], values[1]), (values[1], values[0]), (values[2], values[2]),
                         (values[5], 0), (nan, values[0]), (values[0], nan), (nan, nan)):
                book.add("s_cmp_%s_%s s4, s5" % (name, kind), "s4=%x s5=%x" % (a, b))
    for a, b, c in zip(singles, singles[2:], singles[1:]):
        book.add("s_fmaak_f32 s20, s4, s5, 0x%x" % c, "s4=%x s5=%x" % (a, b))
        book.add("s_fmamk_f32 s20, s4, 0x%x, s5" % c, "s4=%x s5=%x" % (a, b))
    for a in singles + (0x4F000000, 0xCF000001, 0x4F800000, 0x477FF000, 0x33800000):
        for name in "i32_f32 u32_f32 f16_f32".split():
            for mode in ("f0", "ff"):
                book.add("s_cvt_%s s20, s4" % name, "s4=%x mode=%s" % (a, mode))
        book.add("s_cvt_pk_rtz_f16_f32 s20, s4, s5", "s4=%x s5=40490fdb" % a)
    for a in (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x01000001):
        for name in "f32_i32 f32_u32".split():
            book.add("s_cvt_%s s20, s4" % name, "s4=%x" % a)
    for a in small:
        book.add("s_cvt_f32_f16 s20, s4", "s4=1234%04x" % a)
        book.add("s_cvt_hi_f32_f16 s20, s4", "s4=%04x1234" % a)
    state = "exec=f0f0f0f0f0f0f0f0 vcc=123456789abcdef0 scc=1 m0=5"
    for text in """s_wait_idle|s_delay_alu instid0(VALU_DEP_1)|s_wait_event 0x1|s_wait_loadcnt 0x0
            |s_wait_storecnt 0x0|s_wait_samplecnt 0x0|s_wait_bvhcnt 0x0|s_wait_expcnt 0x0
            |s_wait_dscnt 0x0|s_wait_kmcnt 0x0|s_wait_loadcnt_dscnt 0x0|s_wait_storecnt_dscnt 0x0
            |s_wait_alu 0xfffe|s_prefetch_inst s[2:3], 0x10, s4, 3
            |s_prefetch_inst_pc_rel 0x10, s4, 3|s_prefetch_data s[2:3], 0x10, s4, 3
            |s_prefetch_data_pc_rel 0x10, s4, 3|s_buffer_prefetch_data s[4:7], 0x10, s4, 3
            |global_wb scope:SCOPE_SYS|global_inv scope:SCOPE_DEV|global_wbinv scope:SCOPE_SYS
            |s_sleep_var s4|s_barrier_signal -1; s_barrier_wait -1|s_barrier_signal 0
            |s_barrier_wait 0|s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)""".split("|"):
        book.add(text.strip(), state)
    book.add("s_barrier_signal_isfirst -1; s_barrier_wait -1", "scc=0")
    book.add("s_barrier_signal_isfirst 0", "scc=1")
    book.add("s_get_barrier_state s20, -1", "scc=1")
    book.add("s_sendmsg_rtn_b32 s20, sendmsg(MSG_RTN_GET_REALTIME)")
    book.add("s_sendmsg_rtn_b64 s[20:21], sendmsg(MSG_RTN_GET_REALTIME)")


def memory(book):
    book.file("memory_gfx11")
    book.add("s_load_b96 s[20:22], s[4:5], 0x10", "mem s4=200000 s5=0")
    book.add("s_load_b96 s[20:22], s[4:5], s6 offset:0x8", "mem s4=200000 s5=0 s6=20")
    descriptor = "mem s8=200100 s9=0 s10=40 s11=31014fac"
    book.add("s_buffer_load_b96 s[20:22], s[8:11], 0x10", descriptor)
    book.add("s_buffer_load_b96 s[20:22], s[8:11], 0x38", descriptor)
    for name in ("u8", "i8", "u16", "i16"):
        for offset in (0, 1, 2, 7):
            book.add("s_load_%s s20, s[4:5], 0x%x" % (name, offset), "mem s4=200010 s5=0")
            book.add("s_buffer_load_%s s20, s[8:11], 0x%x" % (name, offset), descriptor)
        book.add("s_load_%s s20, s[4:5], s6 offset:0x3" % name, "mem s4=200010 s5=0 s6=11")
        book.add("s_buffer_load_%s s20, s[8:11], 0x40" % name, descriptor)
    start = "mem@200100=int_a mem@200200=int_b v2=iota(200100,4) v3=all(0) v6=int_c "
    for tail in ("", " exec=" + PARTIAL, " exec=0"):
        for name in ("cond_sub_u32", "sub_clamp_u32"):
            book.add("flat_atomic_%s v[2:3], v6" % name, start + tail)
            book.add("flat_atomic_%s v20, v[2:3], v6 glc" % name, start + tail)
        book.add("global_atomic_cond_sub_u32 v[2:3], v6, off", start + tail)
        book.add("global_atomic_cond_sub_u32 v20, v[2:3], v6, off glc", start + tail)
        book.add("global_atomic_csub v20, v[2:3], v6, off glc", start + tail)
        raw = "mem s8=200100 s9=0 s10=1000 s11=31014fac mem@200100=int_a v2=iota(0,4) v6=int_c "
        book.add("buffer_atomic_cond_sub_u32 v6, v2, s[8:11], 0 offen", raw + tail)
        book.add("buffer_atomic_cond_sub_u32 v6, v2, s[8:11], 0 offen glc", raw + tail)
        lds = "lds@100=int_a lds@200=int_b v2=iota(100,4) v6=int_c v7=int_d v8=int_a "
        for name in ("cond_sub", "sub_clamp"):
            book.add("ds_%s_u32 v2, v6" % name, lds + tail)
            book.add("ds_%s_rtn_u32 v20, v2, v6 offset:8" % name, lds + tail)
        book.add("ds_cmpstore_b32 v2, v6, v8", lds + tail)
        book.add("ds_cmpstore_rtn_b32 v20, v2, v6, v8", lds + tail)
        book.add("ds_cmpstore_f32 v2, v6, v8", lds.replace("int_", "f32_") + tail)
        book.add("ds_cmpstore_rtn_f32 v20, v2, v6, v8", lds.replace("int_", "f32_") + tail)
        wide = lds.replace("iota(100,4)", "iota(100,8)") + " v9=int_b v10=even_a v11=odd_a "
        book.add("ds_cmpstore_b64 v2, v[6:7], v[10:11]", wide + tail)
        book.add("ds_cmpstore_rtn_b64 v[20:21], v2, v[6:7], v[10:11]", wide + tail)
        book.add("ds_cmpstore_f64 v2, v[6:7], v[10:11]", wide + tail, optional=True)
        book.add("ds_cmpstore_rtn_f64 v[20:21], v2, v[6:7], v[10:11]", wide + tail, optional=True)
        book.add("ds_bpermute_fi_b32 v20, v2, v6", "v2=int_a v6=int_b" + tail)
        book.add("ds_bpermute_fi_b32 v20, v2, v6 offset:8", "v2=iota(0,4) v6=int_b" + tail)


REGISTERS = {"f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "iu8": 8, "iu4": 4}


def vregs(first, count):
    return "v%d" % first if count == 1 else "v[%d:%d]" % (first, first + count - 1)


def matrices(book):
    """Small integers, whose sums are exact in any order."""
    book.file("wmma")
    for name in sorted(n for n in gfx11.OPS if n.startswith(("v_wmma", "v_swmmac"))):
        parts = name.split("_")
        out, shape, kinds = parts[2], parts[3], parts[4:]
        kinds = kinds * 2 if len(kinds) == 1 else kinds
        depth = int(shape.split("x")[2])
        sparse = "swmmac" in name
        data = {"f16": ("small_f16", "small_f162"), "bf16": ("small_bf16", "small_bf162"),
                "fp8": ("small_fp8", "small_fp8b"), "bf8": ("small_bf8", "small_bf8b"),
                "iu8": ("int_a", "int_b", "int_d"), "iu4": ("int_c", "int_a", "int_b")}
        sums = {"f32": "small_f32", "f16": "small_f16", "bf16": "small_bf16", "i32": "int_d"}[out]
        for target, wave in (("gfx11", 32), ("gfx11", 64), ("gfx12", 32), ("gfx12", 64)):
            if target == "gfx11" and (sparse or kinds[0] in ("fp8", "bf8") or depth > 16):
                continue

            def count(kind, k):
                bits = REGISTERS[kind] * k
                lanes = 1 if target == "gfx11" else 2 if wave == 32 else 4
                return max(1, bits // lanes // 32)

            a, b = count(kinds[0], depth // 2 if sparse else depth), count(kinds[1], depth)
            c = 8 if wave == 32 else 4
            if target == "gfx12" and out in ("f16", "bf16"):
                c //= 2
            # Two vectors of each kind in turn, so that registers and lanes are told apart.
            def vectors(first, count, names):
                return "".join("v%d=%s " % (first + n, names[(n + n // 2) % len(names)])
                               for n in range(count))

            inputs = vectors(20, a, data[kinds[0]]) + vectors(30, b, data[kinds[1]][::-1])
            inputs += vectors(40, c, (sums,))
            regs = (vregs(20, a), vregs(30, b))
            tails = [""]
            if kinds[0].startswith("iu"):
                tails += [" neg_lo:[1,0,0]", " neg_lo:[1,1,0] clamp"]
            elif REGISTERS[kinds[0]] == 16:
                tails += [" neg_lo:[1,0,0] neg_hi:[0,1,0]"] + (
                    [] if sparse else [" neg_lo:[0,0,1]", " neg_lo:[0,0,1] neg_hi:[0,0,1]"])
                if target == "gfx11" and out != "f32":
                    tails.append(" op_sel:[0,0,1]")
            if sparse:
                tails += [" index_key:1"]
                for tail in tails:
                    book.add("%s %s, %s, %s, v50%s" % ((name, vregs(40, c)) + regs + (tail,)),
                             inputs + "v50=sparse", target=target, wave=wave, optional=bool(tail))
                continue
            for tail in tails:
                book.add("%s %s, %s, %s, %s%s" % ((name, vregs(60, c)) + regs + (vregs(40, c), tail)),
                         inputs, target=target, wave=wave)
            book.add("%s %s, %s, %s, 1" % ((name, vregs(60, c)) + regs) if out == "i32" else
                     "%s %s, %s, %s, 1.0" % ((name, vregs(60, c)) + regs), inputs + "exec=f0f0",
                     target=target, wave=wave, optional=True)
            book.add("%s %s, %s, %s, %s" % ((name, vregs(40, c)) + regs + (vregs(40, c),)),
                     inputs + "exec=" + PARTIAL, target=target, wave=wave)


def add(book):
    halves(book)
    vector(book)
    small_floats(book)
    transcendental(book)
    pairs(book)
    scalar(book)
    memory(book)
    matrices(book)
