#!/bin/sh
# Our declarations compile against cuda.h as they are, with each compiler, and do not when one of them is changed.
#     broken.sh SOURCE_DIR CUDA_INCLUDE_DIR FOLDER_OF_CUDA_UNDECLARED_H "COMPILER ..."
set -u
source=$1 cuda=$2 made=$3 compilers=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
compilers_seen=0

compiles() { # COMPILER FILE
    "$1" -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$work" -I"$source/src" -I"$source/include" \
        -I"$source/tests/simulators/cuda_sim" -I"$made" -isystem "$cuda" "$source/tests/checks/cuda_types/$2.c" 2>"$work/messages"
}

fresh() {
    mkdir -p "$work/cuda"
    cp "$source/src/cuda/types.h" "$source/src/cuda/api.h" "$work/cuda"
    cp "$source/tests/simulators/cuda_driver/cuda_driver.h" "$source/tests/simulators/cuda_facts/newer.h" \
        "$source/tests/checks/cuda_types/cuda_types.h" "$work"
}

refused() { # COMPILER FILE HEADER SED_EXPRESSION
    fresh
    sed "$4" "$work/$3" >"$work/changed"
    if cmp -s "$work/changed" "$work/$3"; then
        echo "$4 changes nothing in $3"
        failed=1
    fi
    mv "$work/changed" "$work/$3"
    if compiles "$1" "$2" || ! grep -qi "assert" "$work/messages"; then
        echo "$1: $4 in $3 is not noticed by an assertion of $2.c"
        failed=1
    fi
}

for compiler in $compilers; do
    command -v "$compiler" >/dev/null || continue
    compilers_seen=$((compilers_seen + 1))
    fresh
    for file in values prototypes; do
        compiles "$compiler" $file || { cat "$work/messages"; failed=1; }
    done
    refused "$compiler" values cuda/types.h 's/ATTRIBUTE_MAX_PITCH, 11)/ATTRIBUTE_MAX_PITCH, 12)/'
    refused "$compiler" values cuda/types.h 's/X(ERROR_UNKNOWN, 999,/X(ERROR_UNKNOWN, 998,/'
    refused "$compiler" values cuda/types.h 's/^typedef int bi__cu_device;/typedef long bi__cu_device;/'
    refused "$compiler" values cuda/types.h 's/^typedef struct CUevent_st \*bi__cu_event;/typedef void *bi__cu_event;/'
    refused "$compiler" values cuda/types.h 's/size_t src_x, src_y;/size_t src_y, src_x;/'
    refused "$compiler" values cuda/types.h 's/size_t width, height, depth;/size_t width, height, depth, more;/'
    refused "$compiler" prototypes cuda/api.h 's/(bi__cu_device \* *device, int ordinal)/(bi__cu_device *device, unsigned ordinal)/'
    refused "$compiler" prototypes cuda/api.h 's/cuMemAlloc_v2, required/cuMemAlloc, required/'
    refused "$compiler" prototypes cuda/api.h 's/(unsigned \*mode)/(int *mode)/'
    refused "$compiler" prototypes cuda/api.h 's/const struct bi__cu_copy_2d \*copy/struct bi__cu_copy_2d *copy/'
    refused "$compiler" prototypes cuda_driver.h 's/cuCtxCreate_v2/cuCtxCreate_v4/'
    refused "$compiler" prototypes cuda_driver.h 's/(void \*exec, bi__cu_stream stream)/(void **exec, bi__cu_stream stream)/'
    refused "$compiler" prototypes cuda_driver.h 's/(uint64_t handle))/(uint32_t handle))/'
done
[ $compilers_seen -gt 0 ] || { echo "no compiler was found in: $compilers"; failed=1; }
exit $failed
