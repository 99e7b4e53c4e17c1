#include "marks.h"

#include <stdio.h>

#include <valgrind/callgrind.h>

void bi_marks_begin(void)
{
	CALLGRIND_START_INSTRUMENTATION;
	CALLGRIND_ZERO_STATS;
}

void bi_marks_end(const char *name, long calls)
{
	char text[100];

	CALLGRIND_STOP_INSTRUMENTATION;
	snprintf(text, sizeof(text), "%s %ld", name, calls);
	CALLGRIND_DUMP_STATS_AT(text);
}
