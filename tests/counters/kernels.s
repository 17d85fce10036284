// SPDX-License-Identifier: MIT
//
// Kernels whose counts are known by construction; counters_test.cpp says what they are. Assembled
// for each target and wave size with GEN (9, 10, 11, 12), WAVE (32, 64) and SC0 (1: an atomic that
// returns is marked so) defined.
//
// A kernel starts with s[0:1] pointing to its arguments, which begin with the address of a buffer,
// and with the work-item's number in v0.

// ---- What differs between the targets; each macro is one instruction unless it says otherwise

.macro WAIT_SCALAR
  .if GEN == 12
    s_wait_kmcnt 0x0
  .else
    s_waitcnt lgkmcnt(0)
  .endif
.endm
.macro WAIT_LDS
  .if GEN == 12
    s_wait_dscnt 0x0
  .else
    s_waitcnt lgkmcnt(0)
  .endif
.endm
.macro WAIT_MEMORY
  .if GEN == 12
    s_wait_loadcnt 0x0
  .else
    s_waitcnt vmcnt(0)
  .endif
.endm
.macro BARRIER  // two instructions on gfx12
  .if GEN == 12
    s_barrier_signal -1
    s_barrier_wait -1
  .else
    s_barrier
  .endif
.endm
.macro ADD dst, a, b
  .if GEN == 9
    v_add_u32 \dst, \a, \b
  .else
    v_add_nc_u32 \dst, \a, \b
  .endif
.endm
.macro SCALAR_SUBTRACT dst, a, b
  .if GEN == 12
    s_sub_co_i32 \dst, \a, \b
  .else
    s_sub_i32 \dst, \a, \b
  .endif
.endm
// Lane masks live in s8 or s[8:9], the former EXEC in s10 or s[10:11].
.macro LESS_THAN a, b  // mask = a < b
  .if WAVE == 32
    v_cmp_lt_u32_e64 s8, \a, \b
  .else
    v_cmp_lt_u32_e64 s[8:9], \a, \b
  .endif
.endm
.macro EQUAL a, b
  .if WAVE == 32
    v_cmp_eq_u32_e64 s8, \a, \b
  .else
    v_cmp_eq_u32_e64 s[8:9], \a, \b
  .endif
.endm
.macro NARROW  // EXEC = EXEC & mask
  .if WAVE == 32
    s_and_saveexec_b32 s10, s8
  .else
    s_and_saveexec_b64 s[10:11], s[8:9]
  .endif
.endm
.macro REMOVE  // EXEC = EXEC & ~mask
  .if WAVE == 32
    s_andn2_b32 exec_lo, exec_lo, s8
  .else
    s_andn2_b64 exec, exec, s[8:9]
  .endif
.endm
.macro RESTORE
  .if WAVE == 32
    s_mov_b32 exec_lo, s10
  .else
    s_mov_b64 exec, s[10:11]
  .endif
.endm

// ---- What kernels have in common

.macro BUFFER_ADDRESS  // s[4:5]: an smem instruction of 8 bytes and a wait
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  WAIT_SCALAR
.endm

.macro KERNEL name, lds=0, scratch=0
  .text
  .globl \name
  .p2align 8
  .type \name,@function
  .section .rodata,"a",@progbits
  .p2align 6
  .if GEN == 9  // no condition may stand inside
  .amdhsa_kernel \name
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_vgpr 32
    .amdhsa_next_free_sgpr 40
    .amdhsa_group_segment_fixed_size \lds
    .amdhsa_private_segment_fixed_size \scratch
    .amdhsa_accum_offset 32
  .end_amdhsa_kernel
  .else
  .amdhsa_kernel \name
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_vgpr 32
    .amdhsa_next_free_sgpr 40
    .amdhsa_group_segment_fixed_size \lds
    .amdhsa_private_segment_fixed_size \scratch
  .end_amdhsa_kernel
  .endif
  .text
\name:
.endm

// ---- Instructions and lanes

KERNEL empty
  s_endpgm

KERNEL fma_loop
  s_movk_i32 s4, 100
fma_loop_again:
  .rept 4
    v_fma_f32 v1, v2, v3, v1
  .endr
  SCALAR_SUBTRACT s4, s4, 1
  s_cmp_lg_u32 s4, 0
  s_cbranch_scc1 fma_loop_again
  s_endpgm

// Long enough to be timed.
KERNEL spin
  s_mov_b32 s4, 300000
spin_again:
  SCALAR_SUBTRACT s4, s4, 1
  s_cmp_lg_u32 s4, 0
  s_cbranch_scc1 spin_again
  s_endpgm

KERNEL three_moves
  v_mov_b32 v1, 1
  v_mov_b32 v2, 2
  v_mov_b32 v3, 3
  s_endpgm

// More than fits into one decoded block.
KERNEL long_straight
  .rept 700
    v_mov_b32 v1, v0
  .endr
  s_endpgm

KERNEL transcendental
  v_mov_b32 v1, 1.0
  v_exp_f32 v2, v1
  v_exp_f32 v2, v1
  v_rcp_f32 v2, v1
  v_sqrt_f32 v2, v1
  v_sin_f32 v2, v1
  s_endpgm

// ---- Global memory

KERNEL coalesced
  BUFFER_ADDRESS
  v_lshlrev_b32 v1, 2, v0
  global_load_dword v2, v1, s[4:5]
  WAIT_MEMORY
  global_store_dword v1, v2, s[4:5] offset:1024
  s_endpgm

KERNEL strided
  BUFFER_ADDRESS
  v_lshlrev_b32 v1, 8, v0
  global_load_dword v2, v1, s[4:5]
  WAIT_MEMORY
  s_endpgm

KERNEL wide
  BUFFER_ADDRESS
  v_lshlrev_b32 v1, 4, v0
  global_load_dwordx4 v[4:7], v1, s[4:5]
  WAIT_MEMORY
  global_store_dwordx4 v1, v[4:7], s[4:5]
  s_endpgm

KERNEL same_address
  BUFFER_ADDRESS
  v_mov_b32 v1, 0
  global_load_dwordx2 v[2:3], v1, s[4:5]
  WAIT_MEMORY
  s_endpgm

// Every lane's eight bytes lie across a multiple of 128.
KERNEL across_lines
  BUFFER_ADDRESS
  v_lshlrev_b32 v1, 8, v0
  global_load_dwordx2 v[2:3], v1, s[4:5] offset:124
  WAIT_MEMORY
  s_endpgm

KERNEL global_pairs
  BUFFER_ADDRESS
  v_mov_b32 v2, s4
  v_mov_b32 v3, s5
  global_load_ubyte v4, v[2:3], off
  global_load_ushort v5, v[2:3], off offset:2
  WAIT_MEMORY
  global_store_byte v[2:3], v4, off offset:8
  s_endpgm

KERNEL global_atomics
  BUFFER_ADDRESS
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  v_mov_b32 v3, 0
  global_atomic_add v1, v2, s[4:5]
  v_lshlrev_b32 v4, 3, v0
  global_atomic_add_x2 v4, v[2:3], s[4:5] offset:64
  s_endpgm

// With and without result, a few lanes only.
KERNEL atomics_of_some
  BUFFER_ADDRESS
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  LESS_THAN v0, 5
  NARROW
  .if GEN == 12
    global_atomic_add_u32 v3, v1, v2, s[4:5] th:TH_ATOMIC_RETURN
  .elseif SC0
    global_atomic_add v3, v1, v2, s[4:5] sc0
  .else
    global_atomic_add v3, v1, v2, s[4:5] glc
  .endif
  WAIT_MEMORY
  s_endpgm

// ---- LDS: v1 is the byte address

KERNEL lds_consecutive, lds=512
  v_lshlrev_b32 v1, 2, v0
  ds_write_b32 v1, v0
  WAIT_LDS
  ds_read_b32 v2, v1
  WAIT_LDS
  s_endpgm

KERNEL lds_stride_2, lds=512
  v_lshlrev_b32 v1, 3, v0
  ds_write_b32 v1, v0
  ds_read_b32 v2, v1
  WAIT_LDS
  s_endpgm

KERNEL lds_stride_32, lds=8192
  v_lshlrev_b32 v1, 7, v0
  ds_write_b32 v1, v0
  ds_read_b32 v2, v1
  WAIT_LDS
  s_endpgm

KERNEL lds_broadcast, lds=512
  v_mov_b32 v1, 16
  ds_read_b32 v2, v1
  WAIT_LDS
  s_endpgm

KERNEL lds_b128, lds=1024
  v_lshlrev_b32 v1, 4, v0
  ds_write_b128 v1, v[4:7]
  ds_read_b128 v[8:11], v1
  WAIT_LDS
  s_endpgm

// Eight of every sixteen bytes.
KERNEL lds_b64_gaps, lds=1024
  v_lshlrev_b32 v1, 4, v0
  ds_write_b64 v1, v[4:5]
  ds_read_b64 v[8:9], v1
  WAIT_LDS
  s_endpgm

// Two dwords of every lane, by one instruction.
KERNEL lds_pairs, lds=1024
  v_lshlrev_b32 v1, 2, v0
  ds_write2_b32 v1, v4, v5 offset0:0 offset1:64
  ds_read2_b32 v[8:9], v1 offset0:0 offset1:64
  WAIT_LDS
  s_endpgm

KERNEL lds_atomics, lds=512
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  ds_add_u32 v1, v2
  v_lshlrev_b32 v3, 2, v0
  ds_add_rtn_u32 v4, v3, v2
  WAIT_LDS
  s_endpgm

KERNEL exchanges
  v_lshlrev_b32 v1, 2, v0
  ds_bpermute_b32 v2, v1, v0
  ds_swizzle_b32 v3, v0 offset:swizzle(SWAP,1)
  WAIT_LDS
  s_endpgm

// ---- Other memory

// Flat addresses in LDS's aperture, then in global memory.
KERNEL flat, lds=512
  BUFFER_ADDRESS
  s_mov_b64 s[6:7], src_shared_base
  v_lshlrev_b32 v2, 2, v0
  v_mov_b32 v3, s7
  flat_store_dword v[2:3], v0
  WAIT_LDS
  v_mov_b32 v4, s4
  v_mov_b32 v5, s5
  flat_load_dword v6, v[4:5]
  WAIT_MEMORY
  s_endpgm

KERNEL scratch, scratch=64
  v_mov_b32 v1, 0
  scratch_store_dword v1, v0, off offset:4
  scratch_load_dwordx2 v[2:3], v1, off offset:8
  WAIT_MEMORY
  s_endpgm

// The upper half of the lanes is out of the descriptor's range.
KERNEL buffer
  BUFFER_ADDRESS
  s_and_b32 s5, s5, 0xffff
  s_movk_i32 s6, WAVE * 2
  .if GEN == 9
    s_mov_b32 s7, 0x27000
  .else
    s_mov_b32 s7, 0x30016000
  .endif
  v_lshlrev_b32 v1, 2, v0
  .if GEN == 12
    buffer_load_b32 v2, v1, s[4:7], null offen
  .else
    buffer_load_dword v2, v1, s[4:7], 0 offen
  .endif
  WAIT_MEMORY
  s_endpgm

// 64 bytes of one line; 32 bytes of two; 16 bytes of one.
KERNEL scalar_loads
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  WAIT_SCALAR
  s_load_dwordx16 s[8:23], s[4:5], 0x0
  s_load_dwordx8 s[8:15], s[4:5], 0x30
  s_load_dwordx4 s[8:11], s[4:5], 0x10
  WAIT_SCALAR
  s_endpgm

// ---- Control

// Some lanes, all lanes, no lane.
KERNEL divergent
  LESS_THAN v0, 10
  NARROW
  s_cbranch_execz divergent_1
  v_mov_b32 v1, 1
divergent_1:
  RESTORE
  LESS_THAN v0, 0x40
  NARROW
  s_cbranch_execz divergent_2
  v_mov_b32 v1, 2
divergent_2:
  RESTORE
  LESS_THAN v0, 0
  NARROW
  s_cbranch_execz divergent_3
  v_mov_b32 v1, 3
divergent_3:
  RESTORE
  v_mov_b32 v1, 4
  s_endpgm

// Lane i leaves after i + 1 rounds.
KERNEL leaving
  v_mov_b32 v1, 0
leaving_again:
  EQUAL v1, v0
  ADD v1, v1, 1
  REMOVE
  s_cbranch_execnz leaving_again
  s_endpgm

// Both ways of three conditions, and jumps.
KERNEL branches
  s_cmp_eq_u32 s0, s0
  s_cbranch_scc0 branches_1
  s_cbranch_scc1 branches_1
  s_nop 0
branches_1:
  s_branch branches_2
  s_nop 0
branches_2:
  .if WAVE == 32
    s_mov_b32 vcc_lo, 0
  .else
    s_mov_b64 vcc, 0
  .endif
  s_cbranch_vccnz branches_3
  s_cbranch_vccz branches_3
  s_nop 0
branches_3:
  s_endpgm

KERNEL barriers, lds=512
  s_movk_i32 s4, 3
barriers_again:
  BARRIER
  SCALAR_SUBTRACT s4, s4, 1
  s_cmp_lg_u32 s4, 0
  s_cbranch_scc1 barriers_again
  s_endpgm

KERNEL doubles
  v_mov_b32 v2, 0
  v_mov_b32 v3, 0
  .rept 6
    v_fma_f64 v[4:5], v[2:3], v[2:3], v[2:3]
  .endr
  s_endpgm

.if GEN >= 11 && WAVE == 32
KERNEL pairs
  .rept 3
    v_dual_mov_b32 v1, v4 :: v_dual_mov_b32 v2, v5
  .endr
  s_endpgm
.endif

.if GEN == 9 || GEN == 11 || GEN == 12
KERNEL matrix
  .rept 5
    .if GEN == 9 && SC0
      v_mfma_f32_16x16x16_f16 v[4:7], v[8:9], v[10:11], v[4:7]
    .elseif GEN == 9
      v_mfma_f32_16x16x16f16 v[4:7], v[8:9], v[10:11], v[4:7]
    .elseif GEN == 11 && WAVE == 32
      v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]
    .elseif GEN == 11
      v_wmma_f32_16x16x16_f16 v[0:3], v[8:15], v[16:23], v[0:3]
    .elseif WAVE == 32
      v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7]
    .else
      v_wmma_f32_16x16x16_f16 v[0:3], v[8:9], v[12:13], v[0:3]
    .endif
  .endr
  s_endpgm
.endif
