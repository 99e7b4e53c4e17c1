#!/bin/sh
# Each version of the exchange structure meets each other one: 0.2, 0.3, 1.0, 1.1 with a member more, 1.2 with it as well,
# 2.0. The headers are made of abi.h. The programs of all compilers run, with 64 and with 32 bits.
#     growth.sh SOURCE_DIR CLANG CC...
set -eu
include=$1/include/buffer_interface source=$1/tests/checks/abi/growth.c clang=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Version, and 1 if the structure has one member more.
make_header() {
    for folder in buffer_interface vendored; do
        mkdir -p "$work/$1/$folder"
        sed "s/^#define BI_ABI_VERSION 0x........u/#define BI_ABI_VERSION $1u/" "$include/abi.h" >"$work/$1/$folder/abi.h"
        cp "$include/check.h" "$work/$1/$folder/check.h"
        if [ "$2" ]; then
            sed -i 's|^\tuint8_t reserved; .*|&\n\tuint64_t later;|; s|0, 0, 0 }$|0, 0, 0, 0 }|' "$work/$1/$folder/abi.h"
            grep -q 'uint64_t later;' "$work/$1/$folder/abi.h" || exit 1
        fi
    done
}

# Version, 1 if the structure has one member more, compilers.
compile() {
    version=$1 flags="-std=c99 -Wall -Wextra -Wconversion -Wpedantic -Werror -I$work/$1 ${2:+-DHAS_LATER}"
    shift 2
    # shellcheck disable=SC2086
    for compiler; do
        "$compiler" $flags -DPRODUCER="produce_$version" -c "$source" -o "$work/$version/${compiler##*/}-producer.o"
        "$compiler" $flags -DCALLER="call_$version" -c "$source" -o "$work/$version/${compiler##*/}-caller.o"
    done
    for target in i386-linux-gnu armv7-linux-gnueabihf wasm32-unknown-unknown; do
        # shellcheck disable=SC2086
        "$clang" --target="$target" -ffreestanding $flags -DPRODUCER=produce -fsyntax-only "$source"
    done
}

versions="0x00000002 0x00000003 0x00010000 0x00010001 0x00010002 0x00020000"
for version in $versions; do
    case $version in 0x00010001 | 0x00010002) more=1 ;; *) more= ;; esac
    make_header "$version" "$more"
    compile "$version" "$more" "$@"
done

# Own size, 8 more, 8, above the maximum. The member that is later in 1.1 reads 77 from 1.1 and 1.2, 0 from 1.0.
for caller in $versions; do
    for producer in $versions; do
        result="refused refused refused refused "
        case $caller$producer in
            0x00000002"$caller" | 0x00000003"$caller" | 0x00020000"$caller" | 0x000100000x0001000?) result="ok ok refused refused " ;;
            0x0001000[12]0x00010000) result="ok 0 ok 0 refused refused " ;;
            0x0001000[12]0x0001000[12]) result="ok 77 ok 77 refused refused " ;;
        esac
        echo "$caller $producer $result"
    done
done >"$work/wanted"
for compiler; do
    # shellcheck disable=SC2059,SC2086
    "$compiler" -static -DVERSIONS="$(printf 'V(%s) ' $versions)" "$source" "$work"/*/"${compiler##*/}"-*.o -o "$work/program"
    "$work/program" >"$work/seen"
    diff "$work/wanted" "$work/seen"
done
