/* shares_memory(): reports whether elements of two arrays share bytes. */
#include "handle.h"
#include "base/arguments.h"
#include "base/backends.h"
#include "operations/operations.h"

/* The position of element [0, ..., 0] in memory. All addresses form one space. Each cl_mem is a space of its own. */
struct position {
	uintptr_t space; /* the cl_mem as a number; 0: `at` is an address */
	uintptr_t at; /* bytes from the start of the space */
};

static struct position position_of(const struct bi_view *view)
{
	struct bi_native native;
	void *pointer;

	bip_mark_exported(view);
	pointer = bi_view_host_pointer(view);
	if (pointer)
		return (struct position){ 0, (uintptr_t)pointer };
	bi_view_native(view, &native);
	if (!bip_is_address((uint32_t)native.kind))
		return (struct position){ native.handle, native.offset };
	return (struct position){ 0, native.handle + native.offset };
}

static int share_bytes(const struct bi_view *a, const struct bi_view *b)
{
	struct bi_layout first, second;

	bi_view_layout(a, &first);
	bi_view_layout(b, &second);
	if (bi_view_memory(a) != bi_view_memory(b)) {
		struct position here = position_of(a), there = position_of(b);

		if (here.space != there.space)
			return 0;
		first.offset = (int64_t)((uint64_t)here.at - there.at);
		second.offset = 0;
	}
	return bi_layout_size(&first) && bi_layout_size(&second) && bi_layout_overlap(&first, &second);
}

PyObject *bip_shares_memory(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const struct bip_signature signature = { "shares_memory", 2, 2, { "a", "b", NULL } };
	struct bip_operand a, b;
	PyObject *values[2];
	int answer = -1;

	if (bip_arguments(&signature, args, count, names, values) || bip_operand_take(values[0], &a))
		return NULL;
	a.is_temporary = 0;
	if (bip_operand_take(values[1], &b) == 0) {
		b.is_temporary = 0;
		answer = share_bytes(a.view, b.view);
		bip_operand_finish(&b, NULL, 0);
	}
	bip_operand_finish(&a, NULL, 0);
	return answer < 0 ? NULL : PyBool_FromLong(answer);
}
