#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Prints the address of the Debian archive that this machine's own apt settings use, so that no file of the
# project has to name one. ROCHOUND_MIRROR overrides it. Reads both of apt's notations:
#   Types: deb / URIs: ... / Suites: ...       (*.sources)
#   deb [options] URI suite component...       (*.list)
# An entry for security updates or for another vendor's packages is passed over.
set -euo pipefail

if [[ -n ${ROCHOUND_MIRROR:-} ]]; then
  echo "${ROCHOUND_MIRROR%/}"
  exit
fi

etc=${1:-/etc/apt}
shopt -s nullglob
mirror=$(
  {
    for file in "$etc"/sources.list.d/*.sources; do
      # One stanza per paragraph; print "URI suite" for each pair.
      awk 'BEGIN { RS = ""; FS = "\n" }
           { uris = suites = ""; off = 0
             for (i = 1; i <= NF; i++) {
               line = $i; sub(/^[^:]*:[ \t]*/, "", line)
               if ($i ~ /^URIs:/) uris = line
               if ($i ~ /^Suites:/) suites = line
               if ($i ~ /^Enabled:[ \t]*no/) off = 1 }
             if (off) next
             n = split(uris, u, /[ \t]+/); m = split(suites, s, /[ \t]+/)
             for (i = 1; i <= n; i++) for (j = 1; j <= m; j++) print u[i], s[j] }' "$file"
    done
    cat /dev/null "$etc"/sources.[l]ist "$etc"/sources.list.d/*.list |
      sed -nE 's/^deb[ \t]+(\[[^]]*\][ \t]*)?([^ \t]+)[ \t]+([^ \t]+).*/\2 \3/p'
  } | awk '$1 ~ /^https?:\/\// && $1 ~ /\/debian\/?$/ && $2 !~ /security/ { sub(/\/$/, "", $1); print $1; exit }'
)

if [[ -z $mirror ]]; then
  echo "no Debian archive found in $etc: set ROCHOUND_MIRROR to the address of one" >&2
  exit 1
fi
echo "$mirror"
