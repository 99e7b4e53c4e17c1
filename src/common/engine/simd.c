#include "common/engine/simd.h"

#include <stdatomic.h>

static const struct bi__simd *const all[] = {
#ifdef BI__SIMD_X86
	&bi__simd_avx512,
#endif
#ifdef BI__SIMD_V128
	&bi__simd_v128,
#endif
	&bi__simd_portable,
	NULL,
};

const struct bi__simd *const *bi__simd_all(void)
{
	return all;
}

const struct bi__simd *bi__simd_best(void)
{
	static _Atomic(const struct bi__simd *) chosen;
	const struct bi__simd *simd = atomic_load_explicit(&chosen, memory_order_relaxed);

	if (simd)
		return simd;
	for (int i = 0; !simd; i++)
		if (all[i]->runs_here())
			simd = all[i];
	atomic_store_explicit(&chosen, simd, memory_order_relaxed);
	return simd;
}
