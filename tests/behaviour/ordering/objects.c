#define _POSIX_C_SOURCE 200809L
#include "raw_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/runtime/object.h"
#include "support/use.h"

#define MOST 64

struct setting setting;

/* What is closed after the test. */
static struct {
	struct bi_context *contexts[MOST];
	struct bi_stream *streams[MOST];
	struct gate gates[MOST];
	size_t context_count, stream_count, gate_count;
	uintptr_t shared; /* native context that both contexts adopt, or 0 */
	const char *adopt[2]; /* device strings for that */
	struct {
		const struct bi_memory *memory;
		struct bi_stream *stream; /* NULL: it has none */
	} homes[MOST];
	size_t home_count;
	int is_borrowing; /* handles are asked for with bi_use_native */
	int closed; /* contexts */
	int finished; /* the test came to its end */
} kept;

/* ---------------------------------------------------------------------------------------------------------- drivers */

static const struct raw_driver *drivers[2];
static size_t driver_count;

const struct raw_driver *raw_driver(size_t i)
{
	return i < driver_count ? drivers[i] : NULL;
}

void add_driver(const struct raw_driver *driver)
{
	for (size_t i = 0; i < driver_count; i++)
		if (drivers[i] == driver)
			return;
	drivers[driver_count++] = driver;
}

const struct raw_driver *driver_of(const struct bi_context *context)
{
	static const struct raw_driver *const all[] = { &raw_opencl, &raw_cuda, &raw_extra };

	for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
		if (all[i] && strcmp(bi_context_device(context)->backend, all[i]->backend) == 0)
			return all[i];
	return NULL;
}

int is_device(const struct bi_context *context)
{
	return driver_of(context) != NULL;
}

unsigned on_device(unsigned count)
{
	return is_device(fixture.context) ? count : 0;
}

int allocates_in_order(void)
{
	return setting.driver && setting.driver->allocates_in_order &&
	       setting.driver->allocates_in_order(fixture.context);
}

/* --------------------------------------------------------------------------------------------------------- contexts */

static void count_close(void *data)
{
	(void)data;
	kept.closed++;
}

struct bi_context *open_context(const char *spec, struct bi_options options)
{
	const struct raw_driver *driver;
	struct bi_context *context;

	options.device = spec;
	options.release = count_close;
	assert_true(kept.context_count < MOST);
	OK(bi_context_open(&options, &context, &error));
	driver = driver_of(context);
	if (driver && driver->hold && !options.adopt_context)
		driver->hold(context);
	return kept.contexts[kept.context_count++] = context;
}

struct bi_context *open_second(void)
{
	return open_context(fixture.second_spec ? fixture.second_spec : fixture.spec,
			    (struct bi_options)BI_OPTIONS_INIT);
}

static struct bi_context *adopt(uintptr_t native, const char *device)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.adopt_context = native;
	return open_context(device, options);
}

struct bi_context *open_again(void)
{
	return adopt(bi_context_handle(fixture.context), bi_context_device(fixture.context)->backend);
}

static void forget_context(struct bi_context *context)
{
	size_t i = 0;

	while (kept.contexts[i] != context)
		i++;
	kept.contexts[i] = kept.contexts[--kept.context_count];
}

int leave_context(struct bi_context *context)
{
	int closed = kept.closed;
	uint64_t before = library_waits();

	forget_context(context);
	account_for(context);
	bi_context_release(context);
	/* Nobody can be asked any more why. */
	own_waits(library_waits() - before);
	return kept.closed != closed;
}

int contexts_closed(void)
{
	return kept.closed;
}

static uint64_t closing_waits_of(const struct raw_driver *driver)
{
	return driver && driver->closing_waits && driver->counts() ? driver->closing_waits() : 0;
}

static void release_context(struct bi_context *context, unsigned count)
{
	const struct raw_driver *driver = driver_of(context);
	int closed = kept.closed;
	uint64_t before, closing;

	account_for(context);
	before = library_waits();
	closing = closing_waits_of(driver);
	bi_context_release(context);
	if (kept.closed == closed)
		fail_msg("something still refers to the context");
	check_waits(before, count + closing_waits_of(driver) - closing);
	own_waits(library_waits() - before);
}

void close_context(struct bi_context *context, unsigned count)
{
	forget_context(context);
	release_context(context, count);
}

void trim_all(void)
{
	for (size_t i = 0; i < kept.context_count; i++)
		OK(bi_context_trim(kept.contexts[i], 0, &error));
}

/* ---------------------------------------------------------------------------------------------------------- streams */

static struct bi_stream *keep_stream(struct bi_stream *stream)
{
	assert_true(kept.stream_count < MOST);
	return kept.streams[kept.stream_count++] = stream;
}

void make_early(const struct bi_context *context, int is_early)
{
	const struct raw_driver *driver = driver_of(context);

	if (driver && driver->make_early)
		driver->make_early(is_early);
}

struct bi_stream *new_stream_in(struct bi_context *context, unsigned flags)
{
	struct bi_stream *stream;

	make_early(context, 1);
	OK(bi_stream_create(context, flags, &stream, &error));
	make_early(context, 0);
	return keep_stream(stream);
}

struct bi_stream *new_stream(unsigned flags)
{
	return new_stream_in(setting.other, flags);
}

struct bi_stream *wrap_stream(struct bi_context *context, uintptr_t handle)
{
	struct bi_stream *stream;

	OK(bi_stream_wrap(context, handle, NULL, NULL, &stream, &error));
	return keep_stream(stream);
}

struct bi_stream *home_of(struct bi_context *context)
{
	return bi_context_stream(context);
}

static const struct raw_driver *driver_of_stream(const struct bi_stream *stream)
{
	return driver_of(bi_stream_context(stream));
}

struct owned_stream {
	const struct raw_driver *driver;
	uintptr_t native, handle;
};

static void release_stream(void *data)
{
	struct owned_stream *owned = data;

	owned->driver->stream_release(owned->native, owned->handle);
	free(owned);
}

struct bi_stream *new_producer_in(struct bi_context *context, unsigned flags)
{
	struct owned_stream *owned = malloc(sizeof(*owned));
	struct bi_stream *stream;

	assert_non_null(owned);
	owned->driver = driver_of(context);
	owned->native = bi_context_handle(context);
	owned->handle = owned->driver->stream_create(context, flags);
	OK(bi_stream_wrap(context, owned->handle, release_stream, owned, &stream, &error));
	return keep_stream(stream);
}

struct bi_stream *new_producer(unsigned flags)
{
	return new_producer_in(setting.other, flags);
}

size_t stream_kinds(void)
{
	return can(setting.other, BI_CAP_OUT_OF_ORDER) ? 2 : 1;
}

/* The streams of the test and of its contexts that belong to this driver. */
static size_t streams_of(const struct raw_driver *driver, struct bi_stream *streams[2 * MOST])
{
	size_t count = 0;

	for (size_t i = 0; i < kept.stream_count; i++)
		if (driver_of_stream(kept.streams[i]) == driver)
			streams[count++] = kept.streams[i];
	for (size_t i = 0; i < kept.context_count; i++)
		if (driver_of(kept.contexts[i]) == driver)
			streams[count++] = home_of(kept.contexts[i]);
	return count;
}

void finish_all(void)
{
	struct bi_stream *streams[2 * MOST];
	const struct raw_driver *driver;

	for (size_t i = 0; (driver = raw_driver(i)); i++)
		driver->finish(streams, streams_of(driver, streams));
}

int stream_works(struct bi_stream *stream)
{
	const struct raw_driver *driver = driver_of(bi_stream_context(stream));

	return !driver->works || driver->works(stream);
}

void settle(void)
{
	for (size_t i = 0; i < kept.context_count; i++)
		if (is_device(kept.contexts[i]))
			driver_of(kept.contexts[i])->settle(kept.contexts[i]);
}

/* ------------------------------------------------------------------------------------------------------------ gates */

static struct gate *new_gate(struct bi_context *context)
{
	struct gate *gate = &kept.gates[kept.gate_count++];

	assert_true(kept.gate_count < MOST);
	*gate = (struct gate){ .driver = driver_of(context), .context = context };
	atomic_init(&gate->open, 0);
	gate->driver->gate_init(gate);
	return gate;
}

struct gate *close_gate(struct bi_stream *stream)
{
	struct gate *gate = new_gate(bi_stream_context(stream));

	gate->driver->gate_close(gate, stream);
	return gate;
}

struct gate *close_gate_on_write(struct bi_stream *stream, struct bi_view *view, int value)
{
	struct gate *gate = new_gate(bi_stream_context(stream));

	gate->driver->write(stream, view, value, gate, NULL);
	return gate;
}

static struct bi_event *wrap_event(struct bi_context *context, uintptr_t event)
{
	struct bi_event *wrapped;

	OK(bi_event_wrap(context, event, &wrapped, &error));
	driver_of(context)->event_release(bi_context_handle(context), event);
	return wrapped;
}

struct bi_event *gated_event(struct bi_context *context, struct bi_stream *stream, struct bi_view *view, int value,
			     struct gate **gate)
{
	uintptr_t event;

	*gate = new_gate(bi_stream_context(stream));
	(*gate)->driver->write(stream, view, value, *gate, &event);
	return wrap_event(context, event);
}

struct bi_event *complete_event(struct bi_context *context)
{
	return wrap_event(context, driver_of(context)->event_complete(context));
}

struct bi_event *failed_event(struct bi_context *context)
{
	return wrap_event(context, driver_of(context)->event_failed(context));
}

void open_gate(struct gate *gate)
{
	if (!atomic_exchange(&gate->open, 1))
		gate->driver->gate_open(gate);
}

void fail_gate(struct gate *gate)
{
	if (!atomic_exchange(&gate->open, 1))
		gate->driver->gate_fail(gate);
}

static void *open_later(void *data)
{
	const struct timespec moment = { 0, 10000000 };

	nanosleep(&moment, NULL);
	open_gate(data);
	return NULL;
}

void open_gate_soon(struct gate *gate)
{
	gate->soon = 1;
	assert_int_equal(pthread_create(&gate->thread, NULL, open_later, gate), 0);
}

int is_open(const struct gate *gate)
{
	return atomic_load(&gate->open);
}

void open_and_finish(struct gate *gate)
{
	open_gate(gate);
	finish_all();
}

static int is_quiet(void)
{
	for (size_t i = 0; i < kept.gate_count; i++)
		if (!is_open(&kept.gates[i]))
			return 0;
	return 1;
}

static void open_gates(void)
{
	for (size_t i = 0; i < kept.gate_count; i++) {
		if (kept.gates[i].soon)
			pthread_join(kept.gates[i].thread, NULL);
		kept.gates[i].soon = 0;
		open_gate(&kept.gates[i]);
	}
}

/*
 * Several times: what is let go of may be what another context, or the pool, has kept. While one piece is given back
 * the end of another may be on its way, for which the driver may make the call wait (row 28); nobody counts that.
 */
void empty_all(void)
{
	for (int i = 0; i < 3; i++) {
		uint64_t before;

		finish_all();
		before = library_waits();
		trim_all();
		own_waits(library_waits() - before);
	}
}

static void bury_all(void)
{
	const struct raw_driver *driver;

	for (size_t i = 0; (driver = raw_driver(i)); i++)
		driver->bury();
}

/* Releases the streams and the gates of the test. */
static void leave_streams(void)
{
	while (kept.stream_count)
		bi_stream_release(kept.streams[--kept.stream_count]);
	while (kept.gate_count) {
		struct gate *gate = &kept.gates[--kept.gate_count];

		gate->driver->gate_release(gate);
	}
	bury_all();
}

void clear_case(void)
{
	open_gates();
	empty_all();
	leave_streams();
}

/* ----------------------------------------------------------------------------------------------------------- arrays */

/* Whose memory is wrapped: the test's own, or, for the second wrapping of it, what the first one keeps. */
struct owner {
	const struct raw_driver *driver; /* NULL: plain host memory */
	enum place place;
	atomic_int *released;
	uintptr_t handle;
	uintptr_t stream; /* named */
	int is_ordered;
	struct bi_view *made; /* or NULL */
	const struct bi_memory *memory; /* of the library, for it */
	int process;
};

static void check_free(const struct owner *owner)
{
	if (!owner->driver || !owner->driver->is_free || !owner->is_ordered || owner->process != (int)getpid())
		return;
	if (!owner->driver->is_free(owner->handle, owner->stream))
		note_violation("memory was let go before its producer could use it again");
}

/* In a forked child the driver is not called. */
static void free_bytes(const struct owner *owner)
{
	if (!owner->driver)
		free((void *)owner->handle);
	else if (owner->process != (int)getpid())
		return;
	else if (owner->place == PLACE_HOST)
		owner->driver->host_free((void *)owner->handle);
	else if (owner->driver->free)
		owner->driver->free(owner->handle);
}

/* Its address will be that of another. */
static void forget_home(const struct bi_memory *memory)
{
	for (size_t i = 0; i < kept.home_count; i++)
		if (kept.homes[i].memory == memory) {
			kept.homes[i] = kept.homes[--kept.home_count];
			return;
		}
}

static void give_back(void *data)
{
	struct owner *owner = data;

	forget_home(owner->memory);
	check_free(owner);
	if (owner->released)
		atomic_fetch_add(owner->released, 1);
	if (owner->made)
		bi_view_release(owner->made);
	else
		free_bytes(owner);
	free(owner);
}

struct bi_view *view_bytes(struct bi_memory *memory)
{
	const int64_t shape[] = { ARRAY_BYTES };
	struct bi_layout layout;
	struct bi_dtype dtype;
	struct bi_view *view;

	OK(bi_dtype_make(BI_UINT8, 1, 0, &dtype, &error));
	OK(bi_layout_init(&layout, dtype, 1, shape, NULL, 0, &error));
	OK(bi_view_create(memory, &layout, 0, &view, &error));
	bi_memory_release(memory);
	return view;
}

static void make_host_bytes(int value, struct owner *owner)
{
	owner->driver = setting.is_pinned && setting.driver->host_alloc ? setting.driver : NULL;
	owner->handle = (uintptr_t)(owner->driver ? owner->driver->host_alloc(fixture.context) : malloc(ARRAY_BYTES));
	assert_true(owner->handle != 0);
	memset((void *)owner->handle, value, ARRAY_BYTES);
}

/* Host memory of the test, or new memory of the device. */
static void make_bytes(struct bi_context *context, int value, struct owner *owner, struct bi_foreign *foreign)
{
	const struct raw_driver *driver = driver_of(context);

	foreign->nbytes = ARRAY_BYTES;
	if (owner->place == PLACE_HOST || !driver) {
		make_host_bytes(value, owner);
	} else {
		owner->driver = driver;
		owner->handle = driver->alloc(context, value);
		foreign->kind = driver->handle_kind;
		foreign->flags = driver->wrap_flags;
	}
	foreign->handle = owner->handle;
}

/* The stream on which its producer may use the memory again as soon as it is let go. */
static uintptr_t home_handle(const struct owner *owner, const struct bi_stream *named)
{
	const uintptr_t per_thread = 2;

	if (!named || owner->place == PLACE_HOST)
		return 0;
	return is_cuda(bi_stream_context(named)) && bi_stream_handle(named) == per_thread ? 0 : bi_stream_handle(named);
}

static void remember_home(const struct bi_memory *memory, struct bi_stream *stream)
{
	assert_true(kept.home_count < MOST);
	kept.homes[kept.home_count].memory = memory;
	kept.homes[kept.home_count++].stream = stream;
}

/* Unordered memory has none, host memory neither. */
static struct bi_stream *home_for(struct bi_context *context, const struct owner *owner,
				  const struct producer *producer)
{
	if (owner->place == PLACE_HOST || !owner->is_ordered || !driver_of(context))
		return NULL;
	return owner->stream && producer->stream ? producer->stream : home_of(context);
}

static struct bi_view *wrap_owned(struct bi_context *context, struct bi_foreign *foreign, struct owner *owner,
				  const struct producer *producer)
{
	struct bi_memory *memory;

	owner->released = producer->released;
	owner->stream = home_handle(owner, producer->stream);
	owner->is_ordered = !(producer->flags & BI_WRAP_UNORDERED);
	owner->process = (int)getpid();
	foreign->flags |= producer->flags;
	foreign->stream = producer->stream;
	foreign->events = &producer->event;
	foreign->event_count = producer->event ? 1 : 0;
	foreign->release = give_back;
	foreign->release_data = owner;
	OK(bi_memory_wrap(context, foreign, &memory, &error));
	owner->memory = memory;
	remember_home(memory, home_for(context, owner, producer));
	return view_bytes(memory);
}

static struct owner *new_owner(enum place place)
{
	struct owner *owner = calloc(1, sizeof(*owner));

	assert_non_null(owner);
	owner->place = place;
	return owner;
}

static struct bi_view *wrap_again_in(struct bi_context *context, struct bi_view *made, struct producer producer)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct owner *owner = new_owner(bi_memory_is_host(bi_view_memory(made)) ? PLACE_HOST : PLACE_DEVICE);
	struct bi_native native;

	bi_view_native(made, &native);
	owner->made = bi_view_retain(made);
	owner->driver = owner->place == PLACE_DEVICE || setting.is_pinned ? setting.driver : NULL;
	owner->handle = foreign.handle = native.handle;
	foreign.kind = native.kind;
	foreign.nbytes = native.nbytes;
	return wrap_owned(context, &foreign, owner, &producer);
}

struct bi_view *wrap_again(struct bi_view *made, struct producer producer)
{
	return wrap_again_in(fixture.context, made, producer);
}

static struct bi_view *wrap_new(struct bi_context *context, enum place place, int value,
				const struct producer *producer)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct owner *owner = new_owner(place);

	make_bytes(context, value, owner, &foreign);
	return wrap_owned(context, &foreign, owner, producer);
}

/* The end of the producer's work is what host memory is handed over with, so it has to be there before. */
static struct bi_view *wrap_written_host(struct bi_context *context, int value, struct producer producer)
{
	static const struct producer nobody;
	struct bi_view *made = wrap_new(context, PLACE_HOST, 0, &nobody), *view;

	raw_write(producer.stream, made, value);
	view = wrap_again_in(context, made, producer);
	bi_view_release(made);
	return view;
}

/*
 * A producer who names a stream has work on it: what the array is said to hold is written there, just now. Not behind a
 * gate, where writing to the host may wait.
 */
struct bi_view *wrap_in(struct bi_context *context, enum place place, int value, struct producer producer)
{
	int has_work = producer.stream && !(producer.flags & BI_WRAP_UNORDERED);
	struct bi_view *view;

	if (has_work && place == PLACE_HOST && is_quiet())
		return wrap_written_host(context, value, producer);
	view = wrap_new(context, place, value, &producer);
	if (has_work && place == PLACE_DEVICE)
		raw_write(producer.stream, view, value);
	return view;
}

struct bi_view *wrap(enum place place, int value, struct producer producer)
{
	return wrap_in(fixture.context, place, value, producer);
}

/* The producer's work comes before he hands the memory over. */
struct bi_view *wrap_gated(enum place place, int value, struct bi_stream *stream, struct gate **gate)
{
	struct bi_view *made = wrap(place, 0, (struct producer){ 0 }), *view;

	*gate = close_gate_on_write(stream, made, value);
	view = wrap_again(made, (struct producer){ .stream = stream });
	bi_view_release(made);
	return view;
}

struct bi_memory *create_memory(struct bi_context *context, int64_t nbytes, enum bi_memory_kind kind)
{
	struct bi_memory *memory;

	make_early(context, 1);
	OK(bi_memory_create(context, (size_t)nbytes, kind, &memory, &error));
	make_early(context, 0);
	return memory;
}

struct bi_view *allocate_in(struct bi_context *context, enum bi_memory_kind kind)
{
	return view_bytes(create_memory(context, ARRAY_BYTES, kind));
}

struct bi_view *allocate(void)
{
	return allocate_in(fixture.context, BI_MEMORY_DEFAULT);
}

struct bi_view *slice(struct bi_view *view, int64_t start, int64_t count, int64_t step)
{
	const struct bi_index item = { BI_INDEX_SLICE, start, start + count * step, step };
	struct bi_view *out;

	OK(bi_view_index(view, &item, 1, &out, &error));
	return out;
}

void borrow_handles(int is_borrowing)
{
	kept.is_borrowing = is_borrowing;
}

uintptr_t handle_of(const struct bi_view *view)
{
	struct bi_native native;

	if (kept.is_borrowing)
		bi_use_native(view, &native);
	else
		bi_view_native(view, &native);
	return native.handle;
}

static const struct raw_driver *driver_of_view(const struct bi_view *view)
{
	return driver_of(bi_memory_context(bi_view_memory(view)));
}

void peek(struct bi_view *view, unsigned char bytes[ARRAY_BYTES])
{
	const struct raw_driver *driver = driver_of_view(view);

	if (driver)
		driver->peek(view, bytes, is_quiet());
	else
		memcpy(bytes, bi_view_host_pointer(view), ARRAY_BYTES);
}

void poke(struct bi_view *view, const unsigned char bytes[ARRAY_BYTES])
{
	const struct raw_driver *driver = driver_of_view(view);

	if (driver)
		driver->poke(view, bytes);
	else
		memcpy(bi_view_host_pointer(view), bytes, ARRAY_BYTES);
}

int value_of(struct bi_view *view)
{
	unsigned char bytes[ARRAY_BYTES];

	peek(view, bytes);
	for (size_t i = 1; i < ARRAY_BYTES; i++)
		if (bytes[i] != bytes[0])
			return -1;
	return bytes[0];
}

/* --------------------------------------------------------------------------------------------- commands of the test */

void raw_write(struct bi_stream *stream, struct bi_view *view, int value)
{
	driver_of_stream(stream)->write(stream, view, value, NULL, NULL);
}

void raw_copy(struct bi_stream *stream, struct bi_view *to, struct bi_view *from)
{
	driver_of_stream(stream)->copy(stream, to, from);
}

void raw_upload(struct bi_stream *stream, struct bi_view *to, struct bi_view *from)
{
	driver_of_stream(stream)->upload(stream, to, from);
}

void raw_wait(struct bi_stream *stream, uintptr_t event)
{
	driver_of_stream(stream)->event_wait(stream, event);
}

int is_done(uintptr_t event)
{
	return setting.driver->event_done(event);
}

static void check_order(struct bi_stream *stream, struct bi_view *view, int writes, int expected)
{
	const struct raw_driver *driver = driver_of_stream(stream);
	int answer = driver ? driver->ordered(stream, view, writes) : -1;

	if (answer >= 0 && answer != expected)
		fail_msg("a %s on the stream would%s be ordered behind the work on the array",
			 writes ? "write" : "read", answer ? "" : " not");
}

void assert_ordered(struct bi_stream *stream, struct bi_view *view)
{
	check_order(stream, view, 1, 1);
}

void assert_readable(struct bi_stream *stream, struct bi_view *view)
{
	check_order(stream, view, 0, 1);
}

void assert_unordered(struct bi_stream *stream, struct bi_view *view)
{
	check_order(stream, view, 1, 0);
}

/* --------------------------------------------------------------------------------------------- calls of the library */

/* What the test has not wrapped, own memory above all, is at home where the library says. NULL: nobody can be asked. */
static struct bi_stream *known_home(const struct bi_view *view)
{
	const struct bi_memory *memory = bi_view_memory(view);

	if (setting.is_capturing)
		return NULL;
	for (size_t i = 0; i < kept.home_count; i++)
		if (kept.homes[i].memory == memory)
			return kept.homes[i].stream;
	/* Other streams come after the work when they begin a use (row 38). */
	return memory->flags & BI_WRAP_UNORDERED || memory->order.spread ? NULL : memory->home;
}

void assert_home_follows(struct bi_view *view)
{
	struct bi_stream *home = known_home(view);

	if (home)
		assert_ordered(home, view);
}

void fill(struct bi_view *view, int value, struct bi_stream *stream)
{
	unsigned char byte = (unsigned char)value;

	OK(bi_fill(view, &byte, stream, &error));
	assert_home_follows(view);
}

void copy(struct bi_view *to, struct bi_view *from, struct bi_stream *stream)
{
	OK(bi_copy(to, from, stream, &error));
	assert_home_follows(to);
	assert_home_follows(from);
}

void acquire(struct bi_view *view, struct bi_stream *stream)
{
	OK(begin_use(view, stream, &error));
	if (known_home(view) || bi_view_memory(view)->order.spread ||
	    (bi_memory_is_host(bi_view_memory(view)) && !setting.is_capturing))
		assert_ordered(stream, view);
}

void hand_back(struct bi_view *view, struct bi_stream *stream)
{
	OK(end_use(view, stream, &error));
	assert_home_follows(view);
}

void unmap(struct bi_map *map, struct bi_view *view)
{
	OK(bi_unmap(map, &error));
	assert_home_follows(view);
}

/* ----------------------------------------------------------------------------------------------- setup and teardown */

static void open_contexts(void)
{
	const char *const specs[2] = { fixture.spec, fixture.second_spec };

	if (setting.is_shared) {
		kept.shared = setting.driver->share(specs, kept.adopt);
		fixture.context = adopt(kept.shared, kept.adopt[0]);
		setting.other = adopt(kept.shared, kept.adopt[1]);
	} else {
		fixture.context = setting.other = open_context(fixture.spec, (struct bi_options)BI_OPTIONS_INIT);
	}
}

int open_row(void **state)
{
	const struct row *row = *state;

	memset(&kept, 0, sizeof(kept));
	setting.is_capturing = 0;
	accounts_begin(row->name);
	open_contexts();
	alarm(180);
	return 0;
}

static int is_kept(const struct bi_context *context)
{
	for (size_t i = 0; i < kept.context_count; i++)
		if (kept.contexts[i] == context)
			return 1;
	return 0;
}

/* The context of the streams is closed before that of the arrays has seen the end of what they did. */
static void close_other(void)
{
	open_gates();
	finish_all();
	leave_streams();
	assert_true(leave_context(setting.other));
}

/*
 * All work is complete here, so a context closes without a wait. The exception is memory whose work failed: it is
 * retired until the close, which waits for it. On Rusticl all work behind failed work fails.
 */
static void close_kept(struct bi_context *context)
{
	unsigned retired = (unsigned)reported(context, "retired");

	if (retired)
		assert_false(stream_works(home_of(context)));
	release_context(context, retired);
}

static void close_contexts(void)
{
	if (setting.is_shared && is_kept(setting.other))
		close_other();
	clear_case();
	while (kept.context_count)
		close_kept(kept.contexts[--kept.context_count]);
	bury_all();
	if (kept.shared)
		setting.driver->unshare(kept.shared);
}

int close_row(void **state)
{
	(void)state;
	open_gates();
	if (!kept.finished)
		return 0;
	close_contexts();
	accounts_end();
	return 0;
}

/* ------------------------------------------------------------------------------------------------------------- rows */

uint64_t rows_seen;
unsigned rows_run;

static void run_row(void **state)
{
	const struct row *row = *state;
	int number = 0;

	row->run(state);
	sscanf(row->name, "row_%d_", &number);
	rows_seen |= UINT64_C(1) << number;
	rows_run++;
	kept.finished = 1;
}

/* The rows of a pair of devices are its own: see pair.c. */
static int is_runnable(const struct row *row)
{
	return (row->needs & setting.needs) == row->needs && (row->needs & NEED_PAIR) == (setting.needs & NEED_PAIR);
}

int run_rows(const char *group, const struct row *rows, size_t count)
{
	struct CMUnitTest *tests = calloc(count, sizeof(*tests));
	size_t runnable = 0;
	int failed;

	assert_non_null(tests);
	for (size_t i = 0; i < count; i++) {
		if (is_runnable(&rows[i]))
			tests[runnable++] = (struct CMUnitTest){ rows[i].name, run_row, open_row, close_row,
								 (void *)(uintptr_t)&rows[i] };
		else
			fprintf(stderr, "ordering: %s is not for %s\n", rows[i].name, setting.name);
	}
	failed = runnable ? _cmocka_run_group_tests(group, tests, runnable, NULL, NULL) : 0;
	free(tests);
	return failed;
}
