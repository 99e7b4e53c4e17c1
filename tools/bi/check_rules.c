#include "check_rules.h"

#include <string.h>

#define GATE \
	"an array with pending work is needed, which the command does not make; `python -m buffer_interface check` " \
	"judges the rule"

const struct check_rule check_producer_rules[] = {
	{ "B-7", "An unknown version, and a struct_size that is too small or above 4096, fail; `release` is NULL then.",
	  NULL, 0 },
	{ "B-8", "All bytes up to struct_size are written, none behind them, and struct_size stays.", NULL, 0 },
	{ "B-9", "The version is the known one, and struct_size is between the known size and 4096.", NULL, 0 },
	{ "B-10", "Later versions only append members.", "it is about later versions of the specification", 0 },
	{ "B-11", "Only known flags below bit 16 are set, and `reserved` is 0.", NULL, 0 },
	{ "B-12", "The structure and all that it points to stay unchanged until release.", NULL, 0 },
	{ "B-13", "A structure that was moved by a copy of its bytes is released at its new place.", NULL, 0 },
	{ "B-14", "ndim is at most 64, shape and strides are there if there are dimensions, and the memory has an end.",
	  NULL, 0 },
	{ "B-15", "No extent is negative.", NULL, 0 },
	{ "B-16", "The elements and their reach are at most 2^63 - 1.", NULL, 0 },
	{ "B-17", "All bytes that the elements reach lie in the memory.", NULL, 0 },
	{ "B-18", "A flag of contiguity is set only if it is true.", NULL, 0 },
	{ "B-19", "`handle` and `size` are memory that exists: of the process, or of the driver.", NULL, 0 },
	{ "B-20", "A cl_mem is no sub-buffer.", "the driver is not queried", 0 },
	{ "B-21", "Kind of handle, device type and context go together.", NULL, 0 },
	{ "B-22", "Without elements the handle may be 0.", "it permits something, so nothing can break it", 0 },
	{ "B-23", "`device_id` is not negative, and 0 on the host.", NULL, 0 },
	{ "B-24", "An element is a whole number of bytes, in the order of the machine.",
	  "the meaning of the bytes is known to the producer alone", 0 },
	{ "B-25", "Code and bits are in the table of types.", NULL, 0 },
	{ "B-26", "A type has code 3 exactly if it has `descr`; its bits and lanes are those of bytes then.", NULL, 0 },
	{ "B-27", "`item_size` goes with lanes and bits.", NULL, 0 },
	{ "B-28", "`descr` is JSON of the form that the rule gives.", NULL, 0 },
	{ "B-29", "The sizes of the fields add up to `item_size`.", NULL, 0 },
	{ "B-30", "Work on `stream`, or after `event`, comes after all work that is pending.", GATE, 0 },
	{ "B-31", "`stream` and `event` live until release.", GATE, 0 },
	{ "B-32", "order_kind, stream, event and done agree, and pending work is named.", NULL, 0 },
	{ "B-33",
	  "Streams and events of OpenCL belong to `context`, or, for host memory, to the context that they report.",
	  GATE, 0 },
	{ "B-36", "After done() returned 0, work of the producer comes after the work that was handed back.", GATE, 0 },
	{ "B-37", "`done` refuses arguments that B-32 forbids.", NULL, 0 },
	{ "B-38", "With the demand READY no stream and no event is named.", NULL, 0 },
	{ "B-39", "`release` sets itself to NULL, on any thread, without the GIL.", NULL, 0 },
	{ "B-42", "In a forked child an array in host memory stays usable.", NULL, 0 },
	{ "B-43", "The release of one structure does not affect another.", NULL, 0 },
	{ "B-46", "Threads that call the function at the same time get right structures.", NULL, 0 },
	{ "B-47", "`acquire` does not copy, and does not wait for a device.", "each call may make a new array", 0 },
	{ "B-48", "Unknown demands are refused, unknown promises are ignored.", NULL, 0 },
	{ "B-49", "With the promise BORROW the structure is the same.", NULL, 0 },
	{ "B-51", "The structure outlives the object, and release leaves nothing behind.", NULL, 0 },
	{ "all.alive", "No call of a protocol crashes the process or goes on for ever.", NULL, 1 },
	{ NULL, NULL, NULL, 0 },
};

const struct check_rule check_consumer_rules[] = {
	{ "bi.takes", "A plain array is accepted, and its elements are read.", NULL, 0 },
	{ "bi.odd", "Arrays that are legal but unusual have their right elements, if they are accepted.", NULL, 0 },
	{ "B-9", NULL, NULL, 0 },
	{ "B-10", "Members that are not known, behind those of this version, are ignored.", NULL, 0 },
	{ "B-11", NULL, NULL, 0 },
	{ "B-12", "A consumer does not write the structure, except to move it, nor what it points to.", NULL, 0 },
	{ "B-14", NULL, NULL, 0 },
	{ "B-15", NULL, NULL, 0 },
	{ "B-16", NULL, NULL, 0 },
	{ "B-17", NULL, NULL, 0 },
	{ "B-18", NULL, NULL, 0 },
	{ "B-21", NULL, NULL, 0 },
	{ "B-22", "Without elements handle, offset and size have no meaning, and the array is accepted.", NULL, 0 },
	{ "B-23", NULL, NULL, 0 },
	{ "B-25", NULL, NULL, 0 },
	{ "B-26", NULL, NULL, 0 },
	{ "B-27", NULL, NULL, 0 },
	{ "B-28", NULL, NULL, 0 },
	{ "B-29", NULL, NULL, 0 },
	{ "B-32", NULL, NULL, 0 },
	{ "B-34", "A consumer that works on the CPU waits for the stream or the event.", NULL, 0 },
	{ "B-39", "`release` is called once, also for an array that is refused.", NULL, 0 },
	{ "B-40", "The array is not used after its release.", NULL, 0 },
	{ "all.alive", "No call of a protocol crashes the process or goes on for ever.", NULL, 1 },
	{ NULL, NULL, NULL, 0 },
};

const char *check_producer_wants(const char *name)
{
	const struct check_rule *rule = check_producer_rules;

	while (strcmp(rule->name, name))
		rule++;
	return rule->wants;
}
