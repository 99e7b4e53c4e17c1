/* Streams and events, and enqueueing on a stream. */
#ifndef BI_TESTS_CUDA_SIM_STREAM_H
#define BI_TESTS_CUDA_SIM_STREAM_H

#include "access.h"
#include "capture.h"
#include "context.h"
#include "work.h"

enum stream_kind { STREAM_LEGACY, STREAM_PER_THREAD, STREAM_BLOCKING, STREAM_NON_BLOCKING };

struct stream {
	struct stream *next; /* of its context */
	struct context *context;
	bi__cu_stream handle;
	enum stream_kind kind;
	unsigned thread; /* number of the thread that made it, or whose default stream it is */
	uint32_t number; /* for reports: 1, 2, … or PLACE_LEGACY, PLACE_PER_THREAD */
	unsigned slot;
	struct clock clock; /* of what is enqueued next */
	struct op *last; /* the last operation, or NULL */
	struct capture *capture; /* that it takes part in, or NULL */
	struct node_set tip; /* what the next captured node depends on */
	bi__cu_node *shown; /* handles of these, which cuStreamGetCaptureInfo_v2 returned */
};

struct event {
	struct event *next; /* of its context */
	struct context *context;
	bi__cu_event handle;
	unsigned flags;
	struct op *op; /* the last record, NULL: none */
	struct clock clock; /* of the last record */
	struct capture *capture; /* in which it was recorded last, or NULL */
	struct node_set tip; /* what was captured before it there */
};

/* stream.c */
struct stream *stream_new(struct context *context, enum stream_kind kind);
void streams_destroy_of(struct context *context);
void streams_forget_of(struct context *context);
/* The next one is number 1. */
void streams_count_anew(void);
/* Returns the stream that a handle names for this thread. Returns NULL with *code set, mostly after a report. */
struct stream *stream_find(bi__cu_stream handle, bi__cu_result *code);
/* As stream_find. Also fails if another context is current, or a capture does not admit work on the stream. */
struct stream *stream_for_work(bi__cu_stream handle, bi__cu_result *code);
int is_blocking(const struct stream *stream);
uint64_t streams_live(void);

/* enqueue.c */

/*
 * Joins the clocks of all operations that a new one on this stream comes after. Makes `op`, if not NULL, follow them.
 */
void stream_join(const struct stream *stream, struct clock *clock, struct op *op);
/*
 * Enqueues the action, or captures it. Takes ownership of the references of the action. An action on memory that it may
 * not access is reported and does nothing; for copies and sets the call returns INVALID_VALUE. `out` may be NULL. *out
 * is a reference to the operation, or NULL if it was captured or refused.
 */
bi__cu_result stream_enqueue(struct stream *stream, const struct action *action, struct op **out);
/* Waits until the stream's work is done. Counts a host wait. */
bi__cu_result stream_wait(struct stream *stream);
/* Returns a point behind all work on the stream. The caller owns a reference. */
struct op *stream_mark(struct stream *stream);
/* Makes later work on the stream wait for the operation, which has this clock. */
void stream_follow(struct stream *stream, struct op *op, const struct clock *clock);
/* Returns the stamp of an operation that does nothing, such as an allocation. The caller owns the stamp. */
struct stamp *stream_stamp(struct stream *stream);
/*
 * Gives the operation the next time of the slot, and checks the memory that it touches. If it may not touch the memory,
 * it will do nothing, and copies and sets return a code.
 */
bi__cu_result op_enter(struct op *op, struct clock *clock, unsigned slot, uint32_t stream_number);

/* event.c */
void events_destroy_of(struct context *context);
void events_forget_of(struct context *context);
uint64_t events_live(void);

#endif
