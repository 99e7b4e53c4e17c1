#!/bin/sh
# Compiles every public header alone: C99, C11, C++11 and C++20, every warning an error. kernel.h is refused in C++.
# The headers and the macros (uses.cc) give no warning in C++ programs that are strict about casts and null.
# Then compiles uses of kernel.h that must be refused with a clear first error, and one that must not (kernels.c).
#     headers.sh SOURCE_DIR "C compilers" "C++ compilers" FOLDER_OF_CUDA_H FOLDER_OF_PYTHON_H
set -u
root=$1 cuda=$4 python=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0 compiled=0
name=a23456789012345678901234567890123456789 # of 39 characters

compile() {     # compiler, header, options...
    compiler=$1 header=$2
    shift 2
    if "$compiler" "$@" -I"$root/include" -isystem "$cuda" -isystem "$python" -Wall -Wextra -Wpedantic -Wundef -Wshadow -Wconversion -Werror \
        -fsyntax-only "$work/unit.${suffix}"; then
        compiled=$((compiled + 1))
    else
        echo "FAILED: $compiler $* $header"
        failed=$((failed + 1))
    fi
}

refuse() {      # compiler, source, words of the first error, options...
    compiler=$1 source=$2 words=$3
    shift 3
    if "$compiler" "$@" -I"$root/include" -fsyntax-only "$source" >"$work/errors" 2>&1; then
        echo "FAILED: $compiler $* accepts $source"
        failed=$((failed + 1))
    elif ! grep error "$work/errors" | head -n 1 | grep -q "$words"; then
        echo "FAILED: $compiler $* $source: '$words' is not the first error:"
        cat "$work/errors"
        failed=$((failed + 1))
    else
        compiled=$((compiled + 1))
    fi
}

for header in $(cd "$root/include" && find . -name '*.h' | sed 's|^\./||' | sort); do
    # Twice: the include guard works. The typedef keeps the unit from being empty.
    printf '#include "%s"\n#include "%s"\ntypedef int unit_is_not_empty;\n' "$header" "$header" >"$work/unit.c"
    cp "$work/unit.c" "$work/unit.cc"
    before=$compiled suffix=c
    for compiler in $2; do
        command -v "$compiler" >/dev/null || continue
        compile "$compiler" "$header" -std=c99 -Wstrict-prototypes -Wbad-function-cast
        compile "$compiler" "$header" -std=c11 -Wstrict-prototypes -Wbad-function-cast
    done
    [ "$compiled" -gt "$before" ] || { echo "FAILED: no C compiler for $header"; failed=$((failed + 1)); }
    before=$compiled suffix=cc
    for compiler in $3; do
        command -v "$compiler" >/dev/null || continue
        strict="-Wold-style-cast -Wzero-as-null-pointer-constant"
        "$compiler" --version | grep -q clang || strict="$strict -Wuseless-cast"
        if [ "$header" = buffer_interface/kernel.h ]; then
            refuse "$compiler" "$work/unit.cc" "Host kernels are compiled as C11" -std=c++17
        else
            compile "$compiler" "$header" -std=c++11 $strict
            compile "$compiler" "$header" -std=c++20 $strict
        fi
    done
    [ "$compiled" -gt "$before" ] || { echo "FAILED: no C++ compiler for $header (Debian: g++)"; failed=$((failed + 1)); }
done

# Every macro, and every header of no vendor, in a C++ program. The C headers of vendors have macros of their own.
cp "$root/tests/checks/abi/uses.cc" "$work/unit.cc"
suffix=cc
for compiler in $3; do
    command -v "$compiler" >/dev/null || continue
    compile "$compiler" tests/checks/abi/uses.cc -std=c++17 -Wold-style-cast -Wzero-as-null-pointer-constant
done

# Kernels.
kernels=$root/tests/checks/abi/kernels.c
for compiler in $2; do
    command -v "$compiler" >/dev/null || continue
    cp "$kernels" "$work/unit.c"
    suffix=c
    compile "$compiler" tests/checks/abi/kernels.c -std=c11 -Wcast-qual -Wcast-align -DNAME="$name"
    refuse "$compiler" "$kernels" "a_kernel_has_at_most_32_parameters" -std=c11 -DMORE=,ONE
    refuse "$compiler" "$kernels" "a_kernel_has_at_most_32_parameters" -std=c11 -DMORE=,EIGHT
    refuse "$compiler" "$kernels" "$name has a name of more than 39" -std=c11 -DNAME="a$name"
done

# Where the members of the exchange structure are.
for compiler in $2; do
    command -v "$compiler" >/dev/null || continue
    cp "$root/tests/checks/abi/layout.c" "$work/unit.c"
    suffix=c
    compile "$compiler" tests/checks/abi/layout.c -std=c11
done

echo "$compiled compilations passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$compiled" -gt 0 ]
