#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Makes the packages of the last commit a second time, in a new checkout in another folder, and compares every byte.
#
#   twice.sh CHECKOUT WHAT
#
# `./dev package --twice` calls it after CHECKOUT/build/packages was made; WHAT is all, deb or portable. Where packages differ
# it lists the files in them that do, and keeps both. The second build takes objects from the compiler cache.
set -euo pipefail

checkout=$1
what=$2
first=$checkout/build/packages

unpack() {
  mkdir -p "$2"
  case $1 in
    *.deb) dpkg-deb -R "$1" "$2" ;;
    *.tar.gz) tar -xzf "$1" -C "$2" ;;
    *.whl) python3 -m zipfile -e "$1" "$2" ;;
    *) cp "$1" "$2" ;;
  esac
}

if [[ -n $(git -C "$checkout" status --porcelain) ]]; then
  echo "package: what is not committed is in the first build and would not be in the second: commit it" >&2
  exit 1
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/rochound-twice.XXXXXX")
echo "package: once more, in $work/second-checkout" >&2
git clone --quiet --depth 1 "file://$checkout" "$work/second-checkout"
"$work/second-checkout/dev" package "$what" >"$work/log" 2>&1 || { tail -n 50 "$work/log"; exit 1; }
second=$work/second-checkout/build/packages
compared=0
different=0
for file in "$second"/*; do
  name=$(basename "$file")
  # It also names packages that the second build was not asked for.
  [[ $name != SHA256SUMS ]] || continue
  compared=$((compared + 1))
  ! cmp -s "$file" "$first/$name" || continue
  different=$((different + 1))
  echo "$name differs:"
  unpack "$first/$name" "$work/unpacked/first/$name"
  unpack "$file" "$work/unpacked/second/$name"
  (cd "$work/unpacked" && diff --brief --recursive "first/$name" "second/$name" | sed 's/^/  /') || true
done
if ((different > 0)); then
  echo "$different of $compared packages are not the same in the second build, which is in $work"
  exit 1
fi
rm -rf --one-file-system "$work"
echo "two builds, same bytes: $compared packages"
((compared > 0))
