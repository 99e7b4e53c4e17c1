/*
 * What a scenario stands on: everything that it makes is kept here and let go at its end, whatever happened; the first
 * status that is not BI_OK stays, and every step after it does nothing. So a scenario is a list of steps without a
 * branch for failures.
 *
 * An array is an allocation and a mirror of it, the bytes that it should have. Steps work on both, on the mirror
 * element by element; the checks compare all bytes, those between the elements included.
 */
#ifndef BI_TESTS_CUDA_SWEEP_SCENE_H
#define BI_TESTS_CUDA_SWEEP_SCENE_H

#include "buffer_interface.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define SCENE_ARRAYS 80
#define SCENE_OBJECTS 256

struct array {
	struct bi_view *whole; /* all bytes, in one dimension; NULL after a failure, or once it is let go */
	unsigned char *mirror;
	size_t nbytes;
};

typedef void (*scene_let_go_fn)(uintptr_t object, uintptr_t context);

struct scene_object {
	scene_let_go_fn let_go; /* NULL: gone already */
	uintptr_t object;
	uintptr_t context; /* of the driver's objects */
};

/* Let go from the last to the first. */
struct scene_objects {
	struct scene_object list[SCENE_OBJECTS];
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

struct scene {
	struct bi_error *err; /* of the step that failed */
	int rc; /* its status */
	char wrong[200]; /* what was not as it should be though no step failed; "": nothing */
	unsigned taken, released; /* release callbacks */
	struct bi_context *context; /* the one opened first */
	struct scene_objects library, driver; /* the library's objects go first */
	struct array arrays[SCENE_ARRAYS];
	size_t array_count;
	struct consumption consumptions[SCENE_ARRAYS];
	size_t consumption_count;
};

/* One step: nothing if an earlier one has failed. True if there is nothing to go on with. */
#define TRY(scene, call) scene_note((scene), (scene)->rc ? (scene)->rc : (call))

void scene_begin(struct scene *scene, struct bi_error *err);
/* Lets everything go. Returns the status of the step that failed, or BI_OK. */
int scene_end(struct scene *scene);

int scene_note(struct scene *scene, int rc);
/* Something is not as it should be; only the first is kept, and only while no step has failed. */
__attribute__((format(printf, 2, 3))) void scene_wrong(struct scene *scene, const char *format, ...);

void scene_keep(struct scene_objects *objects, scene_let_go_fn let_go, uintptr_t object, uintptr_t context);
/* It is about to be let go by hand. */
void scene_forget(struct scene_objects *objects, uintptr_t object);

/* Contexts and streams. */

struct bi_context *scene_open(struct scene *scene, const char *device);
struct bi_context *scene_open_with(struct scene *scene, const struct bi_options *options);
/* Closes it now. */
void scene_close(struct scene *scene, struct bi_context *context);
struct bi_stream *scene_stream(struct scene *scene, struct bi_context *context);
struct bi_stream *scene_wrap_stream(struct scene *scene, struct bi_context *context, uintptr_t handle);

/* Arrays. They are never NULL. */

/* The library's memory; its bytes are all the same, and the work that made them so may still be pending. */
struct array *scene_array(struct scene *scene, struct bi_context *context, enum bi_memory_kind kind, size_t nbytes);
/* As scene_array, but every byte is another; they come from host memory that is let go at once. */
struct array *scene_pattern(struct scene *scene, struct bi_context *context, enum bi_memory_kind kind, size_t nbytes);
/* Pageable host memory of the scenario's, with a pattern; wrapped, and freed by the callback. `stream` or NULL. */
struct array *scene_host(struct scene *scene, struct bi_context *context, size_t nbytes, struct bi_stream *stream);
/* For arrays that are made otherwise. The view is kept. */
struct array *scene_adopt(struct scene *scene, struct bi_view *whole, size_t nbytes);
/* Lets the memory go now. */
void scene_release(struct scene *scene, struct array *array);
void scene_release_view(struct scene *scene, struct bi_view *view);
void fill_pattern(unsigned char *bytes, size_t nbytes);

/* Part of an array through another layout; strides NULL: dense. */
struct bi_view *scene_view(struct scene *scene, const struct array *array, const char *type, int ndim,
			   const int64_t *shape, const int64_t *strides, int64_t offset);
/* One that the library made of a view of the array. */
struct bi_view *scene_keep_view(struct scene *scene, struct bi_view *view);

/* Operations on both the memory and the mirror. */

void scene_fill(struct scene *scene, struct array *array, struct bi_view *view, const void *item,
		struct bi_stream *stream);
/* All bytes. */
void scene_fill_all(struct scene *scene, struct array *array, unsigned char value, struct bi_stream *stream);
void scene_copy(struct scene *scene, struct array *to, struct bi_view *dst, const struct array *from,
		struct bi_view *src, struct bi_stream *stream);
void scene_copy_all(struct scene *scene, struct array *to, const struct array *from, struct bi_stream *stream);

/* Checks. */

/*
 * A consumer that is not the library takes the array: on the stream that an export names it reads all bytes and
 * overwrites them, so that also what comes behind an operation has to be ordered. It does not wait, so that nothing is
 * ordered by that; what it has read is compared by scene_settle, or at the scenario's end.
 */
void scene_consume(struct scene *scene, struct array *array);
void scene_settle(struct scene *scene);
/* The library reads all bytes. */
void scene_check(struct scene *scene, const struct array *array);
/* The CPU reads (and writes) bytes that a device may know. */
void scene_touch(const void *pointer, size_t nbytes, int writes);
void scene_compare(struct scene *scene, const struct array *array, const void *bytes, const char *reader);

void *must_alloc(size_t nbytes);

#endif
