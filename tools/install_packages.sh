#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Installs what rochound is built and tested with into the Debian system it runs in: a root that tools/root.sh
# makes, or a container. Can be repeated after an interruption.
#
#   install_packages.sh 7|6|5           install everything for that ROCm release
#   install_packages.sh --suite 7|6|5   print the Debian suite that has the release
#   install_packages.sh --recipe 7|6|5  print what decides the result; a root is brought up to date when it changes
set -euo pipefail

tools=$(cd "$(dirname "$0")" && pwd)
versions_file=/etc/rochound/versions

suite_of() {
  case $1 in
    7) echo sid ;;      # with the ROCm packages of experimental
    6) echo forky ;;
    5) echo bookworm ;;
    *) echo "unknown ROCm release '$1': 7, 6 or 5" >&2; return 1 ;;
  esac
}

packages_of() {
  awk -v release="$1" '{ sub(/#.*/, "") } NF == 0 { next }
    { wanted = NF == 1; for (i = 2; i <= NF; i++) if ($i == release) wanted = 1; if (wanted) print $1 }' \
    "$tools/packages.txt"
}

# Taking everything from experimental breaks the system, so its packages are refused except ROCm's own, by name.
# Those stand at sid's own priority: the newer one wins, wherever ROCm 7 stands today.
preferences_of() {
  [[ $1 == 7 ]] || return 0
  cat <<'END'
Package: *
Pin: release a=experimental
Pin-Priority: 1

Package: hipcc rocminfo rocm-device-libs-* libamd-comgr* libamdhip64-* libhiprtc* libhsa-runtime* libroctx* librocprofiler-register-* librocprim-dev librocthrust-dev librocblas-dev librocblas5 rocm-opencl-icd
Pin: release a=experimental
Pin-Priority: 500
END
}

case ${1:-} in
  --suite) suite_of "$2"; exit ;;
  --recipe) suite_of "$2"; packages_of "$2"; preferences_of "$2"; exit ;;
esac
release=${1:?usage: install_packages.sh 7|6|5}
suite_of "$release" >/dev/null

export DEBIAN_FRONTEND=noninteractive
# Debian's testing suites are sometimes signed for too short a time.
apt=(apt-get -q -o Acquire::Retries=3 -o Acquire::Check-Valid-Until=false -o Dpkg::Use-Pty=0)

if [[ $release == 7 ]]; then
  echo "deb $("$tools/apt_mirror.sh") experimental main" >/etc/apt/sources.list.d/rochound-experimental.list
fi
preferences_of "$release" >/etc/apt/preferences.d/rochound

dpkg --configure -a
"${apt[@]}" update
llvm=$(apt-cache show --no-all-versions hipcc | grep -oE '\bclang-[0-9]+' | head -n 1 | grep -oE '[0-9]+')
mapfile -t packages < <(packages_of "$release" | sed "s/@LLVM@/$llvm/")
"${apt[@]}" install -y --no-install-recommends "${packages[@]}"
apt-get clean

# The compilers that the build cache depends on; also what `./dev root` reports.
mkdir -p "$(dirname "$versions_file")"
dpkg-query -W -f '${Status} ${Package} ${Version}\n' 'libhsa-runtime64-1' "libamdhip64-$release" hipcc 'rocm-device-libs*' \
  "clang-$llvm" g++ | sed -n 's/^install ok installed //p' >"$versions_file"
