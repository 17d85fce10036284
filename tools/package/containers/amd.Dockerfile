# SPDX-License-Identifier: MIT
#
# rochound beside ROCm, PyTorch or vLLM of an image of AMD's. BASE is any of theirs:
#   ./dev package portable
#   docker build -f tools/package/containers/amd.Dockerfile --build-arg BASE=rocm/pytorch:latest -t rochound-pytorch build/packages
#   docker run --rm --device /dev/kfd --device /dev/dri --group-add video --group-add render --security-opt seccomp=unconfined \
#     rochound-pytorch rochound doctor
ARG BASE=rocm/dev-ubuntu-22.04:latest
FROM ${BASE}
ADD rochound-*-x86_64.tar.gz /opt
RUN ln -s /opt/rochound-*-x86_64 /opt/rochound && ln -s /opt/rochound/bin/rochound /usr/local/bin/rochound
# The module; the command is found on the PATH.
ENV PYTHONPATH=/opt/rochound/lib/python3/site-packages
