#!/bin/sh
# Modules that were compiled with abi.h alone need nothing of the library.
#     alone.sh NM MODULE...
set -u
nm=$1
shift
for module; do
    undefined=$("$nm" -D --undefined-only "$module") || exit 1
    if printf '%s\n' "$undefined" | grep -w -E 'bi_[A-Za-z0-9_]*'; then
        echo "FAILED: $module needs the names above"
        exit 1
    fi
done
