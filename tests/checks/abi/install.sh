#!/bin/sh
# Installs into a new prefix, moves it, and builds a program on it twice: pkg-config, and find_package.
#     install.sh CMAKE BUILD_DIR CONSUMER_DIR CC
set -eu
cmake=$1 build=$2 consumer=$3 cc=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/prefix"
prefix=$work/prefix
expected=$(sed -n 's/^#define BI_VERSION_STRING "\(.*\)"/\1/p' "$prefix/include/buffer_interface.h")

expect() {      # what, output
    if [ "$2" != "$expected" ]; then
        echo "FAILED: $1 says '$2' instead of '$expected'"
        exit 1
    fi
    echo "$1: $2"
}

# The manifest is there, with its schema.
for file in api.json api.schema.json; do
    [ -s "$prefix/share/buffer_interface/$file" ] || { echo "FAILED: $file is not installed"; exit 1; }
done

# The command runs from where it was installed, without any environment.
"$prefix/bin/bi" --version
"$prefix/bin/bi" devices >/dev/null

pc=$(find "$prefix" -name bufferinterface.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir bufferinterface)
# shellcheck disable=SC2046
"$cc" -std=c11 "$consumer/main.c" -o "$work/by_pkg_config" $(pkg-config --cflags --libs bufferinterface) \
    -Wl,-rpath,"$libdir"
expect "pkg-config, version" "$(pkg-config --modversion bufferinterface)"
expect "pkg-config, shared library" "$("$work/by_pkg_config")"
# shellcheck disable=SC2046
"$cc" -std=c11 "$consumer/main.c" -o "$work/by_pkg_config_static" $(pkg-config --cflags bufferinterface) \
    "$(find "$prefix" -name libbufferinterface.a)" -lpthread -ldl
expect "static library" "$("$work/by_pkg_config_static")"
unset PKG_CONFIG_PATH

"$cmake" -S "$consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >"$work/configure.log"
"$cmake" --build "$work/build" >"$work/build.log"
expect "find_package, shared library" "$("$work/build/shared")"
expect "find_package, static library" "$("$work/build/static")"
