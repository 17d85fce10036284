#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Installs what rochound is built and tested with into the Debian system it runs in: a root that tools/root.sh
# makes, or a container. Can be repeated after an interruption. Afterwards the system's manually installed packages
# are those of the list and those it had before the first run.
#
#   install_packages.sh 7|6|5 [--GROUP...]             install everything for that ROCm release
#   install_packages.sh --suite 7|6|5                  print the Debian suite that has the release
#   install_packages.sh --groups                       print the groups of rows that are installed only when asked for
#   install_packages.sh --recipe 7|6|5 [--GROUP...]    print what decides the result; a root is updated when it changes
#   install_packages.sh --preferences 7|6|5            print apt's preferences for the release
#   install_packages.sh --packages 7|6|5 [--GROUP...]  print the list's packages by their Debian names
#
# --libraries and --fleet add the rows of the list that are marked so. Exit code 75: the archive did not deliver.
# ROCHOUND_KEEP_DOWNLOADS=1 keeps downloaded packages in apt's cache. ROCHOUND_PACKAGES names another list.
set -euo pipefail

tools=$(cd "$(dirname "$0")" && pwd)
record=/etc/rochound
list=${ROCHOUND_PACKAGES:-$tools/packages.txt}

suite_of() {
  case $1 in
    7) echo sid ;;      # with the ROCm packages of experimental
    6) echo forky ;;
    5) echo bookworm ;;
    *) echo "unknown ROCm release '$1': 7, 6 or 5" >&2; return 1 ;;
  esac
}

groups="libraries fleet"

# packages_of RELEASE [--GROUP...]
packages_of() {
  local release=$1
  shift
  awk -v release="$release" -v groups="$groups" -v asked=" $* " '
    BEGIN { split(groups, names, " "); for (i in names) group[names[i]] = 1 }
    { sub(/#.*/, "") } NF == 0 { next }
    { named = wanted = 0
      for (i = 2; i <= NF; i++) {
        if ($i in group) { if (!index(asked, " --" $i " ")) next } else { named = 1; if ($i == release) wanted = 1 } }
      if (wanted || !named) print $1 }' "$list"
}

# The LLVM version that this release's hipcc depends on.
llvm_version() {
  apt-cache show --no-all-versions hipcc | grep -oE '\bclang-[0-9]+' | head -n 1 | grep -oE '[0-9]+'
}

# Taking everything from experimental breaks the system, so its packages are refused except ROCm's own, by name.
# Those are at sid's own priority: the newer one wins, wherever ROCm 7 is today.
preferences_of() {
  [[ $1 == 7 ]] || return 0
  cat <<'END'
Package: *
Pin: release a=experimental
Pin-Priority: 1

Package: hipcc rocminfo rocm-device-libs-* libamd-comgr* libamdhip64-* libhiprtc* libhsa-runtime* libroctx* librocprofiler-register-* librocprim-dev librocthrust-dev librocblas-dev librocblas5 librccl1 librccl-dev rocm-opencl-icd
Pin: release a=experimental
Pin-Priority: 500
END
}

case ${1:-} in
  --suite) suite_of "$2"; exit ;;
  --preferences) preferences_of "$2"; exit ;;
  --groups) echo "$groups"; exit ;;
  --recipe) suite_of "$2"; packages_of "${@:2}"; preferences_of "$2"; exit ;;
  --packages) packages_of "${@:2}" | sed "s/@LLVM@/$(llvm_version)/"; exit ;;
esac
release=${1:?usage: install_packages.sh 7|6|5 [--libraries] [--fleet]}
shift
suite_of "$release" >/dev/null

export DEBIAN_FRONTEND=noninteractive
# Debian's testing suites are sometimes signed for too short a time.
apt=(apt-get -q -o Acquire::Retries=3 -o Acquire::Check-Valid-Until=false -o Dpkg::Use-Pty=0)

mkdir -p "$record"
[[ -e $record/base-packages ]] || apt-mark showmanual >"$record/base-packages"

if [[ $release == 7 ]]; then
  echo "deb $("$tools/apt_mirror.sh") experimental main" >/etc/apt/sources.list.d/rochound-experimental.list
fi
preferences_of "$release" >/etc/apt/preferences.d/rochound

# apt asks a server for one package after the other and mostly waits for its answers, so the packages are fetched beside
# each other first. apt fetches what is missing afterwards, and says what went wrong.
fetch_side_by_side() {
  local folder=/var/cache/apt/archives
  mkdir -p "$folder/side-by-side"
  "${apt[@]}" -o Acquire::ForceHash=sha256 install -y --no-install-recommends --print-uris "$@" |
    sed -nE "s/^'([^']+)' ([^ ]+) [0-9]+ (SHA256:[0-9a-f]+)$/\1 \2 \3/p" |
    xargs -r -P 8 -n 3 bash -c '/usr/lib/apt/apt-helper -q -o Acquire::Retries=3 download-file "$2" "$1/side-by-side/$3" "$4" &&
      mv "$1/side-by-side/$3" "$1/$3"' - "$folder" >/dev/null || true
  rm -rf "$folder/side-by-side"
}

dpkg --configure -a
# An archive that is being updated answers with lists and packages that do not fit: ask it again for both.
for attempt in 1 2 3; do
  if "${apt[@]}" update; then
    llvm=$(llvm_version)
    mapfile -t packages < <(packages_of "$release" "$@" | sed "s/@LLVM@/$llvm/")
    fetch_side_by_side "${packages[@]}"
    ! "${apt[@]}" install -y --no-install-recommends --download-only "${packages[@]}" || break
  fi
  ((attempt < 3)) || { echo "the archive did not deliver the packages in 3 attempts" >&2; exit 75; }
  sleep 10
done
"${apt[@]}" install -y --no-install-recommends "${packages[@]}"
# What an older list named and this one does not.
apt-mark showmanual |
  { grep -vxF -f "$record/base-packages" -f <(printf "%s\n" "${packages[@]}") || true; } | xargs -r apt-mark auto
apt-mark manual "${packages[@]}" >/dev/null
"${apt[@]}" autoremove -y
if [[ -n ${ROCHOUND_KEEP_DOWNLOADS:-} ]]; then apt-get autoclean; else apt-get clean; fi

for group; do touch "$record/${group#--}"; done
# The compilers that the build cache depends on; also what `./dev root` reports.
dpkg-query -W -f '${Status} ${Package} ${Version}\n' 'libhsa-runtime64-1' "libamdhip64-$release" hipcc 'rocm-device-libs*' \
  "clang-$llvm" g++ | sed -n 's/^install ok installed //p' >"$record/versions"
