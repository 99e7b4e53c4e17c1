// Every macro of the public headers that a program uses as a value, and every header but those that include a vendor's.
#include <cstdio>

#include "buffer_interface.h"
#include "buffer_interface/abi.h"
#include "buffer_interface/binding.h"
#include "buffer_interface/cai.h"
#include "buffer_interface/check.h"
#include "buffer_interface/dlpack.h"
#include "buffer_interface/launch.h"
#include "buffer_interface/npy.h"

static const size_t pools[] = { BI_POOL_DEFAULT, BI_POOL_NONE };
static_assert(BI_POOL_DEFAULT == 0 && BI_POOL_NONE == SIZE_MAX, "limits of the pool");
static_assert(sizeof(BI_POOL_DEFAULT) == sizeof(size_t) && sizeof(BI_POOL_NONE) == sizeof(size_t), "their type");

static const int64_t numbers[] = {
	BI_OMITTED,     BI_MAX_NDIM,    BI_DTYPE_TEXT,    BI_MAX_THREADS,   BI_MAX_ARGUMENTS,
	BI_CAI_VERSION, BI_CAI_TYPESTR, BI_DLPACK_MAJOR,  BI_DLPACK_MINOR,  BI_DL_READONLY,
	BI_DL_COPIED,   BI_DL_PADDED,   BI_VERSION_MAJOR, BI_VERSION_MINOR, BI_VERSION_PATCH
};

static const uint32_t bits[] = { BI_ABI_VERSION,   BI_ABI_SIZE_MAX,    BI_READONLY,
				 BI_C_CONTIGUOUS,  BI_F_CONTIGUOUS,    BI_COPIED,
				 BI_ACQUIRE_READY, BI_ACQUIRE_READING, BI_ACQUIRE_BORROW };

#define TEXT(name, ...) #name,
static const char *const names[] = { BI_STATUS_MAP(TEXT) BI_TYPE_MAP(TEXT) BI_PLAN_MAP(TEXT) BI_DEVICE_KIND_MAP(TEXT)
					     BI_CAPABILITY_MAP(TEXT) BI_VERSION_STRING };

struct pair {
	int first, second;
};

static void launch(const bi_view *view, const pair *both)
{
	const bi_argument arguments[] = { BI_READS(view), BI_WRITES(view), BI_UPDATES(view),
					  BI_INT(1),      BI_INT64(2),     BI_FLOAT(1.5f),
					  BI_DOUBLE(2.5), BI_STRUCT(both), BI_LOCAL_BYTES(64) };

	std::printf("%zu\n", sizeof(arguments));
}

int main()
{
	bi_options options = BI_OPTIONS_INIT;
	bi_foreign foreign = BI_FOREIGN_INIT;
	bi_cai_import_options cai = BI_CAI_IMPORT_INIT;
	bi_dlpack_import_options dlpack = BI_DLPACK_IMPORT_INIT;
	bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	bi_exchange exchange = BI_EXCHANGE_INIT;
	const pair both = { 1, 2 };

	launch(nullptr, &both);
	options.pool_limit = pools[1];
	std::printf("%zu %zu %zu %zu %zu %d\n", options.struct_size, foreign.struct_size, cai.struct_size,
		    dlpack.struct_size, source.struct_size, BI_ABI_KNOWS(exchange.version));
	std::printf("%s %d %u %s\n", bi_exchange_check(&exchange), static_cast<int>(numbers[1]), bits[0], names[0]);
	return 0;
}
