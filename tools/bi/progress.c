#define _POSIX_C_SOURCE 200809L

#include "progress.h"

#include <stdio.h>
#include <time.h>

#include "terminal.h"

#define WORTH_A_BAR (UINT64_C(64) << 20)
#define REDRAW_SECONDS 0.05

double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Draws a line such as "  copying     ████████░░░░  66 %  1352 of 2048 MiB". */
static void draw_bar(struct progress *progress)
{
	double part = (double)progress->done / (double)progress->total, mib = 1.0 / (1 << 20);
	int width = terminal_columns(stderr) - 50, filled;

	width = width < 8 ? 8 : width > 50 ? 50 : width;
	filled = (int)(part * width);
	fprintf(stderr, "\r  %-11s ", progress->what);
	for (int i = 0; i < width; i++)
		fputs(i < filled ? "█" : "░", stderr);
	fprintf(stderr, " %3d %%  %.0f of %.0f MiB\033[K", (int)(part * 100), (double)progress->done * mib,
		(double)progress->total * mib);
	fflush(stderr);
	progress->drawn = seconds_now();
}

void progress_start(struct progress *progress, uint64_t total)
{
	*progress =
		(struct progress){ .active = total > WORTH_A_BAR && terminal_is(stderr), .what = "", .total = total };
}

void progress_step(struct progress *progress, const char *what)
{
	progress->what = what;
	if (progress->active)
		draw_bar(progress);
}

void progress_add(struct progress *progress, uint64_t bytes)
{
	progress->done += bytes;
	if (progress->active && seconds_now() - progress->drawn > REDRAW_SECONDS)
		draw_bar(progress);
}

void progress_finish(struct progress *progress)
{
	if (progress->active)
		fputs("\r\033[K", stderr);
	progress->active = 0;
}
