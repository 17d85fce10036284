# SPDX-License-Identifier: MIT
#
# rochound with the software GPU and Debian's ROCm, for machines without an AMD GPU:
#   ./dev package portable
#   docker build -f tools/package/containers/softgpu.Dockerfile -t rochound-softgpu build/packages
#   docker run --rm rochound-softgpu rochound softgpu --gpu mi300x -- rocminfo
FROM debian:trixie-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends rocminfo '^libamdhip64-[0-9]+$' \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home user
ADD rochound-*-x86_64.tar.gz /opt
RUN ln -s /opt/rochound-*-x86_64 /opt/rochound && ln -s /opt/rochound/bin/rochound /usr/local/bin/rochound
USER user
WORKDIR /home/user
CMD ["rochound", "--help"]
