#include <string.h>

#include "base/backends.h"

int bip_backend_named(const char *name, size_t length, struct bi_backend *out)
{
	for (int i = 0; bi_backend_at(i, out); i++)
		if (strlen(out->name) == length && memcmp(out->name, name, length) == 0)
			return 1;
	return 0;
}

struct bi_backend bip_backend_of(const struct bi_context *context)
{
	const char *name = bi_context_device(context)->backend;
	struct bi_backend backend = { .name = name };

	bip_backend_named(name, strlen(name), &backend);
	return backend;
}

int bip_backend_with_handle(uint32_t kind, struct bi_backend *out)
{
	for (int i = 0; bi_backend_at(i, out); i++)
		if (out->handle == (enum bi_handle_kind)kind)
			return 1;
	return 0;
}

int bip_backend_with_numbers(int numbers, struct bi_backend *out)
{
	for (int i = 0; bi_backend_at(i, out); i++)
		if (out->numbers == numbers)
			return 1;
	return 0;
}
