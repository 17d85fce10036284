#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Installs rochound as somebody would who has never seen it: in a Debian that was made a minute ago, without any
# development package, used by a normal user. Then removes it, and looks for what is left.
#
#   install_test.sh KIND FOLDER [SUITE...]
#
# KIND is deb, tarball or wheel; FOLDER has what `./dev package` made. Without a SUITE: all that KIND is for. At the end it
# prints a row for docs/installing.md per suite. Needs root, mmdebstrap and an archive. Each system is in $ROCHOUND_CACHE
# and is removed at the end; downloaded packages are kept there.
set -euo pipefail

tools=$(cd "$(dirname "$0")/.." && pwd)
kind=$1
packages=$(realpath "$2")
shift 2
if (($# == 0)); then
  if [[ $kind == deb ]]; then set -- forky sid; else set -- bullseye bookworm trixie forky sid; fi
fi
cache=$("$tools/root.sh" --cache)
mkdir -p "$cache"
root=
version=$(cat "$tools/../VERSION")
trap '[[ -z $root ]] || rm -rf --one-file-system "$root"' EXIT
trap 'echo "install-$kind: failed: $BASH_COMMAND" >&2' ERR

step() { echo "install-$kind: $suite: $*" >&2; }
within() { "$tools/enter_root.sh" "$root" --bind "$packages:/packages" --bind "$cache/packages/$suite:/var/cache/apt/archives" -- "$@"; }
# The user's own settings would hide what is missing in the system's.
as_user() {
  within env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/home/stranger TERM=dumb LC_ALL=C.UTF-8 runuser -u stranger -- \
    bash -euo pipefail -c "cd; PATH=\"$folder/bin:\$PATH\"; $1"
}
apt_install() {
  within env DEBIAN_FRONTEND=noninteractive apt-get -qq -o APT::Keep-Downloaded-Packages=true -o Dpkg::Use-Pty=0 install -y \
    --no-install-recommends "$@" >/dev/null
}

make_system() {
  root=$(mktemp -d "$cache/install.XXXXXX")
  mkdir -p "$cache/packages/$suite"
  step "a new Debian"
  # Packages that an earlier run has downloaded are taken from the cache.
  unshare --mount --propagation private -- mmdebstrap --quiet --mode=root --variant=minbase --include=ca-certificates \
    --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Retries "3"' --dpkgopt='force-unsafe-io' \
    --skip=download/empty --skip=essential/unlink \
    --setup-hook="mkdir -p \"\$1\"/var/cache/apt/archives/; cp -al \"$cache/packages/$suite\"/*.deb \"\$1\"/var/cache/apt/archives/ 2>/dev/null || true" \
    --customize-hook="cp -aln \"\$1\"/var/cache/apt/archives/*.deb \"$cache/packages/$suite\"/ 2>/dev/null || true" \
    "$suite" "$root" "deb $("$tools/apt_mirror.sh") $suite main" 1>&2
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
  if [[ $suite == sid ]]; then
    echo "deb $("$tools/apt_mirror.sh") experimental main" >"$root/etc/apt/sources.list.d/experimental.list"
    "$tools/install_packages.sh" --preferences 7 >"$root/etc/apt/preferences.d/rocm"
  fi
  mkdir -p "$root/packages"
  within useradd --create-home stranger
  within apt-get -qq -o Acquire::Check-Valid-Until=false update
}

# The newest HIP of the suite, as its programs need it: the runtime alone.
rocm_of_suite() {
  within apt-cache pkgnames libamdhip64- | grep -E '^libamdhip64-[0-9]+$' | sort -V | tail -n 1
}

use() {
  local program=$folder/share/rochound/selftest/vector_add
  as_user "rochound --version | grep -F 'rochound $version'"
  as_user "rochound doctor" || (($? < 125))  # no GPU is an answer, too
  if [[ -z $rocm ]]; then
    step "no ROCm here: nothing to record"
    return
  fi
  as_user "rochound softgpu --gpu $gpu -- rocminfo | grep 'Name: *gfx'"
  as_user "rochound run --softgpu $gpu -o trace.rpd -- '$program' >/dev/null && rochound top trace.rpd && rochound report trace.rpd -o report.html && test -s report.html"
  step "first report after $((SECONDS - start)) s"
  first_report=$((SECONDS - start))
  as_user "rochound capture --softgpu $gpu --kernel VectorAdd -o launch -- '$program' >/dev/null"
  as_user "rochound softgpu --gpu $gpu -- rochound replay run launch"
  as_user "rochound selftest --softgpu $gpu vector_add tiled_matmul"
}

# A proxy that only apt was told about.
eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
[[ -z ${http_proxy:-} ]] || export http_proxy
[[ -z ${https_proxy:-} ]] || export https_proxy
rows=()
for suite; do
  folder=/usr/lib/rochound gpu=mi300x first_report=- rocm=
  make_system
  rocm=$(rocm_of_suite || true)
  # The GPUs that the compiler of these releases knows.
  [[ $suite != bookworm ]] || gpu=rx6800xt
  [[ -z $rocm ]] || { step "$rocm"; apt_install rocminfo "$rocm"; }
  [[ $kind != wheel ]] || apt_install python3-venv
  step "install"
  start=$SECONDS
  case $kind in
    deb)
      apt_install $(cd "$packages" && printf '/packages/%s ' *.deb)
      ;;
    tarball)
      # Once in a folder with a space; the rest without, since the loader preloads nothing from there (the software GPU).
      unpacked=/home/stranger/rochound-$version-x86_64
      folder="/home/stranger/a folder"
      within env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin runuser -u stranger -- bash -euo pipefail -c \
        "tar -xzf '/packages/rochound-$version-x86_64.tar.gz' -C /home/stranger && mv '$unpacked' '$folder' && chmod -R a-w '$folder'/*"
      as_user "rochound --version && { rochound doctor || ((\$? < 125)); }"
      within mv "$folder" "$unpacked"
      folder=$unpacked
      ;;
    wheel)
      folder=/home/stranger/venv
      within env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/home/stranger runuser -u stranger -- bash -euo pipefail -c \
        "cd; python3 -m venv venv && venv/bin/pip install --quiet --no-index /packages/rochound-$version-*.whl"
      home=$(as_user "python3 -c 'from rochound import command; print(command.HOME)'")
      within ln -s "$home/share" "$folder/share"
      ;;
  esac
  step "use"
  use
  if [[ $kind == wheel ]]; then
    as_user "python3 -c 'import rochound; assert rochound.__version__ == \"$version\"; rochound.Tracer().start()'"
    [[ -z $rocm ]] || as_user "python3 -c 'import rochound
trace = rochound.open(\"trace.rpd\")
assert trace.explain(\"idle\").tables
assert trace.query(\"select count(*) as n from rocpd_api\")[0][\"n\"] > 0'"
  fi
  step "remove"
  case $kind in
    deb)
      within env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 purge -y 'rochound*' librochound-dev python3-rochound >/dev/null
      ;;
    tarball) within bash -c "chmod -R u+w '$folder' && rm -rf '$folder'" ;;
    wheel)
      within rm "$folder/share"
      as_user "pip uninstall --quiet -y rochound"
      left=$(find "$root$folder" -iname '*rochound*')
      [[ -z $left ]] || { echo "left behind: $left"; exit 1; }
      ;;
  esac
  # What the user made is the user's.
  left=$(find "$root" -xdev -iname '*rochound*' -not -path "$root/home/*" -not -path "$root/var/log/*" -not -path "$root/tmp/*" -not -path "$root/packages/*")
  if [[ -n $left ]]; then
    echo "left behind: $left"
    exit 1
  fi
  rows+=("| $suite | $kind | ${rocm:-none} | $first_report |")
  step "done"
  rm -rf --one-file-system "$root"
  root=
done
printf '%s\n' "${rows[@]}"
