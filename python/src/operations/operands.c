/* Operands: the arrays that a user gives to an operation. */
#include "lifetime.h"
#include "object.h"
#include "import/import.h"
#include "operations/operations.h"

int bip_operand_take(PyObject *object, struct bip_operand *out)
{
	*out = (struct bip_operand){ bip_as_object(object), NULL, 0 };
	if (!out->object)
		return -1;
	out->is_temporary = out->object != object;
	out->view = bip_hold(out->object);
	if (out->view)
		return 0;
	Py_CLEAR(out->object);
	return -1;
}

static int must_wait_for(const struct bip_operand *operand, PyObject *stream)
{
	unsigned flags = ((struct bip_object *)operand->object)->flags;

	if (!operand->is_temporary || flags & BIP_UNORDERED)
		return 0;
	if (bi_memory_is_host(bi_view_memory(operand->view)))
		return 1;
	return flags & BIP_WAIT_AT_EXIT && (!stream || stream == Py_None);
}

int bip_operand_finish(struct bip_operand *operand, PyObject *stream, int rc)
{
	if (must_wait_for(operand, stream))
		rc = bip_wait_for(operand->view, rc);
	bip_release_view(operand->view);
	Py_DECREF(operand->object);
	return rc;
}
