#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fetch.sh FOLDER: downloads the traces that the cases of readers.py and kineto_busy.py read, each by the commit that
# README.md names, and packs them as the cases expect them. Needs curl and python3.
set -euo pipefail

[[ $# == 1 ]] || { echo "usage: $0 FOLDER" >&2; exit 2; }
folder=$1
raw=https://raw.githubusercontent.com
tracelens=$raw/AMD-AGI/TraceLens/171dd74721ca1ec45709e5805b68ae1f65e27811/tests
hta=$raw/facebookresearch/HolisticTraceAnalysis/f4d0062c382f42bd8a74838bcdad1916c7d5d2da
hpct=$raw/amd/HPCTrainingExamples/aaaa72d4dca9a9c3587be883deaf2d0f109fcbfb
rpd=$raw/ROCm/rocmProfileData/e943e7a5e87850cdf8b2223e0afa785849e6bbc0
mkdir -p "$folder"/{kineto,rpd,rocprofv3}

# get ADDRESS FILE
get() {
  [[ -s $folder/$2 ]] && return
  echo "$2"
  curl -fsSL --retry 3 "$1" -o "$folder/$2.part"
  mv "$folder/$2.part" "$folder/$2"
}

# kineto ADDRESS NAME [CATEGORY...]: without what tells of somebody's machine, and without events of these categories
kineto() {
  [[ -s $folder/kineto/$2.json.gz ]] && return
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
get "$rpd/raptor/tests/mytrace.rpd.gz" rpd/mytrace.rpd.gz
for file in matmul_result.rpd matmul_result_large.rpd matmul_result.json; do
  [[ -s $folder/rpd/$file.gz ]] && continue
  get "$rpd/examples/rocm-profile-data/results/$file" "rpd/$file"
  gzip "$folder/rpd/$file"
done
get "$tracelens/rocprof/908_results.json.gz" rocprofv3/mi350x-training_results.json.gz
