#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `show` says of kernels that are written by hand, in assembly (aiter). A GPU allocates what the kernel descriptor
says; the metadata is what somebody wrote beside it."""

from silicon_case import main

# File -> vector registers by the metadata, as the GPU allocates them, LDS, waves on a SIMD, and what limits them.
KERNELS = {
    "gfx942/all_reduce": (512, 512, 65536, 1, ["VGPRs", "LDS"]),
    "gfx942/bf16gemm/bf16gemm_fp32bf16_tn_32x64_bshuffle_splitk": (512, 512, 65536, 1, ["VGPRs", "LDS"]),
    "gfx942/fmha_v3_bwd/bwd_hd64_dq_convert_fp16": (128, 128, 40960, 1, ["LDS"]),
    "gfx942/fmoe/silu/fmoe_fp16_pertokenInt8_g1u0_vs_silu_1tg_32x128": (512, 512, 65536, 1, ["VGPRs", "LDS"]),
    # With AGPRs: less in the metadata than in the descriptor.
    "gfx942/mla/mla_a8w8_qh64_qseqlen1_gqaratio64_lse_v3_ps": (256, 464, 58624, 1, ["VGPRs and AGPRs", "LDS"]),
    "gfx942/mla/mla_a8w8_qh64_qseqlen1_gqaratio64_v3_ps": (256, 464, 58624, 1, ["VGPRs and AGPRs", "LDS"]),
    "gfx942/mla/mla_a8w8_qh8_qseqlen1_gqaratio8_v1": (252, 456, 65536, 1, ["VGPRs and AGPRs", "LDS"]),
    "gfx942/pa/pa_fp16_pertokenFp8_gqa8_2tg_4w": (256, 256, 32768, 2, ["VGPRs", "LDS"]),
    "gfx942/topksoftmax/topksoftmax_4x128x4": (24, 24, 0, 7, ["SGPRs"]),
    "gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_32x128": (512, 512, 163840, 1, ["VGPRs", "LDS"]),
    "gfx950/fmha_v3_fwd/fwd_hd128_bf16": (256, 256, 163840, 2, ["VGPRs", "LDS"]),
    "gfx950/fmoe_2stages/fmoe_stage1_bf16_pertokenFp8_g1u1_16x64_6tg_pf2": (80, 80, 4352, 6, ["VGPRs"]),
    "gfx950/fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_32x128": (512, 512, 65536, 1, ["VGPRs"]),
    "gfx950/mla/mla_a8w8_qh16_qseqlen1_gqaratio16": (512, 512, 163840, 1, ["VGPRs", "LDS"]),
    # How many waves this GPU holds is not known: nothing is said of it.
    "gfx1250/f4gemm/f4gemm_fp4_mxfp4_ABpreShuffle_256x256_4x4_ps_noscale": (1024, None, 327680, None, None),
    "gfx1250/mla/mla_a8w8_qh16_1tg_16mx1_32nx4_np_3p": (1024, None, 327680, None, None),
}


def shown(name):
    def check(case):
        vgprs, allocated, lds, waves, limited_by = KERNELS[name]
        file = case.file(f"code-objects/{name}.co")
        [kernel] = case.json("show", file)["code_objects"][0]["kernels"]
        case.equal("VGPRs of the metadata", vgprs, kernel["vgprs"])
        case.equal("LDS", lds, kernel["lds_bytes"])
        page = case.run("show", file)
        if waves is None:
            case.equal("occupancy", None, kernel["occupancy"])
            return
        occupancy = kernel["occupancy"]
        case.equal("VGPRs as allocated", allocated, occupancy["vgprs_allocated"])
        case.equal("waves per SIMD", waves, occupancy["waves_per_simd"])
        case.equal("limit", limited_by, occupancy["limited_by"])
        case.equal("the page tells what the descriptor has more", allocated != vgprs, f"{allocated}*" in page)

    return check


if __name__ == "__main__":
    main({"code_object_" + name.rsplit("/", 1)[1]: shown(name) for name in KERNELS})
