#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Installs rochound as somebody would who has never seen it: in a new, minimal Debian without any development package, used
# by a normal user. Then removes it, and looks for what is left.
#
#   install_test.sh KIND FOLDER [SUITE...]
#
# KIND is deb, tarball, wheel or container, or all: everything that the suite can have. FOLDER has what `./dev package` made.
# Without a SUITE: all that KIND is for. At the end it prints a row for docs/installing.md for each. Needs root, mmdebstrap and an
# archive. container does the steps of containers/*.Dockerfile in such a Debian, without a container engine (recipe.py).
#
# A Debian is made once for each suite, with its ROCm, and kept in $ROCHOUND_CACHE/systems; each test has a copy. Remove the
# folder to have it made anew. KIND systems makes them and tests nothing.
set -eEuo pipefail

tools=$(cd "$(dirname "$0")/.." && pwd)
asked=$1
packages=$(realpath "$2")
shift 2
if (($# == 0)); then
  case $asked in
    deb) set -- forky sid ;;
    container) set -- trixie ;;
    *) set -- bullseye bookworm trixie forky sid ;;
  esac
fi
cache=$("$tools/root.sh" --cache)
mkdir -p "$cache"
root=
kind=$asked
version=$(cat "$tools/../VERSION")
trap '[[ -z $root ]] || rm -rf --one-file-system "$root"' EXIT
trap 'echo "install-$kind: failed: $BASH_COMMAND" >&2' ERR

step() { echo "install-$kind: $suite: $*" >&2; }
within() { "$tools/enter_root.sh" "$root" --bind "$packages:/packages" --bind "$cache/packages/$suite:/var/cache/apt/archives" -- "$@"; }
# The user's own settings would hide what is missing in the system's.
as_user() {
  within env -i PATH=/opt/rocm/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/home/stranger TERM=dumb LC_ALL=C.UTF-8 runuser -u stranger -- \
    bash -euo pipefail -c "cd; PATH=\"$folder/bin:\$PATH\"; $1"
}
apt_install() {
  within env DEBIAN_FRONTEND=noninteractive apt-get -qq -o APT::Keep-Downloaded-Packages=true -o Dpkg::Use-Pty=0 install -y \
    --no-install-recommends "$@" >/dev/null
}

# The newest HIP of the suite, as its programs need it: the runtime alone.
install_rocm() {
  local name
  name=$(within apt-cache pkgnames libamdhip64- | grep -E '^libamdhip64-[0-9]+$' | sort -V | tail -n 1) || true
  [[ -n $name ]] || return 0
  apt_install rocminfo "$name"
  rocm_version "$name" >"$root/etc/rocm-version"
}
rocm_version() { within dpkg-query -W -f '${Version}' "$1" | sed -E 's/^([0-9.]+).*/\1/'; }

# make_system FOLDER [--without-rocm]
make_system() {
  root=$1.partial
  step "a new Debian"
  rm -rf --one-file-system "$root"
  # Packages that an earlier run has downloaded are taken from the cache.
  unshare --mount --propagation private -- mmdebstrap --quiet --mode=root --variant=minbase --include=ca-certificates \
    --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Retries "3"' --aptopt='Acquire::Languages "none"' \
    --dpkgopt='force-unsafe-io' --skip=download/empty --skip=essential/unlink --skip=cleanup/apt/lists \
    --setup-hook="mkdir -p \"\$1\"/var/cache/apt/archives/; cp -al \"$cache/packages/$suite\"/*.deb \"\$1\"/var/cache/apt/archives/ 2>/dev/null || true" \
    --customize-hook="cp -aln \"\$1\"/var/cache/apt/archives/*.deb \"$cache/packages/$suite\"/ 2>/dev/null || true" \
    "$suite" "$root" "deb $("$tools/apt_mirror.sh") $suite main" 1>&2
  rm -f "$root"/var/cache/apt/archives/*.deb
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
  if [[ $suite == sid ]]; then
    echo "deb $("$tools/apt_mirror.sh") experimental main" >"$root/etc/apt/sources.list.d/experimental.list"
    "$tools/install_packages.sh" --preferences 7 >"$root/etc/apt/preferences.d/rocm"
    within apt-get -qq -o Acquire::Check-Valid-Until=false update
  fi
  mkdir -p "$root/packages"
  within useradd --create-home stranger
  [[ ${2:-} == --without-rocm ]] || install_rocm
  mv -T "$root" "$1"
  root=
}

# Moves the suite's ROCm to where AMD's packages have it: all under /opt/rocm-VERSION, beside another version, which cannot
# be loaded. The loader is told as AMD's guide says.
move_rocm_to_opt() {
  within bash -euo pipefail -c '
    shopt -s nullglob
    mkdir -p "/opt/rocm-$1/bin" "/opt/rocm-$1/lib" /opt/rocm-4.5.0/lib
    mv /usr/bin/rocm* "/opt/rocm-$1/bin"
    cd /usr/lib/x86_64-linux-gnu
    mv libamdhip64.so* libhsa-runtime64.so* libhsakmt.so* libamd_comgr.so* libhiprtc*.so* "/opt/rocm-$1/lib"
    echo "no library" | tee /opt/rocm-4.5.0/lib/{libamdhip64.so.4,libhsa-runtime64.so.1} >/dev/null
    ln -s "rocm-$1" /opt/rocm
    echo /opt/rocm/lib >/etc/ld.so.conf.d/rocm.conf
    ldconfig' - "$rocm"
}

# Does the recipe's steps, then this command as the recipe's user.
in_container() {
  "$tools/package/containers/recipe.py" "$tools/package/containers/${kind#container-}.Dockerfile" "$root" "$packages" \
    --bind "$cache/packages/$suite:/var/cache/apt/archives" -- "$@"
}

install_kind() {
  case $kind in
    deb)
      folder=/usr/lib/rochound
      # The self-test's programs are linked to the HIP of the Debian that they were built on.
      apt_install $(cd "$packages" && ls *.deb | if [[ $rocm == 7.* ]]; then cat; else grep -v '^rochound-selftest_'; fi | sed 's,^,/packages/,')
      ;;
    tarball)
      # Read-only, and in a folder with a space.
      folder="/home/stranger/a folder/rochound-$version-x86_64"
      as_user "mkdir 'a folder' && cd 'a folder' && tar -xzf '/packages/rochound-$version-x86_64.tar.gz' && chmod -R a-w ."
      ;;
    wheel)
      folder=/home/stranger/venv
      as_user "python3 -m venv venv && venv/bin/pip install --quiet --no-index /packages/rochound-$version-*.whl"
      ;;
    container-softgpu)
      folder=/opt/rochound
      in_container rochound softgpu --gpu mi300x -- rocminfo | grep 'Name: *gfx942'
      ;;
    container-amd)
      folder=/opt/rochound
      move_rocm_to_opt
      apt_install python3  # which AMD's images have
      in_container sh -c 'rochound doctor; python3 -c "import rochound; print(rochound.__version__)"' | grep -x "$version"
      ;;
  esac
}

# ROCr 5.2 lacks what a replay needs; that rochound says so is what is expected there.
replay_and_selftest() {
  local answer code=0
  answer=$(as_user "rochound softgpu --gpu $gpu -- rochound replay run launch 2>&1") || code=$?
  echo "$answer"
  if [[ $rocm == 5.2.* ]]; then
    ((code == 10))
    [[ $answer == *"replay on ROCm 6 or later"* ]]
    step "ROCm $rocm cannot replay, and rochound says so"
    replay=no
  else
    ((code == 0))
  fi
  answer=$(as_user "rochound selftest --folder '$1' --softgpu $gpu vector_add tiled_matmul")
  echo "$answer"
  if [[ $replay == no ]]; then
    [[ $answer == *"replayed: not possible here"* ]]
  else
    [[ $answer == *"replayed: same"* ]]
  fi
}

use() {
  local calls programs=$folder/share/rochound/selftest
  [[ $kind != wheel ]] || programs=$(as_user "python3 -c 'from rochound import command; print(command.HOME)'")/share/rochound/selftest
  if [[ $kind == deb && ! -d $root$programs ]]; then
    step "with the programs of the tarball"
    programs=/home/stranger/programs
    as_user "mkdir -p programs && tar -xzf '/packages/rochound-$version-x86_64.tar.gz' -C programs --strip-components 4 --wildcards '*/selftest/*'"
  fi
  as_user "rm -rf trace.rpd report.html launch"
  as_user "rochound --version | grep -F 'rochound $version'"
  as_user "rochound doctor" || (($? < 125))  # no GPU is an answer, too
  [[ -n $rocm ]] || return 0
  as_user "rochound softgpu --gpu $gpu -- rocminfo | grep 'Name: *gfx'"
  as_user "rochound run --softgpu $gpu -o trace.rpd -- '$programs/vector_add'"
  as_user "rochound report trace.rpd -o report.html && test -s report.html"
  if [[ $first_report == - ]]; then
    first_report=$((SECONDS - start))
    step "first report after $first_report s"
  fi
  as_user "rochound top trace.rpd"
  # Its program is not linked to HIP; it loads whichever is there.
  calls=$(as_user "rochound query trace.rpd \"select count(*) from api where apiName = 'hipMemcpy'\" --csv | tail -n 1")
  step "$calls calls of hipMemcpy"
  ((calls > 0))
  as_user "rochound capture --softgpu $gpu --kernel VectorAdd -o launch -- '$programs/vector_add' >/dev/null"
  replay_and_selftest "$programs"
}

# What lintian finds in the packages and their own overrides do not explain is an error.
check_packages() {
  apt_install lintian
  as_user "lintian --fail-on error,warning,info --display-info --show-overrides /packages/*.deb"
}

use_module() {
  as_user "python3 -c 'import rochound; assert rochound.__version__ == \"$version\"; rochound.Tracer().start()'"
  [[ -z $rocm ]] || as_user "python3 -c 'import rochound
trace = rochound.open(\"trace.rpd\")
assert trace.explain(\"idle\").tables
assert trace.query(\"select count(*) as n from rocpd_op\")[0][\"n\"] > 0
assert trace.query(\"select count(*) as n from rocpd_api\")[0][\"n\"] > 0'"
}

remove_kind() {
  local left
  case $kind in
    deb) within env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 purge -y 'rochound*' librochound-dev python3-rochound >/dev/null ;;
    tarball) as_user "chmod -R u+w 'a folder' && rm -rf 'a folder'" ;;
    wheel) as_user "pip uninstall --quiet -y rochound" ;;
    container-*) return ;;  # the image is removed as a whole
  esac
  # What the user made is the user's.
  left=$(find "$root" -xdev -iname '*rochound*' -not -path "$root/var/log/*" -not -path "$root/tmp/*" -not -path "$root/packages/*")
  if [[ -n $left ]]; then
    echo "left behind: $left"
    exit 1
  fi
}

kinds_of_suite() {
  if [[ $asked == systems ]]; then
    return
  elif [[ $asked == container ]]; then
    echo container-softgpu container-amd
  elif [[ $asked != all ]]; then
    echo "$asked"
  elif [[ $suite == @(forky|sid) ]]; then
    echo deb wheel tarball
  elif [[ $suite == trixie ]]; then
    echo wheel tarball container-softgpu container-amd
  else
    echo wheel tarball
  fi
}

# A proxy that only apt was told about.
eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
[[ -z ${http_proxy:-} ]] || export http_proxy
[[ -z ${https_proxy:-} ]] || export https_proxy
rows=()
mkdir -p "$cache/systems"
for suite; do
  kind=$asked folder=/usr system=$cache/systems/$suite
  mkdir -p "$cache/packages/$suite"
  [[ -d $system ]] || make_system "$system"
  rocm=
  if [[ -e $system/etc/rocm-version ]]; then
    rocm=$(cat "$system/etc/rocm-version")
  else
    step "no ROCm here: nothing to record"
  fi
  # A GPU that ROCm 5 knows.
  gpu=mi300x
  [[ $rocm != 5.* ]] || gpu=rx6800xt
  for kind in $(kinds_of_suite); do
    root=$(mktemp -d "$cache/systems/copy.XXXXXX")
    if [[ $kind == container-softgpu ]]; then
      [[ -d $system-slim ]] || { rmdir "$root"; make_system "$system-slim" --without-rocm; root=$(mktemp -d "$cache/systems/copy.XXXXXX"); }
      cp -a --reflink=auto "$system-slim/." "$root"
    else
      cp -a --reflink=auto "$system/." "$root"
    fi
    first_report=- layouts="Debian's" replay=yes
    [[ -n $rocm ]] || layouts=- replay=-
    [[ $kind != container-amd ]] || layouts="AMD's"
    [[ $kind != wheel ]] || apt_install python3-venv
    step "install"
    start=$SECONDS
    install_kind
    step "use"
    use
    [[ $kind != wheel ]] || use_module
    if [[ $kind == tarball && -n $rocm ]]; then
      step "use, with ROCm in /opt/rocm-$rocm"
      move_rocm_to_opt
      use
      layouts+=", AMD's"
    fi
    if [[ $kind == deb ]]; then
      step "lintian"
      check_packages
    fi
    step "remove"
    remove_kind
    rows+=("| $suite | $kind | ${rocm:-none} | $layouts | $replay | $first_report |")
    step "done"
    rm -rf --one-file-system "$root"
    root=
  done
done
printf '%s\n' "${rows[@]}"
