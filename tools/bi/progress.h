/* A progress bar on stderr. Nothing is drawn unless stderr is a terminal and there is much to do. */
#ifndef BI_TOOL_PROGRESS_H
#define BI_TOOL_PROGRESS_H

#include <stdint.h>

struct progress {
	int active;
	const char *what;
	uint64_t total;
	uint64_t done;
	double drawn; /* time of the last drawing in seconds */
};

/* `total` is the number of bytes of all steps together. */
void progress_start(struct progress *progress, uint64_t total);

/* Sets the name of the current step. The text must stay valid. */
void progress_step(struct progress *progress, const char *what);
void progress_add(struct progress *progress, uint64_t bytes);

/* Erases the bar. May be called twice. */
void progress_finish(struct progress *progress);

/* Returns the seconds of a monotonic clock. */
double seconds_now(void);

#endif
