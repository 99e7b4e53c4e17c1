/* Streams and events, and how work gets onto a stream. */
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
	unsigned thread; /* whose default stream it is */
	uint32_t number; /* for reports: 1, 2, … or PLACE_LEGACY, PLACE_PER_THREAD */
	unsigned slot;
	struct clock clock; /* of what is enqueued next */
	struct op *last; /* NULL: nothing, or nothing that could still matter */
	struct capture *capture; /* that it takes part in, or NULL */
	struct node_set tip; /* what the next captured node depends on */
	bi__cu_node *shown; /* handles of these, as cuStreamGetCaptureInfo_v2 lends them */
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
/* The stream that a handle names for this thread; NULL after a report, with *code set. */
struct stream *stream_find(bi__cu_stream handle, bi__cu_result *code);
/* The same, if the current context is the stream's and the stream may be given work now. */
struct stream *stream_for_work(bi__cu_stream handle, bi__cu_result *code);
int is_blocking(const struct stream *stream);
uint64_t streams_live(void);

/* enqueue.c */

/* Every earlier operation that one on this stream is ordered behind: joins their clocks, and makes `op` (not NULL)
 * follow. */
void stream_join(const struct stream *stream, struct clock *clock, struct op *op);
/*
 * Puts the action on the stream, or captures it; takes over what it holds. An action that reaches memory that it may
 * not is reported: INVALID_VALUE for copies and sets, else it is enqueued and does nothing. *out, if out is not NULL:
 * the operation, held by the caller; NULL if it was captured.
 */
bi__cu_result stream_enqueue(struct stream *stream, const struct action *action, struct op **out);
/* The calling thread does not go on before the stream's work is done; it is counted. */
bi__cu_result stream_wait(struct stream *stream);
/* A point behind what is on the stream, held by the caller. */
struct op *stream_mark(struct stream *stream);
/* Makes what is enqueued later wait for the operation, whose clock this is. */
void stream_follow(struct stream *stream, struct op *op, const struct clock *clock);
/* An operation that does nothing but be remembered, as the allocation of memory; the caller takes the stamp. */
struct stamp *stream_stamp(struct stream *stream);
/*
 * Examines what the operation touches, at the time that the clock then gets in the slot. If it may not touch that, the
 * operation will do nothing, and for copies and sets the code says so.
 */
bi__cu_result op_enter(struct op *op, struct clock *clock, unsigned slot, uint32_t stream_number);

/* event.c */
void events_destroy_of(struct context *context);
void events_forget_of(struct context *context);
uint64_t events_live(void);

#endif
