/*
 * One trial of a scenario, and everything that it makes. The objects are released at the end, whatever happened. The
 * first status that is not BI_OK is kept, and every step after it does nothing. So a scenario is a list of steps
 * without a branch for failures.
 *
 * An array is an allocation together with the bytes that it must have. Steps change both, the expected bytes element by
 * element. The checks compare all bytes, those between the elements included.
 */
#ifndef BI_TESTS_CUDA_SWEEP_TRIAL_H
#define BI_TESTS_CUDA_SWEEP_TRIAL_H

#include "array_length.h"
#include "buffer_interface.h"

#define TRIAL_ARRAYS 80
#define TRIAL_OBJECTS 256

struct array {
	struct bi_view *whole; /* all bytes, in one dimension; NULL after a failure, or once it is released */
	unsigned char *expected;
	size_t nbytes;
};

typedef void (*trial_release_fn)(uintptr_t object, uintptr_t context);

struct trial_object {
	trial_release_fn release; /* NULL: gone already */
	uintptr_t object;
	uintptr_t context; /* of the driver's objects */
};

/* Released from the last to the first. */
struct trial_objects {
	struct trial_object list[TRIAL_OBJECTS];
	size_t count;
};

/* What a consumer has been promised, and by when it is there. */
struct consumption {
	struct bi_exchange exchange;
	uintptr_t context, stream;
	const struct array *array;
	unsigned char *expected;
	unsigned char *found; /* pinned */
};

struct trial {
	struct bi_error *err; /* of the step that failed */
	int rc; /* its status */
	char wrong[200]; /* what was not as it should be though no step failed; "": nothing */
	unsigned taken, released; /* release callbacks */
	struct bi_context *context; /* the one opened first */
	struct trial_objects library, driver; /* the library's objects go first */
	struct array arrays[TRIAL_ARRAYS];
	size_t array_count;
	struct consumption consumptions[TRIAL_ARRAYS];
	size_t consumption_count;
};

/* One step: nothing if an earlier one has failed. True if there is nothing to go on with. */
#define TRY(trial, call) trial_note((trial), (trial)->rc ? (trial)->rc : (call))

void trial_begin(struct trial *trial, struct bi_error *err);
/* Releases everything. Returns the status of the step that failed, or BI_OK. */
int trial_end(struct trial *trial);

int trial_note(struct trial *trial, int rc);
/* Something is not as it should be; only the first is kept, and only while no step has failed. */
__attribute__((format(printf, 2, 3))) void trial_wrong(struct trial *trial, const char *format, ...);

void trial_keep(struct trial_objects *objects, trial_release_fn release, uintptr_t object, uintptr_t context);
/* Forgets an object that the scenario releases itself. */
void trial_forget(struct trial_objects *objects, uintptr_t object);

/* Contexts and streams. */

struct bi_context *trial_open(struct trial *trial, const char *device);
struct bi_context *trial_open_with(struct trial *trial, const struct bi_options *options);
/* Closes it now. */
void trial_close(struct trial *trial, struct bi_context *context);
struct bi_stream *trial_stream(struct trial *trial, struct bi_context *context);
struct bi_stream *trial_wrap_stream(struct trial *trial, struct bi_context *context, uintptr_t handle);

/* Arrays. They are never NULL. */

/* The library's memory; its bytes are all the same, and the work that made them so may still be pending. */
struct array *trial_array(struct trial *trial, struct bi_context *context, enum bi_memory_kind kind, size_t nbytes);
/* As trial_array, but every byte is another; they come from host memory that is released right away. */
struct array *trial_pattern(struct trial *trial, struct bi_context *context, enum bi_memory_kind kind, size_t nbytes);
/* Pageable host memory of the scenario's, with a pattern; wrapped, and freed by the callback. `stream` or NULL. */
struct array *trial_host(struct trial *trial, struct bi_context *context, size_t nbytes, struct bi_stream *stream);
/* For arrays that are made otherwise. The view is kept. */
struct array *trial_adopt(struct trial *trial, struct bi_view *whole, size_t nbytes);
/* Releases the memory now. */
void trial_release(struct trial *trial, struct array *array);
void trial_release_view(struct trial *trial, struct bi_view *view);
void fill_pattern(unsigned char *bytes, size_t nbytes);

/* Part of an array through another layout; strides NULL: dense. */
struct bi_view *trial_view(struct trial *trial, const struct array *array, const char *type, int ndim,
			   const int64_t *shape, const int64_t *strides, int64_t offset);
/* One that the library made of a view of the array. */
struct bi_view *trial_keep_view(struct trial *trial, struct bi_view *view);

/* Operations on both the memory and the expected bytes. */

void trial_fill(struct trial *trial, struct array *array, struct bi_view *view, const void *item,
		struct bi_stream *stream);
/* All bytes. */
void trial_fill_all(struct trial *trial, struct array *array, unsigned char value, struct bi_stream *stream);
void trial_copy(struct trial *trial, struct array *to, struct bi_view *dst, const struct array *from,
		struct bi_view *src, struct bi_stream *stream);
void trial_copy_all(struct trial *trial, struct array *to, const struct array *from, struct bi_stream *stream);

/* Checks. */

/*
 * A consumer that is not the library takes the array: on the stream that an export names it reads all bytes and
 * overwrites them, so that also what comes behind an operation has to be ordered. It does not wait, so that nothing is
 * ordered by that; what it has read is compared by trial_settle, or at the scenario's end.
 */
void trial_consume(struct trial *trial, struct array *array);
void trial_settle(struct trial *trial);
/* The library reads all bytes. */
void trial_check(struct trial *trial, const struct array *array);
/* The CPU reads (and writes) bytes that a device may know. */
void trial_touch(const void *pointer, size_t nbytes, int writes);
void trial_compare(struct trial *trial, const struct array *array, const void *bytes, const char *reader);

void *must_alloc(size_t nbytes);

#endif
