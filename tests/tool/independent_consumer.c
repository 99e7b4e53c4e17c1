/* The function that `bi check` needs of examples/independent/consumer.c, and one that does not wait for pending work. */
#include "../../examples/independent/consumer.c"

int buffer_interface_consume(struct bi_exchange *array, void *elements, size_t size);
int B34_early(struct bi_exchange *array, void *elements, size_t size);

int buffer_interface_consume(struct bi_exchange *array, void *elements, size_t size)
{
	const char *why = consumer_start(array, 0);

	if (why)
		return -1;
	consumer_finish();
	memcpy(elements, values, (size_t)count * sizeof(*values) < size ? (size_t)count * sizeof(*values) : size);
	return 0;
}

int B34_early(struct bi_exchange *array, void *elements, size_t size)
{
	if (array->handle_kind == BI_HANDLE_CL_MEM)
		array->order_kind = array->stream = array->event = 0;
	return buffer_interface_consume(array, elements, size);
}
