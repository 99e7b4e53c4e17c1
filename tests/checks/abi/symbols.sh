#!/bin/sh
# The shared library exports bi_<letter>... and nothing else, and all that the headers declare.
#     symbols.sh NM LIBRARY INCLUDE_DIR
set -u
exported=$("$1" -D --defined-only "$2" | awk '{ print $NF }' | sed 's/@.*//')
# What instrumentation adds is not ours.
exported=$(printf '%s\n' "$exported" | grep -v -E '^__(asan|ubsan|tsan|odr_asan|sanitizer)')
failed=0

for symbol in $(printf '%s\n' "$exported" | grep -v -E '^bi_[a-z]'); do
    echo "FAILED: exported, but it is no bi_ name: $symbol"
    failed=1
done

declared=$(grep -h -v '^#' "$3"/*.h "$3"/*/*.h | tr '\n' ' ' | grep -o 'BI_API [^;]*;' | sed 's/(.*//; s/.*[ *]//' | grep '^bi_')
for symbol in $declared; do
    if ! printf '%s\n' "$exported" | grep -q -x "$symbol"; then
        echo "FAILED: declared, but not exported: $symbol"
        failed=1
    fi
done
for symbol in $exported; do
    if ! printf '%s\n' "$declared" | grep -q -x "$symbol"; then
        echo "FAILED: exported, but declared in no public header: $symbol"
        failed=1
    fi
done
echo "$(printf '%s\n' "$exported" | wc -l) exported, $(printf '%s\n' "$declared" | wc -l) declared"
exit $failed
