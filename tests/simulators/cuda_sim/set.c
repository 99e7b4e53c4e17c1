#include "scheduler.h"
#include "stream.h"

static bi__cu_result set(uint64_t address, unsigned value, unsigned size, size_t count, bi__cu_stream handle)
{
	struct action action = { .kind = ACTION_SET };
	bi__cu_result code;
	struct stream *stream = stream_for_work(handle, &code);

	if (!stream)
		return code;
	if (address % size || count > SIZE_MAX / size)
		return BI__CU_ERROR_INVALID_VALUE;
	if (!count)
		return BI__CU_SUCCESS;
	action.of.set.address = address;
	action.of.set.count = count;
	action.of.set.size = size;
	action.of.set.value = value;
	return stream_enqueue(stream, &action, NULL);
}

bi__cu_result cuMemsetD8Async(bi__cu_pointer dst, unsigned char value, size_t count, bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuMemsetD8Async);

	return leave(code ? code : set(dst, value, 1, count, stream));
}

bi__cu_result cuMemsetD16Async(bi__cu_pointer dst, unsigned short value, size_t count, bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuMemsetD16Async);

	return leave(code ? code : set(dst, value, 2, count, stream));
}

bi__cu_result cuMemsetD32Async(bi__cu_pointer dst, unsigned value, size_t count, bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuMemsetD32Async);

	return leave(code ? code : set(dst, value, 4, count, stream));
}
