/* OpenCL behind the library's back: what the seam of driver.h is too narrow for. */
#ifndef BI_TESTS_CONTRACT_DRIVER_OPENCL_H
#define BI_TESTS_CONTRACT_DRIVER_OPENCL_H

#include "driver.h"
#include "opencl_driver.h"

cl_context opencl_context(const struct bi_context *context);
cl_mem opencl_buffer(const struct bi_context *context, cl_mem_flags flags, size_t nbytes);
/* Bytes of a sub-buffer's granularity. */
size_t opencl_alignment(const struct bi_context *context);
void expect_buffer_references(cl_mem buffer, unsigned expected);

#endif
