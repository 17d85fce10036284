#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Configures once and builds, in the place where ROCm is: build.sh FOLDER PRESET [TARGET...]
# Ninja runs CMake again by itself when a CMakeLists.txt has changed. ROCHOUND_CMAKE_OPTIONS is for CMake, in a folder
# that is configured already, too.
set -euo pipefail

folder=$1
preset=$2
shift 2
cd "$(dirname "$0")/.."

read -ra more <<<"${ROCHOUND_CMAKE_OPTIONS:-}"
if [[ ! -e $folder/build.ninja ]]; then
  # Objects are shared between checkouts by way of ccache, so they name sources relative to the checkout; a debugger
  # started there finds them.
  options=(-DCMAKE_C_FLAGS="-ffile-prefix-map=$PWD/=" -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$PWD/=")
  if [[ $preset == fuzz ]]; then
    # The clang that hipcc uses; it is often installed with its version in the name only.
    clang=$(command -v clang++ || ls -v /usr/bin/clang++-* | tail -n 1)
    options+=(-DCMAKE_C_COMPILER="${clang/++/}" -DCMAKE_CXX_COMPILER="$clang")
  fi
  mkdir -p "$folder"
  cmake --preset "$preset" -B "$folder" "${options[@]}" "${more[@]}" >"$folder/configure.log" 2>&1 || {
    cat "$folder/configure.log" >&2
    exit 1
  }
elif ((${#more[@]})) && [[ -n $(sed -E 's/^-D//' <<<"$(printf '%s\n' "${more[@]}")" |
  grep -vxFf <(sed -E 's/:(BOOL|PATH|STRING|UNINITIALIZED)=/=/' "$folder/CMakeCache.txt")) ]]; then
  # One of them differs from what the folder was configured with.
  cmake -B "$folder" "${more[@]}" >"$folder/configure.log" 2>&1 || {
    cat "$folder/configure.log" >&2
    exit 1
  }
fi
exec ninja -C "$folder" "$@"
