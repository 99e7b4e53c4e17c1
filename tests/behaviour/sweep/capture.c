/* Work that is captured into a CUDA graph and runs when the graph does. */
#include "raw.h"
#include "scenarios.h"

void capture_copy_and_fill(struct trial *trial)
{
	const int64_t shape[2] = { 20, 20 }, columns[2] = { 4, 80 };
	uintptr_t primary = raw_primary(trial, 0), stream;
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *from = trial_pattern(trial, context, BI_MEMORY_DEVICE, 1600);
	struct array *to = trial_array(trial, context, BI_MEMORY_DEVICE, 1600);
	struct bi_view *dst = trial_view(trial, to, "int32", 2, shape, NULL, 0);
	struct bi_view *src = trial_view(trial, from, "int32", 2, shape, columns, 0);

	stream = trial->rc ? 0 : bi_stream_handle(bi_context_stream(context));
	raw_capture(trial, primary, stream);
	trial_copy(trial, to, dst, from, src, NULL);
	trial_fill_all(trial, from, 0xb1, NULL);
	raw_launch(trial, primary, stream, 1);
	trial_consume(trial, to);
	trial_consume(trial, from);
}

/* The capture reaches a second stream through the library, and comes back from it. */
void capture_on_two_streams(struct trial *trial)
{
	uintptr_t primary = raw_primary(trial, 0), stream;
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *from = trial_pattern(trial, context, BI_MEMORY_DEVICE, 1600);
	struct array *to = trial_array(trial, context, BI_MEMORY_DEVICE, 1600);
	struct bi_stream *home = trial->rc ? NULL : bi_context_stream(context), *other = trial_stream(trial, context);

	stream = home ? bi_stream_handle(home) : 0;
	raw_capture(trial, primary, stream);
	TRY(trial, bi_stream_join(other, &home, 1, trial->err));
	/* Behind what the join has waited for. */
	trial_fill_all(trial, from, 0xb2, NULL);
	trial_copy_all(trial, to, from, other);
	raw_launch(trial, primary, stream, 2);
	trial_consume(trial, from);
	trial_consume(trial, to);
}
