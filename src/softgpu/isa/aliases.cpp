// SPDX-License-Identifier: MIT
#include "softgpu/isa/aliases.h"

#include <unordered_map>
#include <vector>

namespace rochound::softgpu {
namespace {

constexpr uint32_t kSinceGfx11 = kGfx11Targets | kGfx12Targets;

struct Rename {
  std::string_view mnemonic;
  std::string_view first_name;
  uint32_t targets = kSinceGfx11;
};

// After flat_, global_, scratch_ and buffer_.
constexpr Rename kMemory[] = {
    {"load_u8", "load_ubyte"},
    {"load_i8", "load_sbyte"},
    {"load_u16", "load_ushort"},
    {"load_i16", "load_sshort"},
    {"load_b32", "load_dword"},
    {"load_b64", "load_dwordx2"},
    {"load_b96", "load_dwordx3"},
    {"load_b128", "load_dwordx4"},
    {"load_d16_u8", "load_ubyte_d16"},
    {"load_d16_hi_u8", "load_ubyte_d16_hi"},
    {"load_d16_i8", "load_sbyte_d16"},
    {"load_d16_hi_i8", "load_sbyte_d16_hi"},
    {"load_d16_b16", "load_short_d16"},
    {"load_d16_hi_b16", "load_short_d16_hi"},
    {"store_b8", "store_byte"},
    {"store_b16", "store_short"},
    {"store_b32", "store_dword"},
    {"store_b64", "store_dwordx2"},
    {"store_b96", "store_dwordx3"},
    {"store_b128", "store_dwordx4"},
    {"store_d16_hi_b8", "store_byte_d16_hi"},
    {"store_d16_hi_b16", "store_short_d16_hi"},
};

// After flat_, global_ and buffer_.
constexpr Rename kAtomics[] = {
    {"atomic_swap_b32", "atomic_swap"},
    {"atomic_cmpswap_b32", "atomic_cmpswap"},
    {"atomic_add_u32", "atomic_add"},
    {"atomic_sub_u32", "atomic_sub"},
    {"atomic_csub_u32", "atomic_csub", kGfx11Targets},
    {"atomic_sub_clamp_u32", "atomic_csub", kGfx12Targets},
    {"atomic_min_i32", "atomic_smin"},
    {"atomic_min_u32", "atomic_umin"},
    {"atomic_max_i32", "atomic_smax"},
    {"atomic_max_u32", "atomic_umax"},
    {"atomic_and_b32", "atomic_and"},
    {"atomic_or_b32", "atomic_or"},
    {"atomic_xor_b32", "atomic_xor"},
    {"atomic_inc_u32", "atomic_inc"},
    {"atomic_dec_u32", "atomic_dec"},
    {"atomic_cmpswap_f32", "atomic_fcmpswap", kGfx11Targets},
    {"atomic_min_f32", "atomic_fmin", kGfx11Targets},
    {"atomic_max_f32", "atomic_fmax", kGfx11Targets},
    {"atomic_min_num_f32", "atomic_fmin", kGfx12Targets},
    {"atomic_max_num_f32", "atomic_fmax", kGfx12Targets},
    {"atomic_swap_b64", "atomic_swap_x2"},
    {"atomic_cmpswap_b64", "atomic_cmpswap_x2"},
    {"atomic_add_u64", "atomic_add_x2"},
    {"atomic_sub_u64", "atomic_sub_x2"},
    {"atomic_min_i64", "atomic_smin_x2"},
    {"atomic_min_u64", "atomic_umin_x2"},
    {"atomic_max_i64", "atomic_smax_x2"},
    {"atomic_max_u64", "atomic_umax_x2"},
    {"atomic_and_b64", "atomic_and_x2"},
    {"atomic_or_b64", "atomic_or_x2"},
    {"atomic_xor_b64", "atomic_xor_x2"},
    {"atomic_inc_u64", "atomic_inc_x2"},
    {"atomic_dec_u64", "atomic_dec_x2"},
};

// After s_ and s_buffer_.
constexpr Rename kScalarLoads[] = {
    {"load_b32", "load_dword"},    {"load_b64", "load_dwordx2"},   {"load_b128", "load_dwordx4"},
    {"load_b256", "load_dwordx8"}, {"load_b512", "load_dwordx16"},
};

// After ds_load_ and ds_read_, ds_store_ and ds_write_.
constexpr std::string_view kLdsLoads[] = {
    "b32", "b64",    "b96",       "b128",   "i8",        "u8",      "i16",
    "u16", "i8_d16", "i8_d16_hi", "u8_d16", "u8_d16_hi", "u16_d16", "u16_d16_hi",
};
constexpr std::string_view kLdsStores[] = {"b8",  "b16",  "b32",       "b64",
                                           "b96", "b128", "b8_d16_hi", "b16_d16_hi"};

constexpr Rename kOthers[] = {
    {"global_load_addtid_b32", "global_load_dword_addtid"},
    {"global_store_addtid_b32", "global_store_dword_addtid"},
    {"buffer_load_d16_format_x", "buffer_load_format_d16_x"},
    {"buffer_load_d16_format_xy", "buffer_load_format_d16_xy"},
    {"buffer_load_d16_format_xyz", "buffer_load_format_d16_xyz"},
    {"buffer_load_d16_format_xyzw", "buffer_load_format_d16_xyzw"},
    {"buffer_load_d16_hi_format_x", "buffer_load_format_d16_hi_x"},
    {"buffer_store_d16_format_x", "buffer_store_format_d16_x"},
    {"buffer_store_d16_format_xy", "buffer_store_format_d16_xy"},
    {"buffer_store_d16_format_xyz", "buffer_store_format_d16_xyz"},
    {"buffer_store_d16_format_xyzw", "buffer_store_format_d16_xyzw"},
    {"buffer_store_d16_hi_format_x", "buffer_store_format_d16_hi_x"},
    {"tbuffer_load_d16_format_x", "tbuffer_load_format_d16_x"},
    {"tbuffer_load_d16_format_xy", "tbuffer_load_format_d16_xy"},
    {"tbuffer_load_d16_format_xyz", "tbuffer_load_format_d16_xyz"},
    {"tbuffer_load_d16_format_xyzw", "tbuffer_load_format_d16_xyzw"},
    {"tbuffer_store_d16_format_x", "tbuffer_store_format_d16_x"},
    {"tbuffer_store_d16_format_xy", "tbuffer_store_format_d16_xy"},
    {"tbuffer_store_d16_format_xyz", "tbuffer_store_format_d16_xyz"},
    {"tbuffer_store_d16_format_xyzw", "tbuffer_store_format_d16_xyzw"},

    {"ds_load_2addr_b32", "ds_read2_b32"},
    {"ds_load_2addr_b64", "ds_read2_b64"},
    {"ds_load_2addr_stride64_b32", "ds_read2st64_b32"},
    {"ds_load_2addr_stride64_b64", "ds_read2st64_b64"},
    {"ds_load_addtid_b32", "ds_read_addtid_b32"},
    {"ds_store_2addr_b32", "ds_write2_b32"},
    {"ds_store_2addr_b64", "ds_write2_b64"},
    {"ds_store_2addr_stride64_b32", "ds_write2st64_b32"},
    {"ds_store_2addr_stride64_b64", "ds_write2st64_b64"},
    {"ds_store_addtid_b32", "ds_write_addtid_b32"},
    {"ds_storexchg_rtn_b32", "ds_wrxchg_rtn_b32"},
    {"ds_storexchg_rtn_b64", "ds_wrxchg_rtn_b64"},
    {"ds_storexchg_2addr_rtn_b32", "ds_wrxchg2_rtn_b32"},
    {"ds_storexchg_2addr_rtn_b64", "ds_wrxchg2_rtn_b64"},
    {"ds_storexchg_2addr_stride64_rtn_b32", "ds_wrxchg2st64_rtn_b32"},
    {"ds_storexchg_2addr_stride64_rtn_b64", "ds_wrxchg2st64_rtn_b64"},
    {"ds_min_num_f32", "ds_min_f32", kGfx12Targets},
    {"ds_max_num_f32", "ds_max_f32", kGfx12Targets},
    {"ds_min_num_f64", "ds_min_f64", kGfx12Targets},
    {"ds_max_num_f64", "ds_max_f64", kGfx12Targets},
    {"ds_min_num_rtn_f32", "ds_min_rtn_f32", kGfx12Targets},
    {"ds_max_num_rtn_f32", "ds_max_rtn_f32", kGfx12Targets},
    {"ds_min_num_rtn_f64", "ds_min_rtn_f64", kGfx12Targets},
    {"ds_max_num_rtn_f64", "ds_max_rtn_f64", kGfx12Targets},

    {"s_and_not1_b32", "s_andn2_b32"},
    {"s_and_not1_b64", "s_andn2_b64"},
    {"s_or_not1_b32", "s_orn2_b32"},
    {"s_or_not1_b64", "s_orn2_b64"},
    {"s_and_not0_saveexec_b32", "s_andn1_saveexec_b32"},
    {"s_and_not0_saveexec_b64", "s_andn1_saveexec_b64"},
    {"s_and_not1_saveexec_b32", "s_andn2_saveexec_b32"},
    {"s_and_not1_saveexec_b64", "s_andn2_saveexec_b64"},
    {"s_or_not0_saveexec_b32", "s_orn1_saveexec_b32"},
    {"s_or_not0_saveexec_b64", "s_orn1_saveexec_b64"},
    {"s_or_not1_saveexec_b32", "s_orn2_saveexec_b32"},
    {"s_or_not1_saveexec_b64", "s_orn2_saveexec_b64"},
    {"s_and_not0_wrexec_b32", "s_andn1_wrexec_b32"},
    {"s_and_not0_wrexec_b64", "s_andn1_wrexec_b64"},
    {"s_and_not1_wrexec_b32", "s_andn2_wrexec_b32"},
    {"s_and_not1_wrexec_b64", "s_andn2_wrexec_b64"},
    {"s_ctz_i32_b32", "s_ff1_i32_b32"},
    {"s_ctz_i32_b64", "s_ff1_i32_b64"},
    {"s_clz_i32_u32", "s_flbit_i32_b32"},
    {"s_clz_i32_u64", "s_flbit_i32_b64"},
    {"s_cls_i32", "s_flbit_i32"},
    {"s_cls_i32_i64", "s_flbit_i32_i64"},
    {"s_set_inst_prefetch_distance", "s_inst_prefetch", kGfx11Targets},
    {"s_wait_alu", "s_waitcnt_depctr", kGfx12Targets},
    {"s_add_co_u32", "s_add_u32", kGfx12Targets},
    {"s_sub_co_u32", "s_sub_u32", kGfx12Targets},
    {"s_add_co_i32", "s_add_i32", kGfx12Targets},
    {"s_sub_co_i32", "s_sub_i32", kGfx12Targets},
    {"s_add_co_ci_u32", "s_addc_u32", kGfx12Targets},
    {"s_sub_co_ci_u32", "s_subb_u32", kGfx12Targets},
    {"s_addk_co_i32", "s_addk_i32", kGfx12Targets},

    {"v_ctz_i32_b32", "v_ffbl_b32"},
    {"v_clz_i32_u32", "v_ffbh_u32"},
    {"v_cls_i32", "v_ffbh_i32"},
    {"v_cmp_t_f16", "v_cmp_tru_f16", kGfx11Targets},
    {"v_cmp_t_f32", "v_cmp_tru_f32", kGfx11Targets},
    {"v_cmp_t_f64", "v_cmp_tru_f64", kGfx11Targets},
    {"v_cmpx_t_f16", "v_cmpx_tru_f16", kGfx11Targets},
    {"v_cmpx_t_f32", "v_cmpx_tru_f32", kGfx11Targets},
    {"v_cmpx_t_f64", "v_cmpx_tru_f64", kGfx11Targets},
    {"v_cvt_floor_i32_f32", "v_cvt_flr_i32_f32"},
    {"v_cvt_nearest_i32_f32", "v_cvt_rpi_i32_f32"},
    {"v_cvt_pk_norm_i16_f16", "v_cvt_pknorm_i16_f16"},
    {"v_cvt_pk_norm_i16_f32", "v_cvt_pknorm_i16_f32"},
    {"v_cvt_pk_norm_u16_f16", "v_cvt_pknorm_u16_f16"},
    {"v_cvt_pk_norm_u16_f32", "v_cvt_pknorm_u16_f32"},
    {"v_cvt_pk_rtz_f16_f32", "v_cvt_pkrtz_f16_f32"},
    {"v_mul_dx9_zero_f32", "v_mul_legacy_f32"},
    {"v_fma_dx9_zero_f32", "v_fma_legacy_f32"},
    {"v_fmac_dx9_zero_f32", "v_fmac_legacy_f32", kGfx11Targets},
    {"v_dot2acc_f32_f16", "v_dot2c_f32_f16", kGfx11Targets},
    {"v_mad_co_u64_u32", "v_mad_u64_u32", kGfx12Targets},
    {"v_mad_co_i64_i32", "v_mad_i64_i32", kGfx12Targets},

    // Halves of a pair.
    {"v_dual_mov_b32", "v_mov_b32"},
    {"v_dual_cndmask_b32", "v_cndmask_b32"},
    {"v_dual_add_f32", "v_add_f32"},
    {"v_dual_sub_f32", "v_sub_f32"},
    {"v_dual_subrev_f32", "v_subrev_f32"},
    {"v_dual_mul_f32", "v_mul_f32"},
    {"v_dual_mul_dx9_zero_f32", "v_mul_legacy_f32"},
    {"v_dual_fmac_f32", "v_fmac_f32"},
    {"v_dual_fmaak_f32", "v_fmaak_f32"},
    {"v_dual_fmamk_f32", "v_fmamk_f32"},
    {"v_dual_min_f32", "v_min_f32", kGfx11Targets},
    {"v_dual_max_f32", "v_max_f32", kGfx11Targets},
    {"v_dual_min_num_f32", "v_min_num_f32", kGfx12Targets},
    {"v_dual_max_num_f32", "v_max_num_f32", kGfx12Targets},
    {"v_dual_dot2acc_f32_f16", "v_dot2c_f32_f16"},
    {"v_dual_dot2acc_f32_bf16", "v_dot2acc_f32_bf16"},
    {"v_dual_add_nc_u32", "v_add_nc_u32"},
    {"v_dual_lshlrev_b32", "v_lshlrev_b32"},
    {"v_dual_and_b32", "v_and_b32"},
};

class Names {
 public:
  explicit Names(uint32_t target) : target_(target) {
    for (std::string_view prefix : {"flat_", "global_", "scratch_", "buffer_"})
      AddAll(prefix, kMemory);
    for (std::string_view prefix : {"flat_", "global_", "buffer_"}) AddAll(prefix, kAtomics);
    for (std::string_view prefix : {"s_", "s_buffer_"}) AddAll(prefix, kScalarLoads);
    for (std::string_view type : kLdsLoads) Add("ds_", {"load_", "read_"}, type);
    for (std::string_view type : kLdsStores) Add("ds_", {"store_", "write_"}, type);
    AddAll("", kOthers);
    // Views into strings that do not move any more.
    for (const Alias& alias : aliases_) by_name_.emplace(alias.mnemonic, alias.first_name);
  }
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  std::span<const Alias> aliases() const { return aliases_; }
  std::string_view FirstNameOf(std::string_view mnemonic) const {
    auto found = by_name_.find(mnemonic);
    return found == by_name_.end() ? std::string_view() : found->second;
  }

 private:
  void Add(std::string_view prefix, const Rename& rename, std::string_view suffix = {}) {
    if (!(rename.targets & target_)) return;
    auto join = [&](std::string_view name) {
      return std::string(prefix).append(name).append(suffix);
    };
    aliases_.push_back({join(rename.mnemonic), join(rename.first_name)});
  }
  void AddAll(std::string_view prefix, std::span<const Rename> renames) {
    for (const Rename& rename : renames) Add(prefix, rename);
  }

  uint32_t target_;
  std::vector<Alias> aliases_;
  std::unordered_map<std::string_view, std::string_view> by_name_;
};

// Never destroyed, like the rows. nullptr for the targets that have the first names.
const Names* NamesOf(const Architecture& architecture) {
  static const Names* const gfx11 = new Names(kGfx11Targets);
  static const Names* const gfx12 = new Names(kGfx12Targets);
  if (architecture.bit & kGfx11Targets) return gfx11;
  return architecture.bit & kGfx12Targets ? gfx12 : nullptr;
}

}  // namespace

std::string_view FirstNameOf(const Architecture& architecture, std::string_view mnemonic) {
  const Names* names = NamesOf(architecture);
  return names == nullptr ? std::string_view() : names->FirstNameOf(mnemonic);
}

std::span<const Alias> AliasesOf(const Architecture& architecture) {
  const Names* names = NamesOf(architecture);
  return names == nullptr ? std::span<const Alias>() : names->aliases();
}

}  // namespace rochound::softgpu
