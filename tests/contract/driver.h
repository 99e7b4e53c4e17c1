/* The OpenCL driver behind the library's back: to make foreign objects and to look at their counts. */
#ifndef BI_TESTS_CONTRACT_DRIVER_H
#define BI_TESTS_CONTRACT_DRIVER_H

#include "opencl_driver.h"

struct bi_context;

cl_context driver_context(const struct bi_context *context);
/* The only, or first, device of the context. */
cl_device_id driver_device(const struct bi_context *context);
/* A new cl_context or queue for that device, or a buffer in that cl_context. Released by the caller. */
cl_context driver_new_context(const struct bi_context *context);
cl_command_queue driver_new_queue(cl_context context, cl_device_id device);
cl_mem driver_new_buffer(cl_context context, size_t nbytes);

enum driver_kind { DRIVER_CONTEXT, DRIVER_QUEUE, DRIVER_BUFFER, DRIVER_EVENT };

/* References to a cl_context, cl_command_queue, cl_mem or cl_event. */
cl_uint driver_references(enum driver_kind kind, void *handle);

/* Fails unless the count becomes `expected` within seconds: the driver's threads drop theirs after a command is done.
 */
void driver_expect_references(enum driver_kind kind, void *handle, cl_uint expected);

/* Bytes of a sub-buffer's granularity. */
size_t driver_alignment(const struct bi_context *context);

#endif
