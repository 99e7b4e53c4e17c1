#!/bin/sh
# Prefetching changes no result, and compilers drop calls of functions that do nothing else. Fails if the machine code
# has fewer prefetch instructions than the engine has places that prefetch.
#     prefetches.sh SOURCE_DIR COMPILER...
set -eu
root=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rc=0
for compiler in "$@"; do
    for source in lines tiles; do
        "$compiler" -std=c11 -O2 -D_GNU_SOURCE -I"$root/include" -I"$root/src" -S "$root/src/common/engine/$source.c" \
            -o "$work/$source.s"
        places=$(grep -c '^[[:space:]].*\(prefetch_[a-z]*(.*);\)$' "$root/src/common/engine/$source.c")
        found=$(grep -c '^[[:space:]]*\(prefetch\|prfm\)' "$work/$source.s" || true)
        echo "$compiler: $source.c prefetches in $places places, and has $found instructions"
        [ "$found" -ge "$places" ] && [ "$places" -gt 0 ] || rc=1
    done
done
exit $rc
