/* Memory that consumers may read and write as host memory. */
#include "host_memory.h"
#include "object.h"

int bip_is_host(const struct bi_view *view)
{
	if (bi_memory_is_host(bi_view_memory(view)))
		return 1;
	return bi_dlpack_device(view).device_type == BI_EXCHANGE_DEVICE_CUDA_HOST;
}

void *bip_host_address(const struct bi_view *view)
{
	static char nothing[16]; /* the address that an array without elements has */
	void *address = bi_view_host_pointer(view);

	return address ? address : nothing;
}

int bip_settle(const struct bi_view *view)
{
	return bi_view_is_idle(view) ? 0 : bip_wait_for(view, 0);
}
