#!/bin/sh
# SPDX-License-Identifier: MIT
#
# hipcc for the programs here, with program.h parsed beforehand: a compilation reads it and all that it includes once
# for the host and once per target, which is most of its time. Takes hipcc's arguments.
# ROCHOUND_HIPCC is the compiler, ROCHOUND_HEADERS the folder with LEVEL/TARGET.pch and LEVEL/host.pch.
for argument; do
  case $argument in
    -O?) level=${argument#-} ;;
    # The compiler cache wants to see the sources, not what was made of them.
    -E) exec "$ROCHOUND_HIPCC" "$@" ;;
  esac
done
for argument; do
  case $argument in
    --offload-arch=*)
      target=${argument#*=}
      set -- "$@" "-Xarch_$target" "-Wp,-include-pch,$ROCHOUND_HEADERS/$level/$target.pch"
      ;;
  esac
done
exec "$ROCHOUND_HIPCC" "$@" -Xarch_host "-Wp,-include-pch,$ROCHOUND_HEADERS/$level/host.pch"
