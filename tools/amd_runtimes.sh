#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Builds ROCr and HIP 6.4.3 the way AMD builds them: with rocprofiler-register, which Debian leaves out, and in AMD's
# place, /opt/rocm-6.4.3. `./dev root --amd` calls it. In ahead/lib there they are once more, as if of a release that is newer than
# rochound (amd_ahead.py says how).
#
#   amd_runtimes.sh [--fresh]   make or bring up to date; takes about 12 minutes on two cores
#   amd_runtimes.sh --path      print where they are kept; `./dev` mounts that at /opt/rocm-6.4.3
#   amd_runtimes.sh --state     print missing, outdated or ready
#
# The sources are Debian's own source packages. They are built in the root for ROCm 7, whose librocprofiler-register
# they use. That root is not changed: an overlay takes what is installed for the build, and is removed afterwards.
# Exit code 75: the archive did not deliver.
set -euo pipefail

version=6.4.3
place=/opt/rocm-$version
# File in the archive's pool, SHA-256. HIP's headers are in a third file of the source package, which the archive
# no longer has; the development package has them, too.
sources=(
  "r/rocr-runtime/rocr-runtime_6.4.3+dfsg.orig.tar.xz 1a19936c406071cd3e8868ef5263415568327137c96bcbb9452af331a9dfe46f"
  "r/rocm-hipamd/rocm-hipamd_6.4.3.orig.tar.gz aa7c9d9d7da3b5fc944b17ca7c032e8924a8dc327ec79eb8cb7f0c9df6fa76dc"
  "r/rocm-hipamd/rocm-hipamd_6.4.3-5.debian.tar.xz c5fda2daaf8229fda9dbc65ed9d40ac8100f5d676f5fb9b84f237289681d65d9"
)
packages=(xz-utils libnuma-dev xxd pkg-config patch mesa-common-dev libgl-dev)

tools=$(cd "$(dirname "$0")" && pwd)
say() { echo "amd: $*" >&2; }
die() { say "$*"; exit 1; }

# --- in the root, with an overlay above it: everything below this folder
build_inside() {
  local work=$1 llvm jobs
  jobs=$(nproc)
  export DEBIAN_FRONTEND=noninteractive
  llvm=$(ls -d /usr/lib/llvm-*/lib/cmake/llvm | sort -V | tail -n 1)
  llvm=${llvm%/lib/cmake/llvm}

  local apt=(apt-get -q -o Acquire::Retries=3 -o Acquire::Check-Valid-Until=false -o Dpkg::Use-Pty=0)
  cd "$work"
  mkdir -p downloads
  if [[ ! -e packages-complete ]]; then
    "${apt[@]}" update || exit 75
    "${apt[@]}" install -y --no-install-recommends "${packages[@]}" "libclang-${llvm##*-}-dev" || exit 75
    touch packages-complete
  fi
  local row file hash name
  for row in "${sources[@]}"; do
    read -r file hash <<<"$row"
    name=downloads/${file##*/}
    echo "$hash  $name" | sha256sum --check --status 2>/dev/null ||
      /usr/lib/apt/apt-helper download-file "$MIRROR/pool/main/$file" "$name" "SHA256:$hash" || exit 75
  done
  if ! ls downloads/libamdhip64-dev_${version}-*.deb >/dev/null 2>&1; then
    name=$(apt-cache madison libamdhip64-dev | awk -v want="^${version}-" '$3 ~ want { print $3; exit }')
    [[ -n $name ]] || { echo "no libamdhip64-dev $version in the archive" >&2; exit 75; }
    (cd downloads && apt-get -q -o APT::Sandbox::User=root download "libamdhip64-dev=$name") || exit 75
  fi

  local common_options=(-G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_POLICY_VERSION_MINIMUM=3.5
    "-DCMAKE_INSTALL_PREFIX=$place" -DCMAKE_INSTALL_LIBDIR=lib "-DCMAKE_INSTALL_RPATH=\$ORIGIN"
    "-DCMAKE_CXX_FLAGS=-include cstdint -w" "-DLLVM_DIR=$llvm/lib/cmake/llvm" "-DClang_DIR=$llvm/lib/cmake/clang")
  [[ -e rocr-complete ]] || build_rocr
  [[ -e hip-complete ]] || build_hip
  build_ahead
}

build_rocr() {
  rm -rf rocr
  mkdir rocr
  tar xf downloads/rocr-runtime_* -C rocr --strip-components=1
  # Clang no longer knows the early MI300 targets, and g++ no longer includes <cstdint> by the way.
  sed -i 's/gfx940;gfx941;gfx942/gfx942/' rocr/runtime/hsa-runtime/image/blit_src/CMakeLists.txt
  sed -i 's/gfx94[01]/gfx942/g' rocr/runtime/hsa-runtime/core/runtime/{blit_shaders,trap_handler}/CMakeLists.txt
  sed -i 's/ocl_blit_object_gfx94[01]/ocl_blit_object_gfx942/' rocr/runtime/hsa-runtime/image/blit_kernel.cpp
  cmake -S rocr -B rocr/build "${common_options[@]}" -DBUILD_SHARED_LIBS=ON
  ninja -C rocr/build -j "$jobs"
  install_rocr made
  touch rocr-complete
}

install_rocr() {
  DESTDIR=$work/$1 ninja -C rocr/build install
  # HIP is built against this ROCr.
  mkdir -p "$place"
  cp -a "$1$place/." "$place/"
}

build_hip() {
  local name
  rm -rf hip headers common
  mkdir hip headers common
  tar xf downloads/rocm-hipamd_*.orig.tar.gz -C hip --strip-components=1
  tar xf downloads/rocm-hipamd_*.debian.tar.xz -C hip
  dpkg -x downloads/libamdhip64-dev_*.deb headers

  # What Debian's patches want to change and this build does not have is passed over.
  local patch library
  while read -r patch; do
    if patch -d hip -p1 --dry-run -s -f <"hip/debian/patches/$patch" >/dev/null 2>&1; then
      patch -d hip -p1 -s -f <"hip/debian/patches/$patch"
    else
      echo "not applied: $patch"
    fi
  done <hip/debian/patches/series
  mkdir -p common/include common/bin common/cmake
  cp -r headers/usr/include/hip common/include/
  rm -rf common/include/hip/amd_detail common/include/hip/hip_version.h
  printf '6\n4\n43484\n' >common/VERSION
  : >common/hip-lang-config.cmake.in
  cmake -S hip -B hip/build "${common_options[@]}" "-DCMAKE_PREFIX_PATH=$place" -DHIP_COMMON_DIR="$work/common" \
    -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON -DCLR_BUILD_HIP=ON -DCLR_BUILD_OCL=OFF -DHIP_PLATFORM=amd -DHIPCC_BIN_DIR=/usr/bin -DUSE_PROF_API=OFF \
    -D__HIP_ENABLE_PCH=OFF -DHIP_ENABLE_ROCPROFILER_REGISTER=ON "-Dclang=$llvm/bin/clang"
  ninja -C hip/build -j "$jobs" amdhip64
  # Only the library: what its install rules also want was not built.
  cp -a hip/build/hipamd/lib/libamdhip64.so* "made$place/lib/"
  cp -r headers/usr/include/hip "made$place/include/"
  mkdir -p "made$place/.info"
  echo "$version" >"made$place/.info/version"
  for library in libhsa-runtime64.so.1 libamdhip64.so.6; do
    readelf -d "made$place/lib/$library" | grep -q 'NEEDED.*librocprofiler-register' ||
      { echo "$library was built without rocprofiler-register" >&2; exit 1; }
  done
  touch hip-complete
}

# The same builds go on with changed sources.
build_ahead() {
  local part library file
  for part in rocr hip; do
    [[ -e $part-changed ]] || python3 -B "$tools/amd_ahead.py" $part $part
    touch $part-changed
  done
  ninja -C rocr/build -j "$jobs"
  install_rocr made-ahead
  # Configuring writes a header anew, as it was: nothing has to be compiled for that.
  cmake hip/build
  touch -d @0 hip/build/hipamd/include/hip/hip_version.h
  ninja -C hip/build -j "$jobs" amdhip64
  mkdir -p "made$place/ahead/lib"
  # Each with the file name that tells its version.
  for library in "made-ahead$place/lib/libhsa-runtime64.so.1" hip/build/hipamd/lib/libamdhip64.so.6; do
    file=$(readlink -f "$library")
    cp "$file" "made$place/ahead/lib/"
    ln -sf "${file##*/}" "made$place/ahead/lib/${library##*/}"
  done
}

if [[ ${1:-} == --inside ]]; then
  build_inside "$2"
  exit
fi

cache=$("$tools/root.sh" --cache)
root=$("$tools/root.sh" --path 7)
kept=$cache/amd/rocm-$version
recipe=$({ cat "$0" "$tools/amd_ahead.py"; grep -vE '^(clang|g\+\+)' "$root/etc/rochound/versions" 2>/dev/null; } | sha256sum | cut -c 1-16)
state() {
  if [[ ! -e $kept/lib/libamdhip64.so.6 ]]; then
    echo missing
  elif [[ $(cat "$kept/.info/recipe" 2>/dev/null) != "$recipe" ]]; then
    echo outdated
  else
    echo ready
  fi
}

case ${1:-} in
  --path) echo "$kept"; exit ;;
  --state) state; exit ;;
  --fresh) rm -rf --one-file-system "$kept" "$cache/amd/work" ;;
  --overlay) ;;
  '') ;;
  *) die "unknown option $1" ;;
esac

# --- in a mount namespace of its own: the overlay, and in it the build
if [[ ${1:-} == --overlay ]]; then
  work=$2
  mkdir -p "$work"/{above,index,seen,files}
  mount -t overlay overlay -o "lowerdir=$root,upperdir=$work/above,workdir=$work/index" "$work/seen"
  MIRROR=$("$tools/apt_mirror.sh")
  export MIRROR
  mkdir -p "$cache/packages/sid" "$cache/amd/downloads" "$work/files/downloads"
  exec "$tools/enter_root.sh" "$work/seen" --bind "$tools" --bind "$work/files:/var/amd" \
    --bind "$cache/amd/downloads:/var/amd/downloads" --bind "$cache/packages/sid:/var/cache/apt/archives" -- \
    "$tools/amd_runtimes.sh" --inside /var/amd
fi

((EUID == 0)) || die "this needs root: run it as root, or with sudo"
[[ -e $root/etc/rochound/versions ]] || die "the root for ROCm 7 is missing: run ./dev root first"
mkdir -p "$cache/amd"
exec 9>"$cache/amd/lock"
flock -n 9 || { say "another run is working on them; waiting for it"; flock 9; }
if [[ $(state) == ready ]]; then
  say "ROCr and HIP $version are ready: $kept"
  exit
fi
# As tools/root.sh does: a proxy that only apt was told about.
eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
[[ -z ${http_proxy:-} ]] || export http_proxy
[[ -z ${https_proxy:-} ]] || export https_proxy
start=$SECONDS
log=$cache/amd/build.log
work=$cache/amd/work
say "building ROCr and HIP $version with rocprofiler-register ... (log: $log)"
status=0
unshare --mount --propagation private -- "$0" --overlay "$work" >"$log" 2>&1 </dev/null || status=$?
if ((status != 0)); then
  tail -n 25 "$log" >&2
  say "failed after $((SECONDS - start)) s; running the same command again goes on from here"
  ((status == 75)) || status=1
  exit $status
fi
rm -rf "$kept"
mv -T "$work/files/made$place" "$kept"
echo "$recipe" >"$kept/.info/recipe"
rm -rf --one-file-system "$work"
say "ready after $((SECONDS - start)) s, $(du -sh "$kept" | cut -f 1): $kept"
