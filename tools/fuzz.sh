#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Builds and runs the fuzzers, or one: fuzz.sh BUILD_FOLDER [NAME] [--seconds N] [--runs N]
# Each for N seconds (60), or, with --runs alone, for N inputs; with both, for what comes first. The last lines say how many
# inputs each has tried. What a fuzzer learns is kept in the build folder; seeds that are worth keeping for ever are in
# tests/fuzz/corpus/NAME. A finding is left in the build folder and its path printed; the other fuzzers run all the same.
set -euo pipefail

tools=$(cd "$(dirname "$0")" && pwd)
folder=$1
shift
seconds=
runs=-1
wanted='*'
while (($#)); do
  case $1 in
    --seconds) seconds=$2; shift ;;
    --runs) runs=$2; shift ;;
    *) wanted=$1 ;;
  esac
  shift
done
if [[ -z $seconds ]]; then
  seconds=$((runs < 0 ? 60 : 0))
fi

target=fuzzers
[[ $wanted == *'*'* ]] || target=fuzz_$wanted
"$tools/build.sh" "$folder" fuzz "$target"
shopt -s nullglob
found=("$folder"/bin/fuzz_$wanted)
if ((${#found[@]} == 0)); then
  echo "fuzz: no fuzzer '$wanted' in $folder/bin" >&2
  exit 2
fi
counts=()
total=0
failed=0
for fuzzer in "${found[@]}"; do
  name=$(basename "$fuzzer" | sed 's/^fuzz_//')
  corpus=("$folder/corpus/$name" "$tools/../tests/fuzz/corpus/$name"/)
  mkdir -p "${corpus[0]}"
  [[ -d ${corpus[1]} ]] || unset 'corpus[1]'
  echo "fuzz: $name"
  begin=$SECONDS
  result=
  "$fuzzer" -max_total_time="$seconds" -runs="$runs" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$folder/finding-$name-" "${corpus[@]}" 2>&1 | tee "$folder/fuzz-$name.log" || result=', a finding'
  [[ -z $result ]] || failed=1
  number=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/fuzz-$name.log" | tail -n 1)
  counts+=("$(printf '%10d inputs in %5d s  %s%s' "${number:-0}" $((SECONDS - begin)) "$name" "$result")")
  total=$((total + ${number:-0}))
done
printf '%s\n' "${counts[@]}"
printf '%10d inputs\n' "$total"
exit "$failed"
