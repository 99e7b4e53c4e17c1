#!/bin/sh
# The exchange structure has the places of layout.c on each ABI that clang compiles for, and no hole.
#     layout.sh SOURCE_DIR CLANG
set -u
for target in x86_64-linux-gnu x86_64-windows-msvc aarch64-linux-gnu riscv64-linux-gnu powerpc64le-linux-gnu \
    i386-linux-gnu i686-windows-msvc armv7-linux-gnueabihf riscv32-linux-gnu wasm32-unknown-unknown; do
    "$2" --target="$target" -ffreestanding -std=c11 -Wall -Wextra -Wpadded -Werror -fsyntax-only -I"$1/include" \
        "$1/tests/checks/abi/layout.c" || { echo "FAILED: $target"; exit 1; }
done
