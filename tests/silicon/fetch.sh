#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fetch.sh FOLDER: downloads the files that the cases here read, each by the commit that README.md names, and packs them as
# the cases expect them. What is there already stays. Needs curl, git, python3, gzip and xz.
# fetch.sh --list: the files' names.
set -euo pipefail

[[ $# == 1 ]] || { echo "usage: $0 FOLDER|--list" >&2; exit 2; }
if [[ $1 == --list ]]; then
  there() { echo "$1"; }
else
  mkdir -p "$1"
  folder=$(cd "$1" && pwd)
  there() { [[ -s $folder/$1 ]]; }
fi
made=$(cd "$(dirname "$0")" && pwd)/made
raw=https://raw.githubusercontent.com
tracelens=$raw/AMD-AGI/TraceLens/171dd74721ca1ec45709e5805b68ae1f65e27811/tests
hta=$raw/facebookresearch/HolisticTraceAnalysis/f4d0062c382f42bd8a74838bcdad1916c7d5d2da
hpct=$raw/amd/HPCTrainingExamples/aaaa72d4dca9a9c3587be883deaf2d0f109fcbfb
rpd=$raw/ROCm/rocmProfileData/e943e7a5e87850cdf8b2223e0afa785849e6bbc0
systems=$raw/ROCm/rocm-systems/1b1610fc2b2ab32af71e6e04e4d4a6a4ae597992/projects
aiter=$raw/ROCm/aiter/e4048607a535ace3a2b51ded31b1c8c2d45c0879/hsa
optiq=$raw/ROCm/roc-optiq/54bca85920ea910250a8f7e7f9f138b98afaddbd

# get ADDRESS FILE
get() {
  there "$2" && return
  echo "$2"
  mkdir -p "$(dirname "$folder/$2")"
  curl -fsSL --retry 3 "$1" -o "$folder/$2.part"
  mv "$folder/$2.part" "$folder/$2"
}

# packed ADDRESS FILE: FILE.gz
packed() {
  there "$2.gz" && return
  get "$1" "$2"
  gzip -n "$folder/$2"
}

# tree REPOSITORY COMMIT SUBFOLDER ARCHIVE PREFIX: a folder of a repository as ARCHIVE.tar.xz, in PREFIX
tree() {
  there "$4.tar.xz" && return
  echo "$4"
  local work
  work=$(mktemp -d)
  git -C "$work" init -q
  git -C "$work" fetch -q --depth 1 --filter=blob:none "https://github.com/$1" "$2"
  mkdir -p "$(dirname "$folder/$4")"
  git -C "$work" archive --prefix="$5/" "FETCH_HEAD:$3" | xz >"$folder/$4.part"
  mv "$folder/$4.part" "$folder/$4.tar.xz"
  rm -rf "$work"
}

# kineto ADDRESS NAME [CATEGORY...]: without what tells of somebody's machine, and without events of these categories
kineto() {
  there "kineto/$2.json.gz" && return
  get "$1" "kineto/$2.published"
  python3 - "$folder/kineto/$2.published" "$folder/kineto/$2.json.gz" "${@:3}" <<'END'
import gzip, json, sys
with open(sys.argv[1], "rb") as file:
    packed = file.read()
trace = json.loads(gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed)
for member in ("metadata", "traceName"):
    trace.pop(member, None)
trace["traceEvents"] = [one for one in trace["traceEvents"] if one.get("cat") not in sys.argv[3:]]
with gzip.open(sys.argv[2], "wt") as file:
    json.dump(trace, file)
END
  rm "$folder/kineto/$2.published"
}

kineto "$tracelens/traces/mi300/facebook_timesformer-base-finetuned-k400__1016002.json.gz" mi300x-timesformer
kineto "$tracelens/traces/mi300/gaunernst_bert-small-uncased__1016001.json.gz" mi300x-bert-small
kineto "$tracelens/traces/mi300/Falconsai_nsfw_image_detection__1016002.json.gz" mi300x-vit
kineto "$tracelens/traces/mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz" mi300x-qwen-prefill
kineto "$tracelens/traces/mi300/resnet_act_checkpoint.json.gz" mi300x-resnet-ddp
kineto "$tracelens/traces/perf_model/normalization/normalization_layer_test.json.gz" mi300x-normalization
kineto "$tracelens/traces/torch_compile_triton/trace.json.gz" mi300x-compile-triton
kineto "$tracelens/traces/mi210/gpu_only_trace/gpu_only_trace.json.gz" mi210-gpu-only
kineto "$tracelens/traces/inference/vllm_decode_full/graph_execution.json.gz" vllm-decode-graph
kineto "$tracelens/traces/inference/vllm_prefilldecode_piecewise/graph_execution.json.gz" vllm-prefill-piecewise
kineto "$tracelens/traces/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz" sglang-decode-graph
kineto "$tracelens/traces/inference/sglang_prefilldecode/sglang_Qwen3-8B_prefilldecode.json.gz" sglang-prefill
kineto "$hta/tests/data/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz" mi250-minitoy-train
kineto "$hpct/MLExamples/TraceLens/fused_traces/merged_all_events.json.gz" ddp-4-ranks cpu_op ac2g fwdbwd
kineto "$hpct/MLExamples/TraceLens/fused_traces/merged_nccl_only.json.gz" ddp-4-ranks-nccl-only

# What TraceLens itself says about its traces.
reports() {
  for table in "${@:3}"; do
    get "$tracelens/traces/$1/$table.csv" "kineto/truth/$2/$table.csv"
  done
}
of_kernels=(gpu_timeline kernel_summary)
of_operators=(gpu_timeline ops_summary)
of_both=(gpu_timeline kernel_summary ops_summary)
reports mi210/gpu_only_trace/gpu_only_trace_perf_report_csvs mi210-gpu-only "${of_kernels[@]}"
reports mi300/facebook_timesformer-base-finetuned-k400__1016002_perf_report_csvs mi300x-timesformer "${of_both[@]}"
reports mi300/gaunernst_bert-small-uncased__1016001_perf_report_csvs mi300x-bert-small "${of_both[@]}"
reports mi300/Falconsai_nsfw_image_detection__1016002_perf_report_csvs mi300x-vit "${of_both[@]}"
reports mi300/Qwen_Qwen1.5-0.5B-Chat__1016005_perf_report_csvs mi300x-qwen-prefill "${of_both[@]}"
reports perf_model/normalization/normalization_layer_test_perf_report_csvs mi300x-normalization "${of_both[@]}"
reports torch_compile_triton/trace_perf_report_csvs mi300x-compile-triton "${of_both[@]}"
reports inference/vllm_decode_full/perf_csvs vllm-decode-graph "${of_operators[@]}"
reports inference/vllm_prefilldecode_piecewise/perf_csvs vllm-prefill-piecewise "${of_operators[@]}"
reports inference/sglang_decode/perf_csvs sglang-decode-graph "${of_operators[@]}"
reports inference/sglang_prefilldecode/perf_csvs sglang-prefill "${of_operators[@]}"

get "$rpd/raptor/tests/mytrace.rpd.gz" rpd/mytrace.rpd.gz
for file in matmul_result.rpd matmul_result_large.rpd matmul_result.json; do
  packed "$rpd/examples/rocm-profile-data/results/$file" "rpd/$file"
done

get "$tracelens/rocprof/908_results.json.gz" rocprofv3/mi350x-training_results.json.gz
for file in counter_collection.csv hip_trace.csv hsa_api_trace.csv kernel_trace.csv list-avail.txt memory_allocation_trace.csv \
  memory_copy_trace.csv pc_sampling_host_trap.csv pc_sampling_host_trap_debug.csv pc_sampling_stochastic_debug.csv \
  rccl_trace.csv rocpd-to-csv.csv scratch_memory_trace.csv summary.txt; do
  get "$systems/rocprofiler-sdk/source/docs/data/$file" "rocprofv3/docs-$file"
done

# counters GPU FILE...: of rocprofiler-compute, and the same counters as rocprofv3 writes them
counters() {
  local work file
  for file in "${@:2}"; do
    packed "$systems/rocprofiler-compute/tests/workloads/vcopy/$1/$file.csv" "counters/$1/$file.csv"
  done
  [[ $1 == MI100 ]] && return  # nothing is made of an MI100's
  local rows=counters/$1/as-rocprofv3_counter_collection.csv
  there "$rows.gz" && return
  work=$(mktemp -d)
  for file in "${@:2}"; do gunzip -c "$folder/counters/$1/$file.csv.gz" >"$work/$file.csv"; done
  python3 -B "$made/counter_rows.py" "$work" "$folder/$rows"
  gzip -n "$folder/$rows"
  rm -rf "$work"
}
of_launches=(SQ_LEVEL_WAVES pmc_dispatch_info pmc_perf sysinfo)
counters MI100 "${of_launches[@]}" timestamps
counters MI200 "${of_launches[@]}" timestamps roofline
counters MI300A_A1 "${of_launches[@]}" timestamps
counters MI300X_A1 "${of_launches[@]}" timestamps
counters MI300X_A1_rocpd pmc_perf sysinfo
counters MI350 "${of_launches[@]}"

if ! there rocprof-compute/mi350x-monte-carlo-pi.db.xz; then
  get "$optiq/sample/rocprof_compute_23ed6f36.db" rocprof-compute/mi350x-monte-carlo-pi.db
  xz "$folder/rocprof-compute/mi350x-monte-carlo-pi.db"
fi

topology=sys/class/kfd/kfd/topology
kfd() { tree ROCm/k8s-device-plugin ed7646843003e8f0b6a0630346f01bb4d1ecff2e "testdata/$1" "machine/kfd-$2" "$3"; }
kfd topo-mi210-xgmi-pcie/nodes mi210-8gpu $topology/nodes
kfd topo-mi300-cpx/topology mi300x-cpx-64gpu $topology
kfd topology-parsing-mi308/topology mi308x-cpx-32gpu $topology
kfd topology-parsing/topology vega10-mi25-1gpu $topology
tree ilya-zlobintsev/LACT 238e315b812ae1dbf1c17c1a57503a161de51500 tests/snapshots/amd machine/drm-sysfs-19-cards amd
if ! there machine/kfd-mi350x-8gpu.tar.xz; then
  work=$(mktemp -d)
  python3 -B "$made/kfd_tree.py" "$folder/rocprofv3/mi350x-training_results.json.gz" "$work"
  tar cJf "$folder/machine/kfd-mi350x-8gpu.tar.xz" -C "$work" sys
  rm -rf "$work"
fi

for object in gfx942/all_reduce gfx942/bf16gemm/bf16gemm_fp32bf16_tn_32x64_bshuffle_splitk \
  gfx942/fmha_v3_bwd/bwd_hd64_dq_convert_fp16 gfx942/fmoe/silu/fmoe_fp16_pertokenInt8_g1u0_vs_silu_1tg_32x128 \
  gfx942/mla/mla_a8w8_qh64_qseqlen1_gqaratio64_lse_v3_ps gfx942/mla/mla_a8w8_qh64_qseqlen1_gqaratio64_v3_ps \
  gfx942/mla/mla_a8w8_qh8_qseqlen1_gqaratio8_v1 gfx942/pa/pa_fp16_pertokenFp8_gqa8_2tg_4w \
  gfx942/topksoftmax/topksoftmax_4x128x4 gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_32x128 \
  gfx950/fmha_v3_fwd/fwd_hd128_bf16 gfx950/fmoe_2stages/fmoe_stage1_bf16_pertokenFp8_g1u1_16x64_6tg_pf2 \
  gfx950/fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_32x128 gfx950/mla/mla_a8w8_qh16_qseqlen1_gqaratio16 \
  gfx1250/f4gemm/f4gemm_fp4_mxfp4_ABpreShuffle_256x256_4x4_ps_noscale gfx1250/mla/mla_a8w8_qh16_1tg_16mx1_32nx4_np_3p; do
  get "$aiter/$object.co" "code-objects/$object.co"
done
