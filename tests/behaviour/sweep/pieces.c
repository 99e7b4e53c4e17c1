/* Copies from and to strided host memory that are too large for one piece of pinned memory
 * (src/common/runtime/pinned_pieces.h). */
#include "scenarios.h"

/* Two rows do not fit into one piece, so there are three, and the first one is used again. */
#define ROWS 3
#define ITEMS (((int64_t)2 << 20) / 8 + 1)
#define BYTES(gap) ((size_t)(ROWS * (ITEMS + (gap)) * 8))

/* So many items between one row and the next. */
static struct bi_view *rows(struct trial *trial, const struct array *array, int64_t gap)
{
	const int64_t shape[2] = { ROWS, ITEMS }, strides[2] = { (ITEMS + gap) * 8, 8 };

	return trial_view(trial, array, "uint64", 2, shape, strides, 0);
}

void upload_pieces(struct trial *trial)
{
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *host = trial_host(trial, context, BYTES(1), NULL);
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, BYTES(0));

	trial_copy(trial, array, rows(trial, array, 0), host, rows(trial, host, 1), trial_stream(trial, context));
	trial_consume(trial, array);
	trial_consume(trial, host);
}

/* Each row has another value. */
static struct array *array_of_rows(struct trial *trial, struct bi_context *context)
{
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, BYTES(0));
	const int64_t shape[1] = { ITEMS };

	for (uint64_t row = 1; row < ROWS; row++)
		trial_fill(trial, array, trial_view(trial, array, "uint64", 1, shape, NULL, (int64_t)row * ITEMS * 8),
			   &row, NULL);
	return array;
}

void download_pieces(struct trial *trial)
{
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *array = array_of_rows(trial, context);
	struct array *host = trial_host(trial, context, BYTES(1), NULL);

	trial_copy(trial, host, rows(trial, host, 1), array, rows(trial, array, 0), trial_stream(trial, context));
	trial_fill_all(trial, array, 0x57, NULL);
	trial_consume(trial, array);
	trial_consume(trial, host);
}
