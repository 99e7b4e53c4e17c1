/* Arguments of functions that take some of them by name. */
#ifndef BIP_ARGUMENTS_H
#define BIP_ARGUMENTS_H

#include "extension.h"

#define BIP_MOST_ARGUMENTS 8

struct bip_signature {
	const char *function;
	int required; /* the first ones; they and `positional` can be given by position or by name */
	int positional;
	const char *names[BIP_MOST_ARGUMENTS + 1]; /* up to NULL */
};

/* Borrowed references into `values`, as many as there are names; NULL for what is not given. */
int bip_arguments(const struct bip_signature *signature, PyObject *const *args, Py_ssize_t count, PyObject *names,
		  PyObject **values);

#endif
