/* A progress bar on stderr. It is drawn only if stderr is a terminal and the total is above 64 MiB. */
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

/* Starts the bar. `total` is the number of bytes of all steps together. */
void progress_start(struct progress *progress, uint64_t total);

/* Sets the name of the current step. The text must stay valid until the next step or the end. */
void progress_step(struct progress *progress, const char *what);
void progress_add(struct progress *progress, uint64_t bytes);

/* Erases the bar. A second call does nothing. */
void progress_finish(struct progress *progress);

/* Returns the time of a monotonic clock in seconds. */
double seconds_now(void);

#endif
