/* Somebody else's program: opens a device, moves four numbers, prints the version. */
#include <buffer_interface.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	const float numbers[4] = { 1, 2, 3, 4 };
	const int64_t shape[1] = { 4 };
	float back[4];
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context = NULL;
	struct bi_view *view = NULL;
	struct bi_dtype dtype;
	struct bi_error err;
	int rc;

	options.device = "host";
	rc = bi_dtype_make(BI_FLOAT32, 1, 0, &dtype, &err);
	if (!rc)
		rc = bi_context_open(&options, &context, &err);
	if (!rc)
		rc = bi_view_empty(context, dtype, 1, shape, &view, &err);
	if (!rc)
		rc = bi_view_write(view, numbers, sizeof(numbers), &err);
	if (!rc)
		rc = bi_view_read(view, back, sizeof(back), &err);
	if (rc)
		printf("%s\n", err.message);
	else if (memcmp(numbers, back, sizeof(back)) != 0)
		printf("the numbers have changed\n");
	else
		printf("%s\n", bi_version());
	bi_view_release(view);
	bi_context_release(context);
	return rc != BI_OK;
}
