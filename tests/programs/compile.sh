#!/bin/sh
# SPDX-License-Identifier: MIT
#
# hipcc for the programs here, with program.h parsed beforehand: a compilation reads it and all that it includes once
# for the host and once per target, which is most of its time. Takes hipcc's arguments.
# ROCHOUND_HIPCC is the compiler, ROCHOUND_HEADERS the folder with LEVEL/TARGET.pch and LEVEL/host.pch.
#
# -MD -MF FILE is for the compiler cache (its depend mode): FILE lists the headers of this folder. Then the cache does not
# preprocess the source for each target first, which took a third of the time of a compilation. Headers of packages are
# not in FILE; the cache is told the packages' versions.
folder=$(dirname "$0")
file=
for argument; do
  shift
  case $argument in
    -MD) continue ;;
    -MF) file=next; continue ;;
    -O?) level=${argument#-} ;;
    # Without depend mode the cache wants to see the sources, not what was made of them.
    -E) exec "$ROCHOUND_HIPCC" "$@" -E ;;
    *.hip) source=$argument ;;
    *.o) object=$argument ;;
  esac
  [ "$file" != next ] || { file=$argument; continue; }
  set -- "$@" "$argument"
done
for argument; do
  case $argument in
    --offload-arch=*)
      target=${argument#*=}
      set -- "$@" "-Xarch_$target" "-Wp,-include-pch,$ROCHOUND_HEADERS/$level/$target.pch"
      ;;
  esac
done
[ -z "$file" ] || echo "$object: $source" "$folder"/*.h "$folder"/faults/*.h > "$file"
exec "$ROCHOUND_HIPCC" "$@" -Xarch_host "-Wp,-include-pch,$ROCHOUND_HEADERS/$level/host.pch"
