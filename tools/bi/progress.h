/* A bar on stderr while bytes move; nothing at all unless stderr is a terminal and there is much to do. */
#ifndef BI_TOOL_PROGRESS_H
#define BI_TOOL_PROGRESS_H

#include <stdint.h>

struct progress {
	int active;
	const char *what;
	uint64_t total;
	uint64_t done;
	double drawn; /* seconds, when the bar was last drawn */
};

/* `total` in bytes, all steps together. */
void progress_start(struct progress *progress, uint64_t total);

/* What is being done from now on; a text that lives on. */
void progress_step(struct progress *progress, const char *what);
void progress_add(struct progress *progress, uint64_t bytes);

/* Wipes the bar. Safe to call twice. */
void progress_finish(struct progress *progress);

/* Seconds of a clock that only runs forward. */
double seconds_now(void);

#endif
