/* The typed functions of the public cuda.h, with the vendor's types. foreign_opencl.c (contract) tests opencl.h. */
#include "unit.h"

#include "buffer_interface/cuda.h"

/* NULL in place of a CUcontext does not open the primary context. */
static void a_missing_context_is_refused(void **state)
{
	const struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *wrapped = STALE(struct bi_context);

	(void)state;
	REFUSED_FOR(BI_EINVAL, "adopt_context is 0", bi_cuda_context_wrap(NULL, NULL, options, &wrapped, &error));
	assert_null(wrapped);
	wrapped = STALE(struct bi_context);
	REFUSED_FOR(BI_EINVAL, "adopt_context is 0",
		    bi_cuda_context_wrap(NULL, CU_STREAM_LEGACY, options, &wrapped, &error));
	assert_null(wrapped);
}

static void handles_come_back_as_they_were_given(void **state)
{
	const struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *own = open_device("cuda"), *wrapped;
	CUstream queue = bi_cuda_stream(bi_context_stream(own));
	struct bi_stream *stream = STALE(struct bi_stream);
	struct bi_event *recorded, *event;

	(void)state;
	OK(bi_cuda_context_wrap(bi_cuda_context(own), queue, options, &wrapped, &error));
	assert_ptr_equal(bi_cuda_context(wrapped), bi_cuda_context(own));
	assert_ptr_equal(bi_cuda_stream(bi_context_stream(wrapped)), queue);
	REFUSED(BI_EINVAL, bi_cuda_stream_wrap(wrapped, NULL, &stream, &error));
	OK(bi_cuda_stream_wrap(wrapped, queue, &stream, &error));
	assert_ptr_equal(bi_cuda_stream(stream), queue);
	OK(bi_event_record(stream, &recorded, &error));
	REFUSED(BI_EINVAL, bi_cuda_event_wrap(wrapped, NULL, &event, &error));
	OK(bi_cuda_event_wrap(wrapped, bi_cuda_event(recorded), &event, &error));
	OK(bi_event_synchronize(event, &error));
	bi_event_release(event);
	bi_event_release(recorded);
	bi_stream_release(stream);
	bi_context_release(wrapped);
	bi_context_release(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_context_is_refused),
		cmocka_unit_test(handles_come_back_as_they_were_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
