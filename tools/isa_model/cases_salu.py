# SPDX-License-Identifier: MIT
"""Cases for the scalar unit."""

PAIRS32 = [(0, 0), (1, 2), (0xFFFFFFFF, 1), (0x7FFFFFFF, 1), (0x80000000, 0xFFFFFFFF),
           (0x80000000, 0x80000000), (0x12345678, 0x9ABCDEF0), (5, 0xFFFFFFFB),
           (0xFFFF8000, 0x7FFF)]
ONES32 = [0, 1, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0x00F0A000, 0x0000FF80, 0xFFFE7FFF, 0x12345678]
PAIRS64 = [(0, 0), (1, 0xFFFFFFFFFFFFFFFF), (0x8000000000000000, 0x7FFFFFFFFFFFFFFF),
           (0x123456789ABCDEF0, 0x0FF00FF0F0F0A5A5), (0xFFFFFFFF00000000, 0x00000000FFFFFFFF)]
ONES64 = [0, 1, 0xFFFFFFFFFFFFFFFF, 0x8000000000000000, 0x7FFFFFFFFFFFFFFF, 0x0000000100000000,
          0x00F0A0000000C3C0, 0xFFFFFFFF00000000, 0x123456789ABCDEF0]


def pair(register, value):
    return "s%d=%x s%d=%x" % (register, value & 0xFFFFFFFF, register + 1, value >> 32)


def add(book):
    book.file("sop2")
    for name in """s_add_u32 s_sub_u32 s_add_i32 s_sub_i32 s_min_i32 s_min_u32 s_max_i32 s_max_u32
            s_and_b32 s_or_b32 s_xor_b32 s_andn2_b32 s_orn2_b32 s_nand_b32 s_nor_b32 s_xnor_b32
            s_mul_i32 s_mul_hi_u32 s_mul_hi_i32 s_absdiff_i32 s_pack_ll_b32_b16 s_pack_lh_b32_b16
            s_pack_hh_b32_b16 s_lshl1_add_u32 s_lshl2_add_u32 s_lshl3_add_u32
            s_lshl4_add_u32""".split():
        for n, (a, b) in enumerate(PAIRS32):
            book.add("%s s10, s2, s3" % name, "s2=%x s3=%x scc=%d" % (a, b, n & 1))
        book.add("%s s10, s2, 0x12345678" % name, "s2=f0f0f0f0")
        book.add("%s s10, -16, s3" % name, "s3=64 exec=0")
    for name in "s_addc_u32 s_subb_u32 s_cselect_b32".split():
        for a, b in PAIRS32:
            for scc in (0, 1):
                book.add("%s s10, s2, s3" % name, "s2=%x s3=%x scc=%d" % (a, b, scc))
    for name in """s_and_b64 s_or_b64 s_xor_b64 s_andn2_b64 s_orn2_b64 s_nand_b64 s_nor_b64
            s_xnor_b64""".split():
        for n, (a, b) in enumerate(PAIRS64):
            book.add("%s s[10:11], s[2:3], s[4:5]" % name,
                     "%s %s scc=%d" % (pair(2, a), pair(4, b), n & 1))
        book.add("%s exec, s[2:3], -1" % name, pair(2, 0xF0F0F0F01234567), wave=64)
        book.add("%s vcc, exec, s[2:3]" % name, pair(2, 0xF0F0F0F01234567) + " exec=ff00ff00ff00ff")
    for a, b in PAIRS64:
        for scc in (0, 1):
            book.add("s_cselect_b64 s[10:11], s[2:3], s[4:5]",
                     "%s %s scc=%d" % (pair(2, a), pair(4, b), scc))
    book.add("s_cselect_b64 vcc, -1, 0", "scc=1")
    for name in "s_lshl_b32 s_lshr_b32 s_ashr_i32".split():
        for a in (0x80000001, 0x7FFFFFFE, 0):
            for b in (0, 1, 31, 32, 63, 0xFFFFFFFF):
                book.add("%s s10, s2, s3" % name, "s2=%x s3=%x" % (a, b))
    for name in "s_lshl_b64 s_lshr_b64 s_ashr_i64".split():
        for a in (0x8000000000000001, 0x7FFFFFFFFFFFFFFE):
            for b in (0, 1, 31, 32, 33, 63, 64, 0xFFFFFFFF):
                book.add("%s s[10:11], s[2:3], s4" % name, "%s s4=%x" % (pair(2, a), b))
    for a, b in ((0, 0), (4, 8), (31, 0), (31, 31), (32, 5), (0xFF, 0xFF), (8, 28)):
        book.add("s_bfm_b32 s10, s2, s3", "s2=%x s3=%x scc=1" % (a, b))
        book.add("s_bfm_b64 s[10:11], s2, s3", "s2=%x s3=%x scc=1" % (2 * a, 2 * b))
    for offset, width in ((0, 0), (0, 32), (4, 8), (31, 1), (31, 5), (8, 31), (0, 64), (0, 127),
                          (12, 4), (28, 4)):
        field = width << 16 | offset
        for a in (0xF1234567, 0x0ABCDEF8):
            book.add("s_bfe_u32 s10, s2, s3", "s2=%x s3=%x" % (a, field))
            book.add("s_bfe_i32 s10, s2, s3", "s2=%x s3=%x" % (a, field))
        field = width << 16 | 2 * offset
        for a in (0xF123456789ABCDEF, 0x0ABCDEF812345678):
            book.add("s_bfe_u64 s[10:11], s[2:3], s4", "%s s4=%x" % (pair(2, a), field))
            book.add("s_bfe_i64 s[10:11], s[2:3], s4", "%s s4=%x" % (pair(2, a), field))

    book.file("sop1")
    for name in """s_mov_b32 s_not_b32 s_wqm_b32 s_quadmask_b32 s_brev_b32 s_bcnt0_i32_b32
            s_bcnt1_i32_b32 s_ff0_i32_b32 s_ff1_i32_b32 s_flbit_i32_b32 s_flbit_i32 s_sext_i32_i8
            s_sext_i32_i16 s_abs_i32""".split():
        for n, a in enumerate(ONES32):
            book.add("%s s10, s2" % name, "s2=%x scc=%d" % (a, n & 1))
    for a in (0.5, -4.0, -16, 64):
        book.add("s_mov_b32 s10, %s" % a)
        book.add("s_mov_b64 s[10:11], %s" % a)
    book.add("s_mov_b32 m0, 0x12345678")
    book.add("s_mov_b32 exec_lo, 0x12345678")
    book.add("s_mov_b32 vcc_hi, s2", "s2=deadbeef")
    book.add("s_mov_b32 s10, src_scc", "scc=1")
    book.add("s_mov_b64 s[10:11], 0x12345678")
    book.add("s_mov_b64 exec, 0", wave=64)
    book.add("s_mov_b64 s[10:11], exec", "exec=123456789abcdef")
    book.add("s_mov_b64 s[10:11], vcc", "vcc=123456789abcdef")
    for a in ONES32:
        book.add("s_bitreplicate_b64_b32 s[10:11], s2", "s2=%x" % a)
    for name in """s_mov_b64 s_not_b64 s_wqm_b64 s_quadmask_b64 s_brev_b64""".split():
        for n, a in enumerate(ONES64):
            book.add("%s s[10:11], s[2:3]" % name, "%s scc=%d" % (pair(2, a), n & 1))
    for name in """s_bcnt0_i32_b64 s_bcnt1_i32_b64 s_ff0_i32_b64 s_ff1_i32_b64 s_flbit_i32_b64
            s_flbit_i32_i64""".split():
        for n, a in enumerate(ONES64):
            book.add("%s s10, s[2:3]" % name, "%s scc=%d" % (pair(2, a), n & 1))
    for scc in (0, 1):
        book.add("s_cmov_b32 s10, s2", "s2=12345678 scc=%d" % scc)
        book.add("s_cmov_b64 s[10:11], s[2:3]", pair(2, 0x123456789ABCDEF0) + " scc=%d" % scc)
    for bit in (0, 5, 31, 32, 63, 64):
        for old in (0, 0xFFFFFFFFFFFFFFFF):
            for name in "s_bitset0 s_bitset1".split():
                book.add("%s_b32 s10, s2" % name, "s2=%x s10=%x" % (bit, old & 0xFFFFFFFF))
                book.add("%s_b64 s[10:11], s2" % name, "s2=%x %s" % (bit, pair(10, old)))
    for name in "and or xor andn2 orn2 nand nor xnor andn1 orn1".split():
        for source in (0, 0xFFFFFFFFFFFFFFFF, 0x00FF00FF0F0F3355):
            for exec_ in ("ffffffffffffffff", "f0f0f0f0cccc5555", "0"):
                book.add("s_%s_saveexec_b64 s[10:11], s[2:3]" % name,
                         pair(2, source) + " exec=" + exec_, wave=64)
                book.add("s_%s_saveexec_b32 s10, s2" % name,
                         "s2=%x exec=%s" % (source & 0xFFFFFFFF, exec_), wave=32)
    for name in "andn1 andn2".split():
        for source in (0, 0xFFFFFFFFFFFFFFFF, 0x00FF00FF0F0F3355):
            for exec_ in ("ffffffffffffffff", "f0f0f0f0cccc5555", "0"):
                book.add("s_%s_wrexec_b64 s[10:11], s[2:3]" % name,
                         pair(2, source) + " exec=" + exec_, wave=64)
                book.add("s_%s_wrexec_b32 s10, s2" % name,
                         "s2=%x exec=%s" % (source & 0xFFFFFFFF, exec_), wave=32)
    book.add("s_and_saveexec_b64 vcc, vcc", "vcc=f0f0 exec=ff00ff00ff00ff", wave=64)
    for index in (0, 3, 20):
        book.add("s_movrels_b32 s10, s20", "m0=%x" % index)
        book.add("s_movreld_b32 s20, s10", "m0=%x" % index)
        book.add("s_movrels_b64 s[10:11], s[20:21]", "m0=%x" % (2 * index))
        book.add("s_movreld_b64 s[20:21], s[10:11]", "m0=%x" % (2 * index))
        book.add("s_movrelsd_2_b32 s20, s10", "m0=%x" % (index | index + 7 << 16))

    book.file("sopc_sopk")
    for name in "eq lg gt ge lt le".split():
        for kind in ("i32", "u32"):
            for n, (a, b) in enumerate(PAIRS32):
                book.add("s_cmp_%s_%s s2, s3" % (name, kind), "s2=%x s3=%x scc=%d" % (a, b, n & 1))
            for a, imm in ((5, 5), (0xFFFFFFFF, 0xFFFF), (0xFFFF, 0xFFFF), (0, 0x8000),
                           (0x80000000, 1)):
                book.add("s_cmpk_%s_%s s2, 0x%x" % (name, kind, imm), "s2=%x scc=1" % a)
    for name in "eq lg".split():
        for a, b in PAIRS64 + [(0x123456789, 0x123456789), (0x100000005, 0x200000005)]:
            book.add("s_cmp_%s_u64 s[2:3], s[4:5]" % name, pair(2, a) + " " + pair(4, b))
    for name in ("s_bitcmp0", "s_bitcmp1"):
        for bit in (0, 1, 31, 32, 63):
            book.add("%s_b32 s2, s3" % name, "s2=80000001 s3=%x" % bit)
            book.add("%s_b64 s[2:3], s4" % name, pair(2, 0x8000000100000001) + " s4=%x" % bit)
    for imm in (0, 1, 0x7FFF, 0x8000, 0xFFFF):
        book.add("s_movk_i32 s10, 0x%x" % imm)
        for scc in (0, 1):
            book.add("s_cmovk_i32 s10, 0x%x" % imm, "scc=%d" % scc)
        for a in (0, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345678):
            book.add("s_addk_i32 s10, 0x%x" % imm, "s10=%x" % a)
            book.add("s_mulk_i32 s10, 0x%x" % imm, "s10=%x scc=1" % a)

    book.file("flow")
    # Each of these skips a move, or does not.
    for name, yes, no in (
            ("scc0", "scc=0", "scc=1"), ("scc1", "scc=1", "scc=0"),
            ("vccz", "vcc=0", "vcc=1"), ("vccnz", "vcc=80000000", "vcc=0"),
            ("execz", "exec=0", "exec=80000000"), ("execnz", "exec=1", "exec=0")):
        for inputs in (yes, no):
            book.add("s_cbranch_%s 1; s_mov_b32 s10, 1; s_mov_b32 s11, 2" % name, inputs)
    # In wave32 only the low half of vcc counts; in wave64 both do.
    book.add("s_cbranch_vccz 1; s_mov_b32 s10, 1; s_mov_b32 s11, 2", "vcc=100000000")
    book.add("s_cbranch_vccnz 1; s_mov_b32 s10, 1; s_mov_b32 s11, 2", "vcc=100000000")
    book.add("s_branch 2; s_mov_b32 s10, 1; s_mov_b32 s11, 2; s_mov_b32 s12, 3")
    # Backwards: to the add, until it carries.
    book.add("s_add_u32 s10, s10, 0x30000001; s_cbranch_scc0 65533; s_mov_b32 s11, 2",
             "s10=0", name="s_cbranch_scc0")
    book.add("s_getpc_b64 s[10:11]; s_getpc_b64 s[12:13]")
    book.add("s_setpc_b64 s[2:3]; s_mov_b32 s10, 1; s_mov_b32 s11, 2", "s2=10008 s3=0")
    book.add("s_swappc_b64 s[10:11], s[2:3]; s_mov_b32 s12, 1; s_mov_b32 s13, 2", "s2=10008 s3=0")
    book.add("s_swappc_b64 s[2:3], s[2:3]; s_mov_b32 s12, 1; s_mov_b32 s13, 2", "s2=10008 s3=0")
    book.add("s_call_b64 s[10:11], 1; s_mov_b32 s12, 1; s_mov_b32 s13, 2")
    for mode in (0xF0, 0x3F5, 0x30A):
        book.add("s_getreg_b32 s10, hwreg(HW_REG_MODE, 0, 10)", "mode=%x" % mode)
        book.add("s_getreg_b32 s10, hwreg(HW_REG_MODE, 4, 4)", "mode=%x" % mode)
        book.add("s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s2", "s2=ffffffe6 mode=%x" % mode)
        book.add("s_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s2", "s2=5 mode=%x" % mode)
        book.add("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), 3", "mode=%x" % mode)
        book.add("s_round_mode 0x9", "mode=%x" % mode)
        book.add("s_denorm_mode 0x6", "mode=%x" % mode)

    for name in ("cdbgsys", "cdbguser", "cdbgsys_or_user", "cdbgsys_and_user"):
        book.add("s_cbranch_%s 1; s_mov_b32 s10, 1; s_mov_b32 s11, 2" % name)
    book.add("s_rfe_b64 s[2:3]; s_mov_b32 s10, 1; s_mov_b32 s11, 2", "s2=10008 s3=0")
    book.add("s_endpgm; s_mov_b32 s10, 1")
    book.add("s_rfe_restore_b64 s[2:3], s4; s_mov_b32 s10, 1; s_mov_b32 s11, 2", "s2=10008 s3=0")
    book.add("s_endpgm_saved; s_mov_b32 s10, 1")
    book.add("s_endpgm_ordered_ps_done; s_mov_b32 s10, 1")
    book.add("s_setkill 1; s_mov_b32 s10, 1")
    book.add("s_setkill 0; s_mov_b32 s10, 1")
    book.add("s_sethalt 0; s_mov_b32 s10, 1")
    book.add("s_setvskip s4, 3; s_mov_b32 s10, 1", "s4=fffffff7")
    book.add("s_mov_b32 s10, 1; s_trap 2; s_mov_b32 s11, 2", name="s_trap")
    # The low half with s20 holding the high one, then the high half: counts the passes in s21.
    for exec_ in ("ffffffffffffffff", "f0f0f0f000000000", "0f0f0f0f", "0"):
        book.add("s_mov_b32 s21, 0; s_subvector_loop_begin s20, 3; s_add_u32 s21, s21, 1; "
                 "v_mov_b32 v20, s21; s_subvector_loop_end s20, 65533; s_mov_b32 s22, 5",
                 "exec=" + exec_, wave=64, name="s_subvector_loop_begin")
        book.add("s_subvector_loop_end s20, 0; s_mov_b32 s22, 5", "s20=f0f exec=" + exec_, wave=64)
        book.add("s_subvector_loop_end s20, 0; s_mov_b32 s22, 5", "s20=0 exec=" + exec_, wave=64)
    # All, none, fewer and more lanes take the branch; then the join that starts the other side.
    for mask in ("ffffffff", "0", "3", "fffff"):
        inputs = "s20=%s s21=0 exec=ffffff s4=1000c s5=0" % mask
        book.add("s_cbranch_i_fork s[20:21], 2; s_mov_b32 s30, 1; s_nop 0; s_mov_b32 s31, 2",
                 inputs)
        book.add("s_cbranch_g_fork s[20:21], s[4:5]; s_mov_b32 s30, 1; s_nop 0; s_mov_b32 s31, 2",
                 inputs)
    for mask in ("3", "fffff"):
        book.add("s_cbranch_i_fork s[20:21], 1; s_mov_b32 s30, exec_lo; s_mov_b32 s31, exec_lo; "
                 "s_cbranch_join s8; s_mov_b32 s32, exec_lo",
                 "s20=%s s21=0 s8=0 exec=ffffff" % mask, name="s_cbranch_join")
    # Register indexing.
    for index in ("0", "5", "123"):
        for how in ("SRC0", "DST", "SRC0,DST", "SRC1"):
            book.add("s_set_gpr_idx_on s4, gpr_idx(%s); v_mov_b32 v20, v2; v_add_u32 v22, v3, v4; "
                     "s_set_gpr_idx_off; v_mov_b32 v24, v2" % how, "m0=abcd0f00 s4=" + index)
    book.add("s_set_gpr_idx_on s4, gpr_idx(SRC0); s_set_gpr_idx_idx s5; v_mov_b32 v20, v2; "
             "s_set_gpr_idx_off", "s4=3 s5=ffffff07", name="s_set_gpr_idx_idx")
    book.add("s_set_gpr_idx_on s4, gpr_idx(SRC0); s_set_gpr_idx_mode gpr_idx(DST); "
             "v_mov_b32 v20, v2; s_set_gpr_idx_off", "s4=3", name="s_set_gpr_idx_mode")
    book.add("s_set_gpr_idx_off", "m0=1234", name="s_set_gpr_idx_off")

    book.file("nothing")
    for text in """s_nop 0|s_nop 7|s_waitcnt vmcnt(0) lgkmcnt(0)|s_waitcnt 0|s_sleep 1|s_setprio 3
            |s_icache_inv|s_dcache_inv|s_dcache_wb|s_barrier|s_inst_prefetch 0x3|s_clause 0x1
            |s_waitcnt_depctr 0xfffe|s_waitcnt_vscnt null, 0x0|s_waitcnt_vmcnt null, 0x0
            |s_waitcnt_expcnt null, 0x0|s_waitcnt_lgkmcnt null, 0x0|s_ttracedata_imm 0x1
            |s_ttracedata|s_version 0x1|s_gl1_inv|s_incperflevel 1|s_decperflevel 1
            |s_dcache_wb_vol|s_dcache_inv_vol|buffer_gl0_inv|buffer_gl1_inv
            |buffer_wbl2|buffer_wbl2 sc1|buffer_inv sc1|buffer_inv sc0 sc1|v_nop|v_pipeflush
            |v_clrexcp|s_wakeup|s_sendmsg sendmsg(MSG_INTERRUPT)|s_dcache_discard s[2:3], 0x0
            |s_dcache_discard_x2 s[2:3], 0x0|s_atc_probe 0x1, s[2:3], 0x0
            |s_atc_probe_buffer 0x1, s[4:7], 0x0|ds_gws_init v2 offset:1 gds
            |ds_gws_sema_v offset:1 gds|ds_gws_sema_br v2 offset:1 gds
            |ds_gws_sema_release_all offset:1 gds|ds_gws_barrier v2 offset:1 gds
            |ds_gws_sema_p offset:1 gds|buffer_wbinvl1|buffer_wbinvl1_vol
            |buffer_invl2""".split("|"):
        book.add(text.strip(), "exec=f0f0f0f0f0f0f0f0 vcc=123456789abcdef0 scc=1 m0=5",
                 optional=text.strip().startswith(("buffer_wbinvl1", "buffer_invl2")))
