#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Builds and runs the fuzzers for a bounded time: fuzz.sh BUILD_FOLDER [NAME] [--seconds N]
# What a fuzzer learns is kept in the build folder; seeds that are worth keeping for ever stand in
# tests/fuzz/corpus/NAME. A finding is left in the build folder and its path printed.
set -euo pipefail

tools=$(cd "$(dirname "$0")" && pwd)
folder=$1
shift
seconds=60
name='*'
while (($#)); do
  case $1 in
    --seconds) seconds=$2; shift ;;
    *) name=$1 ;;
  esac
  shift
done

"$tools/build.sh" "$folder" fuzz fuzzers
shopt -s nullglob
found=("$folder"/bin/fuzz_$name)
if ((${#found[@]} == 0)); then
  echo "fuzz: no fuzzer '$name' in $folder/bin" >&2
  exit 2
fi
for fuzzer in "${found[@]}"; do
  name=$(basename "$fuzzer" | sed 's/^fuzz_//')
  corpus=("$folder/corpus/$name" "$tools/../tests/fuzz/corpus/$name"/)
  mkdir -p "${corpus[0]}"
  [[ -d ${corpus[1]} ]] || unset 'corpus[1]'
  echo "fuzz: $name for $seconds s"
  "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$folder/finding-$name-" "${corpus[@]}"
done
