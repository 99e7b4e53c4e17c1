#!/bin/sh
# The shared library is linked to the C library and its parts, to no vendor's library, and has no search path.
#     needed.sh READELF LIBRARY
set -u
dynamic=$("$1" -d "$2") || exit 1
needed=$(printf '%s\n' "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
printf '%s\n' "$needed"
[ -n "$needed" ] || { echo "FAILED: readelf shows nothing that is needed"; exit 1; }
if printf '%s\n' "$needed" | grep -v -x -E '(libc|libm|libdl|libpthread)\.so\.[0-9]+|ld-linux.*'; then
    echo "FAILED: the libraries above may not be linked"
    exit 1
fi
if printf '%s\n' "$dynamic" | grep -E 'RPATH|RUNPATH|TEXTREL'; then
    echo "FAILED: the entries above may not be there"
    exit 1
fi
