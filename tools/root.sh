#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Makes the development roots: Debian systems in a folder, each with one ROCm release.
#
#   root.sh 7|6|5 [--GROUP...] [--fresh]   make or bring up to date; --fresh: from nothing
#   root.sh --path 7|6|5                   print where the root is or would be
#   root.sh --state 7|6|5                  print missing, outdated or ready
#   root.sh --cache                        print the folder where downloads and compiled objects are kept
#
# --libraries adds the libraries that tests/libraries runs, --fleet what src/fleet is built and tested with. A root that
# has a group keeps it, and rows of a group that it does not have do not make it outdated. Exit code 75: the archive did not
# deliver; everything else that can fail is 1.
#
# Two stages, base system and packages. A root is made as NAME.partial and gets its name when it is complete; an
# interrupted run goes on with the first stage that is not finished. The recipe (suite, packages, preferences) is
# kept in the root: when it changes, only the second stage is run again, in place. As tools/enter_root.sh says,
# no mount outlives the process that made it.
set -euo pipefail

tools=$(cd "$(dirname "$0")" && pwd)
cache=${ROCHOUND_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rochound}
roots=${ROCHOUND_ROOTS:-$cache/roots}

say() { echo "root: $*" >&2; }
die() { say "$*"; exit 1; }

mode=make
fresh=
release=
groups=()
for argument; do
  case $argument in
    --path) mode=path ;;
    --state) mode=state ;;
    --fresh) fresh=1 ;;
    --libraries | --fleet) groups+=("$argument") ;;
    --cache) echo "$cache"; exit ;;
    *) release=$argument ;;
  esac
done
suite=$("$tools/install_packages.sh" --suite "$release")
root=$roots/rocm$release
partial=$root.partial
for group in $("$tools/install_packages.sh" --groups); do
  [[ -n $fresh || ! -e $root/etc/rochound/$group || " ${groups[*]} " == *" --$group "* ]] || groups+=("--$group")
done
recipe=$("$tools/install_packages.sh" --recipe "$release" "${groups[@]}" | sha256sum | cut -c 1-16)

state() {
  if [[ ! -d $root ]]; then
    echo missing
  elif [[ $(cat "$root/etc/rochound/recipe" 2>/dev/null) != "$recipe" ]]; then
    echo outdated
  else
    echo ready
  fi
}

case $mode in
  path) echo "$root"; exit ;;
  state) state; exit ;;
esac

((EUID == 0)) || die "making a root needs root: run this as root, or with sudo"

# Runs a stage, says how long it took, and shows the end of its log when it fails. A subshell of its own, outside
# any condition: inside one, bash would not stop the stage at its first failing command.
stage() {
  local name=$1 log=$roots/rocm$release-$1.log start=$SECONDS status
  shift
  say "$name ... (log: $log)"
  set +e
  (set -e; "$@") >"$log" 2>&1 </dev/null
  status=$?
  set -e
  if ((status != 0)); then
    tail -n 25 "$log" >&2
    say "$name failed after $((SECONDS - start)) s; running the same command again goes on from here"
    ((status == 75)) || status=1
    exit $status
  fi
  say "$name took $((SECONDS - start)) s"
}

base() {
  rm -rf --one-file-system "$partial"
  mkdir -p "$partial"
  # The trimmed manuals and unsynced writes halve the time; a root that a power cut spoils can be made again.
  unshare --mount --propagation private -- mmdebstrap --mode=root --variant=minbase \
    --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Retries "3"' \
    --dpkgopt='force-unsafe-io' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --include=ca-certificates "$suite" "$partial" "deb $("$tools/apt_mirror.sh") $suite main" || return 75
  mkdir -p "$partial/etc/rochound"
  # No service is ever started in a root.
  printf '#!/bin/sh\nexit 101\n' >"$partial/usr/sbin/policy-rc.d"
  chmod +x "$partial/usr/sbin/policy-rc.d"
  touch "$partial/etc/rochound/base-complete"
}

packages() {
  rm -f "$1/etc/rochound/recipe"
  mkdir -p "$cache/packages/$suite"
  ROCHOUND_KEEP_DOWNLOADS=1 "$tools/enter_root.sh" "$1" --bind "$tools" \
    --bind "$cache/packages/$suite:/var/cache/apt/archives" -- "$tools/install_packages.sh" "$release" "${groups[@]}"
  echo "$recipe" >"$1/etc/rochound/recipe"
}

install_mmdebstrap() {
  apt-get -q update
  DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends mmdebstrap
}

mkdir -p "$roots"
exec 9>"$roots/rocm$release.lock"
if ! flock -n 9; then
  say "another run is working on rocm$release; waiting for it"
  flock 9
fi

start=$SECONDS
if [[ -n $fresh ]]; then
  say "removing $root"
  rm -rf --one-file-system "$root" "$partial"
fi
# A proxy that only apt was told about: the base stage's and the root's own apt hear of it this way.
eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
[[ -z ${http_proxy:-} ]] || export http_proxy
[[ -z ${https_proxy:-} ]] || export https_proxy
case $(state) in
  ready)
    say "rocm$release is ready: $root"
    exit
    ;;
  outdated)
    say "the package list has changed: bringing rocm$release up to date"
    stage packages packages "$root"
    ;;
  missing)
    say "making rocm$release from Debian $suite in $root (about $([[ " ${groups[*]} " == *" --libraries "* ]] && echo 10 || echo 3) GB)"
    command -v mmdebstrap >/dev/null || stage mmdebstrap install_mmdebstrap
    if [[ -e $partial/etc/rochound/base-complete ]]; then
      say "going on with the unfinished $partial"
    else
      stage base base
    fi
    stage packages packages "$partial"
    mv -T "$partial" "$root"
    ;;
esac
say "rocm$release is ready after $((SECONDS - start)) s, $(du -sh "$root" | cut -f 1): $root"
sed 's/^/root:   /' "$root/etc/rochound/versions" >&2
