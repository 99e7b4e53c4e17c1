/* devices(): the usable devices, then backends, platforms and devices that cannot be used, each with the reason. */
#include "devices.h"
#include "base/errors.h"

static PyStructSequence_Field fields[] = {
	{ "spec", "Device string of this device: 'opencl:0:1', 'cuda:1'." },
	{ "name", "Name of the device." },
	{ "backend", "'host', 'opencl' or 'cuda'." },
	{ "platform", "Name of the platform, or '' if the backend has none." },
	{ "kind", "'host', 'cpu', 'gpu', 'accelerator' or 'other'." },
	{ "memory", "Bytes of memory, or None if not known." },
	{ "capabilities", "Tuple of names: 'async', 'unified', 'out-of-order', 'profiling', 'svm', 'native-copy', "
			  "'external-memory'." },
	{ "usable",
	  "False if the device cannot be used: then only spec, backend, platform_number and reason are set." },
	{ "reason", "Why the device cannot be used, or ''." },
	{ "version", "Version that the driver reports." },
	{ "platform_number", "Number of the OpenCL platform, or 0." },
	{ "ordinal", "Number of the device on its platform." },
	{ NULL, NULL },
};

static PyStructSequence_Desc description = {
	.name = "buffer_interface.Device",
	.doc = "A device, or a backend that cannot be used. A named tuple that devices() returns.",
	.fields = fields,
	.n_in_sequence = (int)Py_ARRAY_LENGTH(fields) - 1,
};

static PyTypeObject *type;

static const struct {
	uint32_t bit;
	const char *name;
} capabilities[] = {
#define CAPABILITY(name, bit, text) { BI_CAP_##name, text },
	BI_CAPABILITY_MAP(CAPABILITY)
#undef CAPABILITY
};

static const char *kind_name(int kind)
{
	static const char *const names[] = {
#define KIND(name, text) [BI_DEVICE_KIND_##name] = (text),
		BI_DEVICE_KIND_MAP(KIND)
#undef KIND
	};

	return kind >= 0 && kind < BI_DEVICE_KIND_COUNT ? names[kind] : "other";
}

static int append_text(PyObject *list, const char *text)
{
	PyObject *object = PyUnicode_FromString(text);
	int rc = object ? PyList_Append(list, object) : -1;

	Py_XDECREF(object);
	return rc;
}

static PyObject *make_capabilities(uint32_t bits)
{
	PyObject *list = PyList_New(0), *tuple = NULL;

	for (size_t i = 0; list && i < Py_ARRAY_LENGTH(capabilities); i++)
		if (bits & capabilities[i].bit && append_text(list, capabilities[i].name))
			Py_CLEAR(list);
	if (list)
		tuple = PyList_AsTuple(list);
	Py_XDECREF(list);
	return tuple;
}

/*
 * Makes a str of a driver's text. Drivers do not report the encoding of their texts, so bytes that are not UTF-8 are
 * replaced.
 */
static PyObject *make_text(const char *text)
{
	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *make_device(const struct bi_device *device)
{
	PyObject *self = PyStructSequence_New(type);
	PyObject *values[] = {
		make_text(device->spec),
		make_text(device->name),
		make_text(device->backend),
		make_text(device->platform_name),
		make_text(device->usable ? kind_name(device->kind) : ""),
		device->memory ? PyLong_FromUnsignedLongLong(device->memory) : Py_NewRef(Py_None),
		make_capabilities(device->capabilities),
		PyBool_FromLong(device->usable),
		make_text(device->reason),
		make_text(device->platform_version),
		PyLong_FromLong(device->platform),
		PyLong_FromLong(device->ordinal),
	};
	int is_whole = self != NULL;

	for (Py_ssize_t i = 0; i < (Py_ssize_t)Py_ARRAY_LENGTH(values); i++) {
		is_whole &= values[i] != NULL;
		if (self)
			PyStructSequence_SetItem(self, i, values[i]);
		else
			Py_XDECREF(values[i]);
	}
	if (!is_whole)
		Py_CLEAR(self);
	return self;
}

static PyObject *make_list(const struct bi_device *devices, int count)
{
	PyObject *list = PyList_New(count);

	for (int i = 0; list && i < count; i++) {
		PyObject *device = make_device(&devices[i]);

		if (device)
			PyList_SET_ITEM(list, i, device);
		else
			Py_CLEAR(list);
	}
	return list;
}

/*
 * Lists the devices. Drops the GIL, because the library opens drivers. The first call of bi_devices returns the number
 * of devices. A device that appears before the second call may be left out. The caller frees *out with PyMem_RawFree,
 * also on failure. If memory is exhausted, returns BI_OK, and *out is NULL.
 */
static int list_devices(struct bi_device **out, int *count, struct bi_error *err)
{
	int capacity, rc;

	*out = NULL;
	Py_BEGIN_ALLOW_THREADS
	rc = bi_devices(NULL, 0, &capacity, err);
	if (!rc) {
		*out = PyMem_RawCalloc((size_t)capacity + 1, sizeof(**out));
		if (*out)
			rc = bi_devices(*out, capacity, count, err);
		if (*count > capacity)
			*count = capacity;
	}
	Py_END_ALLOW_THREADS
	return rc;
}

int bip_devices_ready(PyObject *module)
{
	type = PyStructSequence_NewType(&description);
	return type ? PyModule_AddObjectRef(module, "Device", (PyObject *)type) : -1;
}

PyObject *bip_devices(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
	struct bi_device *devices;
	PyObject *list = NULL;
	struct bi_error err;
	int count = 0, rc;

	rc = list_devices(&devices, &count, &err);
	if (rc)
		bip_raise(rc, &err);
	else if (!devices)
		PyErr_NoMemory();
	else
		list = make_list(devices, count);
	PyMem_RawFree(devices);
	return list;
}
