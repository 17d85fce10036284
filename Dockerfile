# SPDX-License-Identifier: MIT
#
# The development environment as a container: Debian sid with ROCm 7, made by the same script as the roots of
# `./dev root`. This file could not be run where it was written (no container engine there); the script it calls is
# run by every `./dev root`.
#
#   docker build -t rochound .
#   docker run --rm -it rochound ./dev shell -- rochound softgpu --gpu mi300x -- rocminfo
#
# No device and no privilege is needed: the software GPU is an ordinary program.
FROM debian:sid

COPY tools/install_packages.sh tools/apt_mirror.sh tools/packages.txt /opt/rochound/
RUN /opt/rochound/install_packages.sh 7

# Tells ./dev that there is no root to enter.
ENV ROCHOUND_INSIDE=rocm7 LC_ALL=C.UTF-8

COPY . /src/rochound
WORKDIR /src/rochound
RUN ./dev build
CMD ["./dev", "shell"]
