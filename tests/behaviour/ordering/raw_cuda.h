/* What the rows about CUDA need beside the table of raw_driver.h. */
#ifndef BI_TESTS_ORDERING_RAW_CUDA_H
#define BI_TESTS_ORDERING_RAW_CUDA_H

#include "objects.h"
#include "cuda_driver.h"

void check_cuda(bi__cu_result code, const char *call, const char *file, int line);

/* DID(Init(0)): a call of the driver, which must succeed. */
#define DID(call) check_cuda(cuda_driver()->call, #call, __FILE__, __LINE__)

bi__cu_stream cuda_stream_of(const struct bi_stream *stream);
bi__cu_pointer cuda_pointer_of(const struct bi_view *view);

/* Makes the context current, and no longer. */
void cuda_enter(const struct bi_context *context);
void cuda_leave(void);

/* Calls so far; the index, counted from there, of the nth call of that name since then; 0: there was none. */
uint64_t cuda_calls(void);
unsigned cuda_find_call(uint64_t since, const char *name, unsigned nth);
/* The nth call of the interface from now on fails with the code; 0: none does. */
void cuda_fail_call(unsigned nth, bi__cu_result code);
/* The nth call from now on and the count - 1 after it fail. nth 0: none. */
void cuda_fail_calls(unsigned nth, unsigned count, bi__cu_result code);

#endif
