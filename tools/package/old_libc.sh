#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Brings the C library that portable programs are linked to: Debian bullseye's, glibc 2.31, as files in a folder. Nothing is
# installed or run from it. Prints the folder. Made once, kept beside the roots; docs/decisions/portable.md says why.
#
#   old_libc.sh          make it where it is missing; needs root, mmdebstrap and an archive
#   old_libc.sh --path   print where it is or would be
set -euo pipefail

tools=$(cd "$(dirname "$0")/.." && pwd)
cache=$("$tools/root.sh" --cache)
suite=bullseye
folder=$cache/libc-$suite
[[ ${1:-} != --path ]] || { echo "$folder"; exit; }
if [[ ! -d $folder ]]; then
  mkdir -p "$cache"
  exec 9>"$folder.lock"
  flock 9
fi
if [[ ! -d $folder ]]; then
  eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
  [[ -z ${http_proxy:-} ]] || export http_proxy
  [[ -z ${https_proxy:-} ]] || export https_proxy
  partial=$folder.partial
  rm -rf --one-file-system "$partial"
  unshare --mount --propagation private -- mmdebstrap --quiet --mode=root --variant=extract --include=libc6-dev \
    --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Retries "3"' \
    "$suite" "$partial" "deb $("$tools/apt_mirror.sh") $suite main" >&2
  rm -rf --one-file-system "$partial"/{dev,etc,proc,run,sys,tmp,var}
  # Links to absolute places would leave the folder.
  find "$partial" -type l -lname '/*' -printf '%l %p\n' | while read -r target link; do ln -sfnr "$partial$target" "$link"; done
  mv -T "$partial" "$folder"
fi
echo "$folder"
