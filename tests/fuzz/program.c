/* The model of a random program, and its decisions. */
#include "program.h"

#include <stdarg.h>
#include <stdio.h>

struct kept kept;

void wrong(struct program *program, const char *format, ...)
{
	va_list arguments;

	if (*program->wrong)
		return;
	va_start(arguments, format);
	vsnprintf(program->wrong, sizeof(program->wrong), format, arguments);
	va_end(arguments);
}

unsigned take(struct program *program, unsigned below)
{
	unsigned number = 0;

	if (below < 2)
		return 0;
	for (unsigned bytes = below > 256 ? 2 : 1; bytes; bytes--) {
		number = number << 8 | (program->size ? *program->data : 0u);
		if (program->size) {
			program->data++;
			program->size--;
		}
	}
	return number % below;
}

int is_lost(const struct program *program, int rc, const struct bi_error *err)
{
	return (program->was_refused || program->is_child) && rc == BI_EDRIVER &&
	       strstr(err->message, "may never be known to end");
}

int succeeded(struct program *program, int rc, const struct bi_error *err, const char *call)
{
	if (program->trace)
		printf("  %d: %s -> %d%s%s\n", program->part, call, rc, rc ? ": " : "", rc ? err->message : "");
	if (!rc)
		return 1;
	if (!faults_explain((enum fault)program->may_fail, rc) && !is_lost(program, rc, err))
		wrong(program, "%s: %s: %s", call, bi_status_name(rc), err->message);
	else if (err->status != rc || !*err->message)
		wrong(program, "%s: %s without a message", call, bi_status_name(rc));
	return 0;
}

int is_busy(const struct model *model, int rc, int writes)
{
	return rc == BI_EBUSY && model->map && (model->is_written || writes);
}

/* The model. */

size_t count_of(const struct bi_layout *layout)
{
	return (size_t)bi_layout_size(layout);
}

int64_t offset_of(const struct bi_layout *layout, size_t n)
{
	int64_t offset = layout->offset;

	for (int i = layout->ndim - 1; i >= 0; i--) {
		offset += (int64_t)(n % (size_t)layout->shape[i]) * layout->strides[i];
		n /= (size_t)layout->shape[i];
	}
	return offset;
}

void gather(const struct model *model, const struct bi_layout *layout, unsigned char *dense)
{
	size_t item = layout->dtype.item_size, count = count_of(layout);

	for (size_t n = 0; n < count; n++)
		memcpy(dense + n * item, model->bytes + offset_of(layout, n), item);
}

void scatter(struct model *model, const struct bi_layout *layout, const unsigned char *dense)
{
	size_t item = layout->dtype.item_size, count = count_of(layout);

	for (size_t n = 0; n < count; n++)
		memcpy(model->bytes + offset_of(layout, n), dense + n * item, item);
}

void note_result(struct model *model, int went_well)
{
	if (went_well)
		return;
	model->is_unknown = 1;
	/* The context stream may not be ordered behind the work, and a silent consumer would not notice. */
	model->is_switched = 0;
}

void note_stream(struct model *model, const struct bi_stream *stream)
{
	model->is_used_elsewhere |= stream && stream != kept.streams[0];
}

int view_all(const struct model *model, struct bi_view **view, struct bi_error *err)
{
	int64_t size = (int64_t)model->nbytes;
	struct bi_dtype dtype;
	struct bi_layout layout;
	int rc = bi_dtype_parse("uint8", &dtype, err);

	*view = NULL;
	rc = rc ? rc : bi_layout_init(&layout, dtype, 1, &size, NULL, 0, err);
	return rc ? rc : bi_view_create(model->memory, &layout, 0, view, err);
}

void synchronize_streams(struct program *program)
{
	struct bi_error err;

	for (int i = 0; i < MOST_STREAMS; i++)
		if (kept.streams[i])
			succeeded(program, bi_stream_synchronize(kept.streams[i], &err), &err, "bi_stream_synchronize");
}

void await_bytes(struct program *program, const struct bi_view *view, int rc)
{
	struct bi_error err;

	if (rc != BI_EUNFINISHED)
		return;
	faults_disarm();
	rc = bi_view_synchronize(view, &err);
	if (is_lost(program, rc, &err))
		synchronize_streams(program);
	else if (rc)
		wrong(program, "the driver works again, but bi_view_synchronize: %s: %s", bi_status_name(rc),
		      err.message);
}

/* Checks that no work writes the bytes any more. */
static void check_read_is_over(struct program *program, size_t nbytes)
{
	memcpy(program->dense, program->other, nbytes);
	synchronize_streams(program);
	if (memcmp(program->dense, program->other, nbytes) != 0)
		wrong(program, "the device has written into the bytes of a read that had failed");
}

/* Checks that no work reads the bytes any more: after they are changed, none of the new bytes comes to the array. */
static void check_write_is_over(struct program *program, const struct array *array, size_t nbytes)
{
	const struct model *model = model_of(program, array);
	struct bi_layout layout;
	struct bi_error err;

	bi_view_layout(array->view, &layout);
	gather(model, &layout, program->other);
	for (size_t i = 0; i < nbytes; i++) {
		unsigned char written = program->dense[i], old = program->other[i], other = 0;

		while (other == written || other == old)
			other++;
		program->dense[i] = other;
	}
	synchronize_streams(program);
	if (bi_view_read(array->view, program->other, nbytes, &err))
		return;
	for (size_t i = 0; i < nbytes; i++)
		if (program->other[i] == program->dense[i])
			wrong(program, "the device has read the bytes of a write that had failed");
}

void check_bytes_are_free(struct program *program, const struct array *array, int rc, size_t nbytes, int is_write)
{
	const struct model *model = model_of(program, array);

	if (!rc || rc == BI_EUNFINISHED || !program->may_fail || !program->is_alone)
		return;
	faults_disarm();
	if (!is_write)
		check_read_is_over(program, nbytes);
	else if (!model->is_unknown && !model->map)
		check_write_is_over(program, array, nbytes);
}

void write_all(struct program *program, int slot)
{
	struct model *model = &program->memories[slot];
	unsigned char first = (unsigned char)take(program, 256);
	struct bi_view *view;
	struct bi_error err;
	int rc;

	if (model->map || model->is_shared)
		return;
	for (size_t i = 0; i < model->nbytes; i++)
		model->bytes[i] = (unsigned char)(first + i * 7);
	rc = view_all(model, &view, &err);
	rc = rc ? rc : bi_view_write(view, model->bytes, model->nbytes, &err);
	model->is_unknown = !succeeded(program, rc, &err, "write all");
	if (view)
		await_bytes(program, view, rc);
	bi_view_release(view);
}

void read_all(struct program *program, int slot, const char *when)
{
	struct model *model = &program->memories[slot];
	unsigned char *found = program->other;
	struct bi_view *view;
	struct bi_error err;
	int rc;

	if (model->is_unknown || model->is_written)
		return;
	rc = view_all(model, &view, &err);
	rc = rc ? rc : bi_view_read(view, found, model->nbytes, &err);
	if (succeeded(program, rc, &err, "read all"))
		for (size_t i = 0; i < model->nbytes; i++)
			if (found[i] != model->bytes[i]) {
				wrong(program, "%s: byte %zu of memory %d is %u, not %u", when, i, slot, found[i],
				      model->bytes[i]);
				break;
			}
	bi_view_release(view);
}

void settle_witness(struct program *program, int index)
{
	struct witness *witness = &program->witnesses[index];
	const unsigned char *found;

	if (!witness->is_pending)
		return;
	witness->is_pending = 0;
	kept.raw->finish(bi_stream_handle(kept.streams[witness->stream]));
	found = kept.raw->witness(program->part, index);
	for (size_t i = 0; i < witness->nbytes; i++)
		if (found[i] != witness->expected[i]) {
			wrong(program, "a consumer on stream %d read %u instead of %u as byte %zu", witness->stream,
			      found[i], witness->expected[i], i);
			return;
		}
}

/* Choices. */

int free_memory_slot(const struct program *program)
{
	for (int i = 0; i < MOST_MEMORIES; i++)
		if (!program->memories[i].memory)
			return i;
	return -1;
}

int free_array_slot(const struct program *program)
{
	for (int i = 0; i < MOST_VIEWS; i++)
		if (!program->arrays[i].view)
			return i;
	return -1;
}

void add_array(struct program *program, int slot, struct bi_view *view, int memory)
{
	program->arrays[slot].view = view;
	program->arrays[slot].memory = memory;
}

struct array *choose_array(struct program *program)
{
	unsigned first = take(program, MOST_VIEWS);

	for (unsigned i = 0; i < MOST_VIEWS; i++) {
		struct array *array = &program->arrays[(first + i) % MOST_VIEWS];

		if (array->view)
			return array;
	}
	return NULL;
}

struct array *choose_writable(struct program *program)
{
	struct array *array = choose_array(program);

	return array && !model_of(program, array)->is_shared ? array : NULL;
}

struct model *model_of(struct program *program, const struct array *array)
{
	return &program->memories[array->memory];
}

int choose_memory(struct program *program)
{
	int first = (int)take(program, MOST_MEMORIES);

	for (int i = 0; i < MOST_MEMORIES; i++)
		if (program->memories[(first + i) % MOST_MEMORIES].memory)
			return (first + i) % MOST_MEMORIES;
	return -1;
}

struct bi_stream *choose_stream(struct program *program, const struct model *a, const struct model *b)
{
	unsigned choice = take(program, MOST_STREAMS + 2);
	int is_on_host = bi_memory_is_host(a->memory) && (!b || bi_memory_is_host(b->memory));

	return choice < MOST_STREAMS && !is_on_host ? kept.streams[choice] : NULL;
}

/* The end of a program. */

void unmap(struct program *program, struct model *model)
{
	struct bi_error err;
	int rc;

	if (!model->map)
		return;
	rc = bi_unmap(model->map, &err);
	if (!(program->is_child && rc == BI_EFORK))
		note_result(model, succeeded(program, rc, &err, "bi_unmap"));
	model->map = NULL;
	model->is_written = 0;
}

void forget_memory(struct program *program, int slot)
{
	struct model *model = &program->memories[slot];
	struct bi_memory *memory = model->memory;

	if (!memory)
		return;
	unmap(program, model);
	if (model->lent && !model->is_shared) {
		memcpy(model->lent->expected, model->bytes, sizeof(model->bytes));
		model->lent->is_known = model->is_unknown ? 0 : (int)model->nbytes;
	}
	if (model->producer && !model->is_shared) {
		memcpy(model->producer->expected, model->bytes, sizeof(model->bytes));
		model->producer->is_known = model->is_unknown ? 0 : (int)model->nbytes;
	}
	memset(model, 0, sizeof(*model));
	if (program->size & 1)
		bi_memory_release(memory);
	for (int i = 0; i < MOST_VIEWS; i++)
		if (program->arrays[i].view && program->arrays[i].memory == slot) {
			bi_view_release(program->arrays[i].view);
			program->arrays[i].view = NULL;
		}
	if (!(program->size & 1))
		bi_memory_release(memory);
}
