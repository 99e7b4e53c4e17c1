#!/bin/sh
# Compiles every public header alone: C99, C11 and C++17, every warning an error.
#     headers.sh SOURCE_DIR "C compilers" "C++ compilers" FOLDER_OF_CUDA_H FOLDER_OF_PYTHON_H
set -u
root=$1 cuda=$4 python=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0 compiled=0

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

for header in $(cd "$root/include" && find . -name '*.h' | sed 's|^\./||' | sort); do
    # Twice: the include guard works. The typedef keeps the unit from being empty.
    printf '#include "%s"\n#include "%s"\ntypedef int unit_is_not_empty;\n' "$header" "$header" >"$work/unit.c"
    cp "$work/unit.c" "$work/unit.cc"
    before=$compiled suffix=c
    for compiler in $2; do
        command -v "$compiler" >/dev/null || continue
        compile "$compiler" "$header" -std=c99 -Wstrict-prototypes
        compile "$compiler" "$header" -std=c11 -Wstrict-prototypes
    done
    [ "$compiled" -gt "$before" ] || { echo "FAILED: no C compiler for $header"; failed=$((failed + 1)); }
    before=$compiled suffix=cc
    for compiler in $3; do
        command -v "$compiler" >/dev/null || continue
        compile "$compiler" "$header" -std=c++17
    done
    [ "$compiled" -gt "$before" ] || { echo "FAILED: no C++ compiler for $header (Debian: g++)"; failed=$((failed + 1)); }
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
