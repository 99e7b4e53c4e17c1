/* Stream capture and graphs. */
#ifndef BI_TESTS_CUDA_SIM_CAPTURE_H
#define BI_TESTS_CUDA_SIM_CAPTURE_H

#include "clock.h"
#include "sim.h"
#include "work.h"

struct event;

/* Indices of nodes in a graph, each once. */
struct node_set {
	size_t *list;
	size_t count;
};

/* An action that each launch of the graph does. */
struct node {
	bi__cu_node handle;
	struct context *context;
	struct action action;
	struct node_set after;
};

struct graph {
	struct graph *next; /* in the list of all */
	bi__cu_graph handle;
	void *exec; /* handle, if it is an executable one */
	struct op *last; /* the end of its last launch */
	struct clock clock;
	struct node *nodes;
	size_t count, capacity;
};

/* One capture. Reference-counted: streams and events hold references. */
struct capture {
	struct capture *next; /* among those that have not ended */
	unsigned references;
	uint64_t id;
	unsigned mode;
	unsigned thread;
	int is_invalid, has_ended;
	struct stream *origin;
	struct graph *graph;
};

/* capture.c */

/* The following return 0, or the code with which a call fails. First: calls that are not safe during captures. */
bi__cu_result capture_admits_unsafe(void);
/* Work on the stream. */
bi__cu_result capture_admits_work(struct stream *stream);
/* Queries of, and waits for, a stream, an event and a context. They are not safe either. */
bi__cu_result capture_admits_asking(struct stream *stream);
bi__cu_result capture_admits_event(const struct event *event);
bi__cu_result capture_admits_synchronising(struct context *context);
/* Calls on the stream that cannot be captured. */
bi__cu_result capture_refuses(struct stream *stream);
void capture_node(struct stream *stream, const struct action *action);
void capture_record(struct stream *stream, struct event *event);
/* Does the wait if the event or the stream is captured, and sets *code. Otherwise returns 0. */
int capture_wait(struct stream *stream, const struct event *event, bi__cu_result *code);
void capture_release(struct capture *capture);
void capture_stream_destroyed(struct stream *stream);
void node_set_clear(struct node_set *set);
void node_set_add(struct node_set *set, const struct node_set *other);
void captures_forget(void);

/* graph.c */
struct graph *graph_new(void);
void graph_destroy(struct graph *graph);
/* Takes ownership of the references of the action, and of the list of the set. */
void graph_add(struct graph *graph, struct context *context, const struct action *action, struct node_set *after);
void graphs_report_left(void);
void graphs_forget(void);

#endif
