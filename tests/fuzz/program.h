/*
 * The internals of a random program (programs.h): its objects, the model of their bytes, and the decisions that it
 * takes from its input. They are in program.c; programs.c runs the program; steps*.c and parts.c have the steps.
 */
#ifndef BI_TESTS_FUZZ_PROGRAM_H
#define BI_TESTS_FUZZ_PROGRAM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "buffer_interface.h"
#include "buffer_interface/binding.h"
#include "faults.h"
#include "raw.h"

/* Each thread of a program has its own slots for memories and arrays. All share the context and the streams. */
#define MOST_PARTS RAW_PARTS
#define MOST_MEMORIES 6
#define MOST_VIEWS 12
/* The streams of the library: the context stream, an in-order one, and an out-of-order one if the device has such. */
#define OWN_STREAMS 3
#define MOST_STREAMS (OWN_STREAMS + RAW_STREAMS)
#define MOST_BYTES RAW_BYTES
/* Extents are at most 8, there are at most 4 axes, and an item has at most 24 bytes. */
#define MOST_DENSE ((size_t)8 * 8 * 8 * 8 * 24)

/* Memory that the tests allocated with the driver, and wrapped. */
struct producer {
	struct program *program;
	int is_used;
	int stock; /* index of the memory, RAW_STOCK of the part */
	int stream; /* index into kept.streams of the stream of the producer's work */
	atomic_int calls; /* of the release callback */
	atomic_int is_released; /* by the library, and its witness is pending */
	int is_known; /* number of bytes of `expected` that the memory must contain at the release */
	unsigned char expected[MOST_BYTES];
};

/* Bytes of the caller that are wrapped. */
struct lent {
	struct program *program;
	atomic_int is_used; /* until the release callback */
	int is_known; /* number of bytes of `expected` that `bytes` must equal at the release */
	unsigned char bytes[MOST_BYTES], expected[MOST_BYTES];
};

struct model {
	struct bi_memory *memory; /* NULL: the slot is free */
	unsigned char bytes[MOST_BYTES]; /* the expected contents */
	struct lent *lent; /* the memory wraps these bytes, or NULL */
	struct producer *producer; /* of wrapped device memory, or NULL */
	size_t nbytes;
	struct bi_map *map; /* one mapping at a time */
	char is_written; /* mapped for writing */
	char is_unknown; /* the contents are undefined after a failed operation */
	char is_used_elsewhere; /* work on another stream than the context stream may be pending */
	char is_switched; /* consumers may work on the context stream without informing the library */
	char is_shared; /* several threads read the memory, and none writes it */
};

struct array {
	struct bi_view *view; /* NULL: the slot is free */
	int memory; /* index of the model */
};

/* Bytes that raw work copies out of a memory; they are compared when the stream has finished. */
struct witness {
	int is_pending;
	int stream; /* index into kept.streams */
	size_t nbytes;
	unsigned char expected[MOST_BYTES];
};

struct program {
	const uint8_t *data;
	size_t size;
	int trace;
	int part; /* 0: the first thread */
	int is_alone; /* no other thread runs a part of the same program */
	int is_child; /* of a fork */
	struct model memories[MOST_MEMORIES];
	struct array arrays[MOST_VIEWS];
	struct producer producers[RAW_STOCK];
	struct witness witnesses[RAW_WITNESSES];
	atomic_int taken, released; /* number of release callbacks that the library has been given, and has called */
	int may_fail; /* a fault is armed: enum fault */
	int was_refused; /* calls of the driver were refused, after which objects may be kept for ever */
	struct lent lent[MOST_MEMORIES];
	unsigned char dense[MOST_DENSE], other[MOST_DENSE];
	char wrong[400];
};

/* The context that the programs of a block share. */
struct kept {
	char device[64];
	int is_device; /* the device has a driver */
	unsigned long long block; /* seed / PROGRAMS_PER_BLOCK */
	struct bi_context *context;
	struct bi_stream *streams[MOST_STREAMS];
	const struct raw *raw; /* NULL: the host */
	int was_refused; /* in a program since the context was opened */
};

extern struct kept kept;

typedef void step_fn(struct program *program);

/* Notes the first thing that is wrong. */
__attribute__((format(printf, 2, 3))) void wrong(struct program *program, const char *format, ...);
/* Returns the next decision, from 0 to below - 1. */
unsigned take(struct program *program, unsigned below);
/*
 * Checks the status of a call that should succeed. Returns 1 for BI_OK, otherwise 0. Notes what is wrong if neither an
 * armed fault nor is_lost explains the status.
 */
int succeeded(struct program *program, int rc, const struct bi_error *err, const char *call);
/*
 * Returns 1 if the status says that the memory is lost (19.2 of ordering.md), and calls of the driver were refused
 * before or this is a child.
 */
int is_lost(const struct program *program, int rc, const struct bi_error *err);
/* Returns 1 if the status is BI_EBUSY because of a mapping. */
int is_busy(const struct model *model, int rc, int writes);

size_t count_of(const struct bi_layout *layout);
/* Returns the offset of the n-th element in C order. */
int64_t offset_of(const struct bi_layout *layout, size_t n);
void gather(const struct model *model, const struct bi_layout *layout, unsigned char *dense);
void scatter(struct model *model, const struct bi_layout *layout, const unsigned char *dense);
/* Notes after a failure that the contents of the memory are undefined. Silent consumers then stop. */
void note_result(struct model *model, int went_well);
/* Notes that work was enqueued on the stream; NULL: on the home stream of the memory. */
void note_stream(struct model *model, const struct bi_stream *stream);
/* Makes a view of all bytes of a memory. */
int view_all(const struct model *model, struct bi_view **view, struct bi_error *err);
/* Writes all bytes, so that they are known. */
void write_all(struct program *program, int slot);
void read_all(struct program *program, int slot, const char *when);
void synchronize_streams(struct program *program);
/*
 * Checks that no work uses the caller's bytes any more, after a read into program->other or a write from program->dense
 * (`is_write`) has failed with a status other than BI_EUNFINISHED.
 */
void check_bytes_are_free(struct program *program, const struct array *array, int rc, size_t nbytes, int is_write);
/* After BI_EUNFINISHED, waits until the device does not use the bytes of the call any more. */
void await_bytes(struct program *program, const struct bi_view *view, int rc);

int free_memory_slot(const struct program *program);
int free_array_slot(const struct program *program);
void add_array(struct program *program, int slot, struct bi_view *view, int memory);
/* Returns an array, or NULL if there is none. */
struct array *choose_array(struct program *program);
/* Returns an array, or NULL if there is none or other threads read its memory. */
struct array *choose_writable(struct program *program);
struct model *model_of(struct program *program, const struct array *array);
/* Returns the index of a memory, or -1 if there is none. */
int choose_memory(struct program *program);
/* Returns a stream for work on these memories, or NULL. `b` may be NULL. Work on host memory alone takes no stream. */
struct bi_stream *choose_stream(struct program *program, const struct model *a, const struct model *b);
/* Releases the memory and all of its arrays. */
void forget_memory(struct program *program, int slot);
void unmap(struct program *program, struct model *model);
/* Waits for the stream of the witness, compares the bytes, and makes the witness free. */
void settle_witness(struct program *program, int index);

/* The steps of each file, ended by NULL. */
extern step_fn *const library_steps[], *const raw_steps[];

/* parts.c: run several parts of the program at the same time; run a child of this process. */
step_fn step_threads, step_fork;
/* Runs at most `most` steps. Stops when the input is used up, or something is wrong. */
void run_steps(struct program *program, int most);
/* Releases everything and checks that nothing is left. */
void finish_program(struct program *program);
/* Makes an empty program of a part of the input. */
void begin_program(struct program *program, int part, const uint8_t *data, size_t size);

#endif
