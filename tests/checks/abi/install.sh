#!/bin/sh
# Installs into a new prefix, moves it, and builds a program on it: pkg-config, and find_package, with the static library
# and without it. Then configures the library for folders outside of the prefix and for /usr, installs its two components
# one by one, and builds and installs it as a part of another project.
#     install.sh CMAKE BUILD_DIR CONSUMER_DIR CC SOURCE_DIR
set -eu
cmake=$1 build=$2 consumer=$3 cc=$4 source=$5
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
"$cc" -std=c11 -O2 -Wall -Wextra -Werror "$consumer/main.c" -o "$work/by_pkg_config_static" $(pkg-config --cflags bufferinterface) \
    "$(find "$prefix" -name libbufferinterface.a)" -lpthread -ldl
expect "static library" "$("$work/by_pkg_config_static")"
unset PKG_CONFIG_PATH

"$cmake" -S "$consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >"$work/configure.log"
"$cmake" --build "$work/build" >"$work/build.log"
expect "find_package, shared library" "$("$work/build/shared")"
expect "find_package, static library" "$("$work/build/static")"

# Packages of distributions have no static library.
cp -R "$prefix" "$work/dynamic"
find "$work/dynamic" -name '*.a' -exec rm {} +
mkdir "$work/user"
sed '/static/d' "$consumer/CMakeLists.txt" >"$work/user/CMakeLists.txt"
cp "$consumer/main.c" "$work/user"
"$cmake" -S "$work/user" -B "$work/on_dynamic" -DCMAKE_PREFIX_PATH="$work/dynamic" -DCMAKE_C_COMPILER="$cc" >"$work/dynamic.log"
"$cmake" --build "$work/on_dynamic" >"$work/dynamic.build.log"
expect "find_package, shared library alone" "$("$work/on_dynamic/shared")"

must() {        # words, file
    grep -qF -e "$1" "$2" || { echo "FAILED: $2 has no line with '$1'"; exit 1; }
}

# The man page has the help of the command and of its commands.
must 'bi \- Arrays in host' "$prefix/share/man/man1/bi.1"
must '.SH "bi check"' "$prefix/share/man/man1/bi.1"
must '  \-\-slice INDEX         take array[INDEX], NumPy\(aqs' "$prefix/share/man/man1/bi.1"

must_not() {
    if grep -qF -e "$1" "$2"; then
        echo "FAILED: $2 has a line with '$1'"
        exit 1
    fi
}

"$cmake" -S "$source" -B "$work/absolute" -DBI_TESTS=OFF -DBI_EXAMPLES=OFF -DCMAKE_C_COMPILER="$cc" -DCMAKE_INSTALL_PREFIX=/opt/p \
    -DCMAKE_INSTALL_LIBDIR=/opt/p/lib64 -DCMAKE_INSTALL_INCLUDEDIR=/opt/include >"$work/absolute.log"
must 'prefix=${pcfiledir}/../..' "$work/absolute/bufferinterface.pc"
must 'libdir=/opt/p/lib64' "$work/absolute/bufferinterface.pc"
must 'includedir=/opt/include' "$work/absolute/bufferinterface.pc"
must '$ORIGIN/../lib64' "$work/absolute/cmake_install.cmake"

# In /usr, pkg-config leaves out the folders of the system. It would not recognise them as a path from the file's own.
"$cmake" -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=lib/any -DCMAKE_INSTALL_INCLUDEDIR=include "$work/absolute" \
    >"$work/usr.log"
said=$(PKG_CONFIG_SYSTEM_LIBRARY_PATH=/usr/lib/any pkg-config --cflags --libs "$work/absolute/bufferinterface.pc")
[ "${said% }" = -lbufferinterface ] || { echo "FAILED: pkg-config says '$said' in /usr"; exit 1; }

# The command does not contain the folder that it was built in: builds in two folders are equal.
readelf -d "$build/bi" >"$work/bi.log"
must '$ORIGIN' "$work/bi.log"
must_not "$build" "$work/bi.log"

# The runtime alone, and the development files beside it.
"$cmake" --install "$build" --prefix "$work/components" --component BufferInterface_Runtime >"$work/runtime.log"
"$work/components/bin/bi" --version
must 'README.md' "$work/runtime.log"
for file in buffer_interface.h libbufferinterface.a bufferinterface.pc BufferInterfaceConfig.cmake api.json \
    /libbufferinterface.so$; do
    if grep -q "$file" "$work/runtime.log"; then
        echo "FAILED: the runtime has $file"
        exit 1
    fi
done
"$cmake" --install "$build" --prefix "$work/components" --component BufferInterface_Development >"$work/development.log"
must_not 'libbufferinterface.so.' "$work/development.log"
if ! diff -r "$prefix" "$work/components"; then
    echo "FAILED: the two components are not the whole installation"
    exit 1
fi

# Another project, with targets and rules of its own: C90, no build type, one file for many, warnings of every file.
mkdir "$work/parent"
cp "$consumer/main.c" "$work/parent"
cat >"$work/parent/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(parent C)
include(GNUInstallDirs)
add_custom_target(manifest)
add_custom_target(bi)
set(CMAKE_C_STANDARD 90)
set(CMAKE_UNITY_BUILD ON)
add_subdirectory("$source" library)
add_executable(program main.c)
target_link_libraries(program PRIVATE BufferInterface::bufferinterface)
END
"$cmake" -S "$work/parent" -B "$work/part" -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="-O2 -Wall -Wextra -Werror" \
    -DCMAKE_INSTALL_PREFIX="$work/part prefix" >"$work/part.log"
"$cmake" --build "$work/part" -j2 >"$work/part.build.log" 2>&1 || { cat "$work/part.build.log"; exit 1; }
expect "part of another project" "$("$work/part/program")"
"$cmake" --install "$work/part" >"$work/part.install.log"
must 'libbufferinterface.a' "$work/part.install.log"
must_not 'README.md' "$work/part.install.log"
must_not '/bin/bi' "$work/part.install.log"
"$cmake" -S "$consumer" -B "$work/on_part" -DCMAKE_PREFIX_PATH="$work/part prefix" -DCMAKE_C_COMPILER="$cc" >"$work/on_part.log"
"$cmake" --build "$work/on_part" >"$work/on_part.build.log"
expect "find_package, installed by another project" "$("$work/on_part/shared")"

# Both names mean the static library if there is no shared one, also after the installation.
for option in BI_HIDDEN=ON BUILD_SHARED_LIBS=OFF; do
    "$cmake" -S "$work/parent" -B "$work/$option" -DCMAKE_C_COMPILER="$cc" "-D$option" -DCMAKE_INSTALL_PREFIX="$work/static" \
        >"$work/$option.log"
    must_not 'libbufferinterface.so' "$work/$option/library/cmake_install.cmake"
    must 'libbufferinterface.a' "$work/$option/CMakeFiles/program.dir/link.txt"
done
"$cmake" --build "$work/$option" -j2 >"$work/static.build.log"
"$cmake" --install "$work/$option" >"$work/static.install.log"
"$cmake" -S "$consumer" -B "$work/on_static" -DCMAKE_PREFIX_PATH="$work/static" -DCMAKE_C_COMPILER="$cc" >"$work/on_static.log"
"$cmake" --build "$work/on_static" >"$work/on_static.build.log"
expect "find_package, static library alone" "$("$work/on_static/shared")"
echo "absolute folders, part of another project: right"
