#!/bin/sh
# Runs a command, which must end with STATUS and write WORDS.
#     expect.sh STATUS WORDS COMMAND...
status=$1 words=$2
shift 2
output=$("$@" 2>&1)
rc=$?
printf '%s\n' "$output"
[ $rc -eq "$status" ] || { echo "expected exit status $status, and it is $rc"; exit 1; }
case $output in *"$words"*) ;; *) echo "expected the words \"$words\""; exit 1 ;; esac
