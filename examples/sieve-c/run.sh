#!/bin/sh
# Compile sieve.c into a folder of its own and run it: sh run.sh LIMIT
set -eu
compiler=${CC:-cc}
if ! command -v "$compiler" >/dev/null; then
    echo "There is no C compiler called '$compiler': install one (apt-get install gcc libc6-dev), or name yours in CC." >&2
    exit 127
fi
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
"$compiler" -O2 -o "$built/sieve" sieve.c
"$built/sieve" "$1"
