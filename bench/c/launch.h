/* The jobs that launch the kernels of examples/heat: those of the library and those of the driver's own calls. */
#ifndef BENCH_LAUNCH_H
#define BENCH_LAUNCH_H

#include "bench.h"

#define BENCH_STEPS 400
#define BENCH_STEPS_PER_PICTURE 100
#define BENCH_LAUNCHES 64 /* that are enqueued before they are waited for */
#define BENCH_RATE 0.2f

/* A job with a plate of `rows` times `columns` temperatures. */
struct bench_plate_job {
	struct bench_job job;
	int rows, columns;
	int kind; /* enum bench_launch */
	/*
	 * `set` writes the first plate, and `other` over the second plate and the picture. `get` reads the plate that
	 * was written last. They return as job.run.
	 */
	int (*set)(struct bench_plate_job *job, const float *plate, const float *other);
	int (*get)(struct bench_plate_job *job, float *plate);
	int (*get_picture)(struct bench_plate_job *job, unsigned char *picture);
};

#endif
