#!/bin/sh
# Runs the line of README.md that builds the library without CMake, word for word, on a copy of include/ and src/. The
# compiler optimises as in CMake's build type Release, which no other test has, and its common warnings are errors.
#     plain_line.sh SOURCE_DIR
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
line=$(grep -E '^ *cc .*src/\*/\*\.c src/\*/\*/\*\.c' "$root/README.md" | sed 's/^ *//')
if [ "$(printf '%s\n' "$line" | wc -l)" -ne 1 ] || [ -z "$line" ]; then
    echo "README.md must have exactly one line that begins with cc and compiles src/*/*.c src/*/*/*.c"
    exit 1
fi
cp -R "$root/include" "$root/src" "$work"
cd "$work"
cc() {
    command cc "$@" -O3 -Wall -Wextra -Werror
}
echo "$line"
eval "$line"
library=$(find . -name '*.so')
[ -n "$library" ] || { echo "the line made no library"; exit 1; }
# It must also be complete: a program links to it with nothing else.
cat >try.c <<'END'
#include <buffer_interface.h>
#include <stdio.h>
int main(void)
{
	struct bi_error err;
	struct bi_context *context;
	struct bi_options options = BI_OPTIONS_INIT;

	options.device = "host";
	if (bi_context_open(&options, &context, &err) != BI_OK) {
		printf("%s\n", err.message);
		return 1;
	}
	bi_context_release(context);
	printf("%s\n", bi_version());
	return 0;
}
END
cc -std=c11 -Iinclude try.c "$library" -Wl,-rpath,. -o try
./try
