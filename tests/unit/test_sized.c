/*
 * struct_size in both directions: a program built with an older header passes a shorter struct, one built with a newer
 * header a longer one.
 */
#include "unit.h"

#include <string.h>

#include "buffer_interface/cai.h"
#include "buffer_interface/dlpack.h"
#include "common/base/sized.h"

/* The structs as an older header had them. */
struct old_options {
	size_t struct_size;
	const char *device;
};

struct old_foreign {
	size_t struct_size;
	enum bi_handle_kind kind;
	uintptr_t handle;
	size_t nbytes;
	unsigned flags;
};

struct old_import_options {
	size_t struct_size;
	unsigned flags;
};

/* The structs as a newer header may have them. */
#define NEWER(name, type) \
	struct name { \
		struct type known; \
		uint64_t added; \
	}

NEWER(new_options, bi_options);
NEWER(new_foreign, bi_foreign);
NEWER(new_cai_options, bi_cai_import_options);
NEWER(new_dlpack_options, bi_dlpack_import_options);

static struct bi_context *open_host(void)
{
	struct bi_context *context;
	struct bi_options options = BI_OPTIONS_INIT;

	options.device = "host";
	assert_int_equal(bi_context_open(&options, &context, &error), BI_OK);
	return context;
}

static int open_with(const void *options)
{
	struct bi_context *context;
	int rc = bi_context_open(options, &context, &error);

	bi_context_release(context);
	return rc;
}

static void options_of_other_versions(void **state)
{
	/* What follows the old struct in memory is no part of it. */
	struct {
		struct old_options options;
		unsigned char behind[256];
	} old = { { sizeof(old.options), "host" }, { 0 } };
	struct new_options newer = { BI_OPTIONS_INIT, 0 };

	(void)state;
	memset(old.behind, 0xa5, sizeof(old.behind));
	assert_int_equal(open_with(&old), BI_OK);
	old.options.struct_size = sizeof(size_t);
	assert_int_equal(open_with(&old), BI_EINVAL);
	newer.known.struct_size = sizeof(newer);
	newer.known.device = "host";
	assert_int_equal(open_with(&newer), BI_OK);
	newer.added = UINT64_C(1) << 63;
	assert_int_equal(open_with(&newer), BI_EINVAL);
	assert_non_null(strstr(error.message, "struct_size"));
	newer.known.struct_size = BI__SIZED_MAX + sizeof(size_t);
	assert_int_equal(open_with(&newer), BI_EINVAL);
	assert_non_null(strstr(error.message, "4096"));
}

static int wrap_with(struct bi_context *context, const void *foreign)
{
	struct bi_memory *memory;
	int rc = bi_memory_wrap(context, foreign, &memory, &error);

	if (!rc)
		assert_int_equal(bi_memory_nbytes(memory), 16);
	bi_memory_release(memory);
	return rc;
}

static void count(void *calls)
{
	++*(int *)calls;
}

static void foreign_memory_of_other_versions(void **state)
{
	static int numbers[4];
	struct bi_context *context = open_host();
	struct {
		struct old_foreign foreign;
		unsigned char behind[256];
	} old = { { sizeof(old.foreign), BI_HANDLE_HOST, (uintptr_t)numbers, sizeof(numbers), 0 }, { 0 } };
	struct new_foreign newer = { BI_FOREIGN_INIT, 0 };
	int calls = 0;

	(void)state;
	memset(old.behind, 0xa5, sizeof(old.behind));
	assert_int_equal(wrap_with(context, &old), BI_OK);
	newer.known.struct_size = sizeof(newer);
	newer.known.handle = (uintptr_t)numbers;
	newer.known.nbytes = sizeof(numbers);
	newer.known.release = count;
	newer.known.release_data = &calls;
	assert_int_equal(wrap_with(context, &newer), BI_OK);
	assert_int_equal(calls, 1);
	newer.added = 1;
	assert_int_equal(wrap_with(context, &newer), BI_EINVAL);
	assert_int_equal(calls, 1);
	bi_context_release(context);
}

/* Tensors and dictionaries that are refused after the options were read: only the options decide the message. */
static void import_options_of_other_versions(void **state)
{
	struct bi_context *context = open_host();
	struct old_import_options old = { sizeof(old), 1u << 31 };
	struct new_cai_options cai_options = { BI_CAI_IMPORT_INIT, 0 };
	struct new_dlpack_options dlpack_options = { BI_DLPACK_IMPORT_INIT, 0 };
	struct bi_dl_managed tensor = { .tensor = { .device = { BI_EXCHANGE_DEVICE_CPU, 0 }, .ndim = -1 } };
	struct bi_cai cai = { .version = -1 };
	struct bi_view *view;

	(void)state;
	cai_options.known.struct_size = sizeof(cai_options);
	dlpack_options.known.struct_size = sizeof(dlpack_options);
#define REFUSED_BY(words, call) \
	do { \
		assert_int_not_equal(call, BI_OK); \
		assert_non_null(strstr(error.message, words)); \
	} while (0)
	REFUSED_BY("unknown bits", bi_cai_import(context, &cai, (const void *)&old, &view, &error));
	REFUSED_BY("unknown bits", bi_dlpack_import_unversioned(context, &tensor, (const void *)&old, &view, &error));
	REFUSED_BY("version", bi_cai_import(context, &cai, &cai_options.known, &view, &error));
	assert_int_not_equal(bi_dlpack_import_unversioned(context, &tensor, &dlpack_options.known, &view, &error),
			     BI_OK);
	assert_null(strstr(error.message, "struct_size"));
	assert_null(strstr(error.message, "unknown bits"));
	cai_options.added = dlpack_options.added = 1;
	REFUSED_BY("struct_size", bi_cai_import(context, &cai, &cai_options.known, &view, &error));
	REFUSED_BY("struct_size", bi_dlpack_import_unversioned(context, &tensor, &dlpack_options.known, &view, &error));
#undef REFUSED_BY
	bi_context_release(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_of_other_versions),
		cmocka_unit_test(foreign_memory_of_other_versions),
		cmocka_unit_test(import_options_of_other_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
