/*
 * The scenario's own use of the driver: producers and consumers that are not the library. A call that fails because it
 * was made to is made once more: what is swept are the library's calls.
 */
#ifndef BI_TESTS_CUDA_SWEEP_RAW_H
#define BI_TESTS_CUDA_SWEEP_RAW_H

#include "cuda_driver.h"
#include "trial.h"

#define RAW_AGAIN(call) ((call) == BI__CU_SUCCESS ? BI__CU_SUCCESS : (call))

/* RAW(trial, MemAlloc, (&pointer, n)): one step, as TRY. */
#define RAW(trial, name, arguments) \
	raw_note((trial), (trial)->rc ? BI__CU_SUCCESS : RAW_AGAIN(cuda_driver()->name arguments), #name)

/* True if a step has failed, this one or one before. */
int raw_note(struct trial *trial, bi__cu_result code, const char *call);

/* Makes a context current, and puts back what was. Nothing may be skipped in between: raw_leave always belongs to it.
 */
void raw_enter(uintptr_t context);
void raw_leave(void);

/* The primary context of a device, retained for the scenario. */
uintptr_t raw_primary(struct trial *trial, int ordinal);
/* A context of the scenario's own. */
uintptr_t raw_context(struct trial *trial, int ordinal);
/* Non-blocking. */
uintptr_t raw_stream(struct trial *trial, uintptr_t context);
/* Now, not at the end. */
void raw_close_stream(struct trial *trial, uintptr_t context, uintptr_t stream);

enum raw_kind { RAW_DEVICE, RAW_PINNED, RAW_MANAGED };

bi__cu_pointer raw_memory(struct trial *trial, uintptr_t context, enum raw_kind kind, size_t nbytes);
/* Somebody works on that memory on a stream: it is waited for before the memory, made before, goes. */
void raw_worker(struct trial *trial, uintptr_t context, uintptr_t stream);
void raw_set(struct trial *trial, uintptr_t context, uintptr_t stream, bi__cu_pointer pointer, unsigned char value,
	     size_t nbytes);
/* An event behind what is now on the stream. */
uintptr_t raw_event(struct trial *trial, uintptr_t context, uintptr_t stream);
void raw_synchronize(struct trial *trial, uintptr_t context, uintptr_t stream);

/* Outside of steps, for what has to be done whatever happened. */
void raw_finish(uintptr_t context, uintptr_t stream);
void *raw_pinned(uintptr_t context, size_t nbytes);
void raw_free_pinned(uintptr_t context, void *bytes);

/*
 * A word that streams wait for: while it is closed nothing behind the wait runs. It is opened before anything of the
 * scenario is let go.
 */
unsigned *raw_gate(struct trial *trial, uintptr_t context);
void raw_wait_gate(struct trial *trial, uintptr_t context, uintptr_t stream, unsigned *gate);
void raw_open_gate(unsigned *gate);

/* Everything after `raw_capture` on that stream belongs to a graph, until raw_launch ends it and runs it `times`. */
void raw_capture(struct trial *trial, uintptr_t context, uintptr_t stream);
void raw_launch(struct trial *trial, uintptr_t context, uintptr_t stream, int times);

/*
 * Memory of a producer who works on `stream`, as an array. He has just set its bytes there. His callback uses the
 * memory at once, as the rules allow: `named` (the stream, wrapped) says that he named his stream, and he goes on
 * there; else the scenario frees it. The expected bytes are there even if a step has failed.
 */
struct array *raw_produce(struct trial *trial, struct bi_context *context, uintptr_t stream, struct bi_stream *named,
			  size_t nbytes);
/* He names no stream but an event behind his work. */
struct array *raw_produce_event(struct trial *trial, struct bi_context *context, uintptr_t stream, size_t nbytes);

#endif
