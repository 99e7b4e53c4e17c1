/* Two devices: of CUDA, and of CUDA and OpenCL. */
#include "raw.h"
#include "scenarios.h"

#define SIZE ((size_t)6000)

/* There and back, and both ends are taken by others. */
void peer_copy_linear(struct trial *trial)
{
	struct bi_context *first = trial_open(trial, "cuda:0"), *second = trial_open(trial, "cuda:1");
	struct array *here = trial_pattern(trial, first, BI_MEMORY_DEVICE, SIZE);
	struct array *there = trial_array(trial, second, BI_MEMORY_DEVICE, SIZE);
	struct array *back;

	trial_copy_all(trial, there, here, NULL);
	trial_fill_all(trial, here, 0xa1, trial_stream(trial, first));
	/* Both sides of the way back have work behind what the streams have waited for so far. */
	trial_fill_all(trial, there, 0xa2, NULL);
	back = trial_array(trial, first, BI_MEMORY_DEVICE, SIZE);
	trial_copy_all(trial, back, there, trial_stream(trial, first));
	trial_consume(trial, here);
	trial_consume(trial, there);
	trial_consume(trial, back);
}

void peer_copy_strided(struct trial *trial)
{
	const int64_t shape[2] = { 30, 40 }, rows[2] = { 160, 4 }, columns[2] = { 4, 140 };
	struct bi_context *first = trial_open(trial, "cuda:0"), *second = trial_open(trial, "cuda:1");
	struct array *here = trial_pattern(trial, first, BI_MEMORY_DEVICE, SIZE);
	struct array *there = trial_array(trial, second, BI_MEMORY_DEVICE, SIZE);
	struct bi_view *src = trial_view(trial, here, "float32", 2, shape, columns, 20);
	struct bi_view *dst = trial_view(trial, there, "float32", 2, shape, rows, 8);
	struct array *after;

	trial_copy(trial, there, dst, here, src, NULL);
	/* What the copy packed into comes from the pool again. */
	after = trial_array(trial, first, BI_MEMORY_DEVICE, 30 * 40 * 4);
	trial_fill_all(trial, after, 0xa4, NULL);
	trial_consume(trial, after);
	trial_fill_all(trial, here, 0xa2, NULL);
	trial_consume(trial, here);
	trial_consume(trial, there);
}

void cuda_to_opencl_and_back(struct trial *trial)
{
	struct bi_context *cuda = trial_open(trial, "cuda:0"), *opencl = trial_open(trial, "opencl");
	struct array *here = trial_pattern(trial, cuda, BI_MEMORY_DEVICE, SIZE);
	struct array *there = trial_array(trial, opencl, BI_MEMORY_DEVICE, SIZE);
	struct array *back = trial_array(trial, cuda, BI_MEMORY_DEVICE, SIZE);

	trial_copy_all(trial, there, here, NULL);
	trial_fill_all(trial, here, 0xa3, trial_stream(trial, cuda));
	trial_copy_all(trial, back, there, NULL);
	trial_check(trial, there);
	trial_consume(trial, here);
	trial_consume(trial, back);
}
