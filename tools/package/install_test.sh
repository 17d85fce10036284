#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Installs packages as somebody would who has never seen rochound: in a Debian that was made a minute ago, without any
# development package, used by a normal user. Then removes them, and looks for what is left.
#
#   install_test.sh FOLDER       FOLDER has the .deb packages of `./dev package`
#
# Needs root, mmdebstrap and an archive. The new system is in $ROCHOUND_CACHE and is removed at the end.
set -euo pipefail

tools=$(cd "$(dirname "$0")/.." && pwd)
packages=$(realpath "$1")
cache=$("$tools/root.sh" --cache)
mkdir -p "$cache"
root=$(mktemp -d "$cache/install.XXXXXX")
trap 'rm -rf --one-file-system "$root"' EXIT
trap 'echo "install-deb: failed: $BASH_COMMAND" >&2' ERR

step() { echo "install-deb: $*" >&2; }
within() { "$tools/enter_root.sh" "$root" --bind "$packages:/packages" -- "$@"; }
# The user's own settings would hide what is missing in the system's.
as_user() {
  within env -i PATH=/usr/bin:/bin HOME=/home/stranger TERM=dumb LC_ALL=C.UTF-8 /usr/sbin/runuser -u stranger -- bash -euo pipefail -c "cd; $1"
}

eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
[[ -z ${http_proxy:-} ]] || export http_proxy
[[ -z ${https_proxy:-} ]] || export https_proxy
step "a new Debian"
unshare --mount --propagation private -- mmdebstrap --quiet --mode=root --variant=minbase --include=ca-certificates \
  --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Retries "3"' --dpkgopt='force-unsafe-io' \
  sid "$root" "deb $("$tools/apt_mirror.sh") sid main"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
echo "deb $("$tools/apt_mirror.sh") experimental main" >"$root/etc/apt/sources.list.d/experimental.list"
"$tools/install_packages.sh" --preferences 7 >"$root/etc/apt/preferences.d/rocm"
mkdir -p "$root/packages"
within useradd --create-home stranger
within apt-get -qq -o Acquire::Check-Valid-Until=false update

step "install"
within env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 install -y --no-install-recommends rocminfo \
  $(cd "$packages" && printf '/packages/%s ' *.deb) >/dev/null

program=/usr/lib/rochound/share/rochound/selftest/vector_add
step "use"
as_user "rochound --version"
as_user "rochound doctor" || (($? < 125))  # no GPU is an answer, too
as_user "rochound softgpu --gpu mi300x -- rocminfo | grep 'Name: *gfx942'"
as_user "rochound run --softgpu mi300x -o trace.rpd -- $program >/dev/null && rochound top trace.rpd && rochound report trace.rpd -o report.html && test -s report.html"
as_user "rochound capture --softgpu mi300x --kernel VectorAdd -o launch -- $program >/dev/null"
as_user "rochound softgpu --gpu mi300x -- rochound replay run launch"
as_user "rochound selftest --softgpu mi300x vector_add tiled_matmul"
within python3 -c 'import rochound' 2>/dev/null || within test ! -e /usr/bin/python3  # it is of use where Python is

step "remove"
within env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 purge -y 'rochound*' librochound-dev python3-rochound >/dev/null
left=$(find "$root" -xdev -iname '*rochound*' -not -path "$root/home/*" -not -path "$root/var/log/*" -not -path "$root/tmp/*")
if [[ -n $left ]]; then
  echo "left behind:"
  echo "$left"
  exit 1
fi
step "done"
