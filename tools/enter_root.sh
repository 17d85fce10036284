#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs a command inside a root that tools/root.sh made.
#
#   enter_root.sh ROOT [--bind PATH[:PLACE]]... [--cd FOLDER] -- COMMAND...
#
# Each PATH is seen inside at the same place, or at PLACE; /proc, /sys, /dev and /tmp are always seen. All mounts live in a mount
# namespace of this process alone: the kernel drops them when its last process ends, however it ends, so nothing
# is ever left mounted. Everything is handed over by exec: signals, terminal and exit code are the command's own.
set -euo pipefail

if [[ $1 != --inside ]]; then
  if ((EUID != 0)); then
    echo "entering $1 needs root: run this as root, or with sudo" >&2
    exit 1
  fi
  exec unshare --mount --propagation private -- "$0" --inside "$@"
fi
shift

root=$1
shift
folder=/
binds=()
while [[ $1 != -- ]]; do
  case $1 in
    --bind) binds+=("$2") ;;
    --cd) folder=$2 ;;
    *) echo "enter_root.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift 2
done
shift

for place in /proc /sys /dev; do
  mount --rbind "$place" "$root$place"
done
mount --bind /tmp "$root/tmp"
for bind in "${binds[@]}"; do
  source=${bind%%:*}
  place=${bind##*:}
  mkdir -p "$root$place"
  mount --bind "$source" "$root$place"
done
# The host's name servers, by address, since the file is often a link into /run.
if [[ -r /etc/resolv.conf ]]; then
  touch "$root/etc/resolv.conf"
  mount --bind "$(realpath /etc/resolv.conf)" "$root/etc/resolv.conf"
fi

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C.UTF-8
export HOME=/root
unset TMPDIR
exec chroot "$root" env --chdir="$folder" -- "$@"
