"""The rules that are checked: one list. A rule has a name, the sentence that has to be true, and the source of the sentence."""

import collections

Rule = collections.namedtuple("Rule", "name wants source")

CAI = "CUDA Array Interface, version 3: "
DL = "DLPack: "
DLPY = "DLPack, Python specification: "
PEP = "Python/C API, Buffer Protocol (PEP 3118): "
AI = "NumPy, The array interface protocol: "
BI = "BufferInterface, specification: "

FIRST_CALL = "the first call"  # the name of the step in which a consumer gets a plain array

TITLES = {
    "array": "Array interface of NumPy",
    "buffer": "Buffer protocol of Python",
    "cai": "CUDA Array Interface",
    "dlpack": "DLPack",
    "buffer-interface": "BufferInterface",
    "all": "All protocols",
}


def _rules(source, *rows):
    return [Rule(name, wants, source + where) for name, wants, where in rows]


def _same(prefix, source, errors):
    """The rules of the two interfaces that publish a dictionary."""
    return _rules(
        source,
        (prefix + ".dict", "The attribute is a dict with the keys shape, typestr and version.", "the required keys"),
        (prefix + ".version", "`version` is an int that the interface defines.", "version"),
        (prefix + ".shape", "`shape` is a tuple of ints, none of them negative.", "shape"),
        (prefix + ".typestr", "`typestr` is a str: one of < > |, a kind, and the number of bytes.", "typestr"),
        (prefix + ".descr", "`descr` is a list of fields whose sizes add up to the size in `typestr`.", "descr"),
        (prefix + ".strides", "`strides` is None or a tuple of ints, one for each axis.", "strides"),
        (prefix + ".mask", "`mask` is None or an object that has the interface.", "mask"),
        (prefix + ".again", "A second look at the attribute gives the same array.", "one array has one description"),
        (prefix + ".error", "The attribute is there or raises AttributeError.", errors),
    )


PRODUCER = {
    "array": [
        *_same("array", AI, "an attribute that is missing raises AttributeError"),
        *_rules(
            AI,
            ("array.data", "`data` is (int, bool), None, or an object with the buffer protocol.", "data"),
            ("array.memory", "All bytes that the elements reach are memory of the process.", "data, shape and strides"),
            ("array.lifetime", "The memory stays as it is while the object lives.", "data: a reference to the object keeps the memory"),
            ("array.struct", "`__array_struct__` is a capsule of a PyArrayInterface whose `two` is 2.", "C-struct access"),
            ("array.struct-agrees", "`__array_struct__` and `__array_interface__` describe the same array.", "C-struct access"),
            ("array.struct-flags", "The flags of contiguity and writing in `__array_struct__` are true.", "C-struct access, flags"),
        ),
    ],
    "buffer": _rules(
        PEP,
        ("buffer.obj", "A buffer that was given names its exporter in `obj`; after a refusal `obj` is NULL.", "Py_buffer.obj; bf_getbuffer"),
        ("buffer.len", "`len` is the product of shape and itemsize, and ndim is 0 to 64.", "Py_buffer.len, ndim"),
        ("buffer.shape", "`shape` is there if it was requested and the array has dimensions, and no extent is negative.", "shape, strides, suboffsets"),
        ("buffer.strides", "`strides` are there if they were requested and the array has dimensions.", "shape, strides, suboffsets"),
        ("buffer.suboffsets", "`suboffsets` are NULL unless they were requested.", "shape, strides, suboffsets"),
        ("buffer.format", "`format` is filled in if it was requested, and otherwise NULL.", "readonly, format: PyBUF_FORMAT"),
        ("buffer.itemsize", "`itemsize` is the size that `format` has.", "Py_buffer.itemsize"),
        ("buffer.writable", "A buffer that was requested as writable is writable, or refused; all other requests agree on `readonly`.", "PyBUF_WRITABLE"),
        ("buffer.contiguous", "A buffer that was requested as contiguous, or without strides, is contiguous or refused.", "contiguity requests"),
        ("buffer.refusal", "A refusal raises BufferError.", "bf_getbuffer"),
        ("buffer.memory", "All bytes that the elements reach are memory of the process.", "Py_buffer.buf, strides"),
        ("buffer.again", "A second buffer describes the same array.", "bf_getbuffer"),
        ("buffer.release", "A released buffer leaves no reference to the exporter behind.", "bf_releasebuffer, PyBuffer_Release"),
        ("buffer.lifetime", "The memory stays as it is until the buffer is released, even if nobody else has the object.", "Py_buffer.obj"),
        ("buffer.threads", "Buffers can be taken and released on several threads.", "PyBuffer_Release"),
    ),
    "cai": [
        *_same("cai", CAI, "an attribute that is missing raises AttributeError"),
        *_rules(
            CAI,
            ("cai.data", "`data` is (int, bool), and the pointer is 0 only without elements.", "data"),
            ("cai.empty", "The pointer is 0 if there are no elements.", "data: for zero-size arrays, use 0 here"),
            ("cai.stream", "`stream` is None or an int, and never 0.", "stream"),
            ("cai.memory", "The pointer and all bytes that the elements reach are one allocation of the CUDA driver.", "data: device-accessible"),
            ("cai.order", "Work on `stream` comes after all pending work on the array; without a stream nothing is pending.", "Interface Requirements"),
        ),
    ],
    "dlpack": [
        *_rules(
            DLPY,
            ("dlpack.device", "`__dlpack_device__()` returns two ints, a DLDeviceType and a number, that are those of the tensor.", "Syntax for data interchange"),
            ("dlpack.capsule", "`__dlpack__()` returns a capsule named dltensor, or dltensor_versioned if `max_version` allows it.", "Implementation"),
            ("dlpack.version", "The major version of the tensor is not above that of `max_version`.", "Implementation, max_version"),
            ("dlpack.unused", "A capsule that nobody consumes releases its tensor once when it ends.", "Implementation, the destructor of the capsule"),
            ("dlpack.used", "A capsule that was consumed does not call the deleter.", "Implementation, used_dltensor"),
            ("dlpack.deleter", "The deleter releases the array: nothing keeps the object afterwards.", "Implementation, deleter"),
            ("dlpack.thread", "The deleter can be called on another thread.", "Implementation, deleter"),
            ("dlpack.lifetime", "The memory stays as it is until the deleter is called, even if nobody else has the object.", "Semantics"),
            ("dlpack.copy", "With copy=True the tensor has memory of its own, or BufferError is raised.", "__dlpack__, argument copy"),
            ("dlpack.no-copy", "With copy=False the tensor is no copy, or BufferError is raised.", "__dlpack__, argument copy"),
            ("dlpack.dl-device", "The array's own device is accepted as `dl_device`.", "__dlpack__, argument dl_device"),
            ("dlpack.order", "Work on the stream that was passed comes after all pending work on the array.", "__dlpack__, argument stream"),
        ),
        *_rules(
            DL,
            ("dlpack.shape", "ndim is not negative, `shape` is there if there are dimensions, and no extent is negative.", "DLTensor.ndim, shape"),
            ("dlpack.strides", "From version 1.2 on `strides` is there if there are dimensions.", "DLTensor.strides"),
            ("dlpack.type", "The type has a known code, bits that go with it, and at least one lane.", "DLDataType"),
            ("dlpack.flags", "Only flags that the version defines are set.", "DLManagedTensorVersioned.flags"),
            ("dlpack.readonly", "The flag read-only is set if another protocol of the object says that the array is read-only.", "DLPACK_FLAG_BITMASK_READ_ONLY"),
            ("dlpack.memory", "All bytes that the elements reach are memory of the process.", "DLTensor.data, byte_offset, strides"),
            ("dlpack.again", "A second export describes the same array.", "DLTensor"),
            ("dlpack.table", "`__dlpack_c_exchange_api__` is a capsule on the type with a table of major version 1, whose required functions are there.", "DLPackExchangeAPI"),
            ("dlpack.table-agrees", "The tensor that the table gives is that of `__dlpack__`.", "DLPackExchangeAPI"),
        ),
    ],
    "buffer-interface": _rules(
        BI,
        ("B-1", "The object has buffer, offset, shape, strides, and dtype or typestr.", "B-1"),
        ("B-2", "`__buffer_interface__` is a method of the type.", "B-2"),
        ("B-3", "The object that the method returns has `buffer_interface_version`, an int that is known.", "B-3"),
        ("B-4", "Attributes that state the same fact agree.", "B-4"),
        ("B-5", "`release()` may be called often; later uses raise an error that is both BufferError and ValueError.", "B-5"),
        ("B-7", "An unknown version, and a struct_size that is too small or above 4096, fail; `release` is NULL then.", "B-7"),
        ("B-8", "All bytes up to struct_size are written, none behind them, and struct_size stays.", "B-8"),
        ("B-9", "The version is the known one, and struct_size is between the known size and 4096.", "B-9"),
        ("B-10", "Later versions only append members.", "B-10"),
        ("B-11", "Only known flags below bit 16 are set, and `reserved` is 0.", "B-11"),
        ("B-12", "The structure and all that it points to stay unchanged until release.", "B-12"),
        ("B-13", "A structure that was moved by a copy of its bytes is released at its new place.", "B-13"),
        ("B-14", "ndim is at most 64, shape and strides are there if there are dimensions, and the memory has an end.", "B-14"),
        ("B-15", "No extent is negative.", "B-15"),
        ("B-16", "The elements and their reach are at most 2^63 - 1.", "B-16"),
        ("B-17", "All bytes that the elements reach lie in the memory.", "B-17"),
        ("B-18", "A flag of contiguity is set only if it is true.", "B-18"),
        ("B-19", "`handle` and `size` are memory that exists: of the process, or of the driver.", "B-19"),
        ("B-20", "A cl_mem is no sub-buffer.", "B-20"),
        ("B-21", "Kind of handle, device type and context go together.", "B-21"),
        ("B-22", "Without elements the handle may be 0.", "B-22"),
        ("B-23", "`device_id` is the number of a device that exists, and 0 on the host.", "B-23"),
        ("B-24", "An element is a whole number of bytes, in the order of the machine.", "B-24"),
        ("B-25", "Code and bits are in the table of types.", "B-25"),
        ("B-26", "A type has code 3 exactly if it has `descr`; its bits and lanes are those of bytes then.", "B-26"),
        ("B-27", "`item_size` goes with lanes and bits.", "B-27"),
        ("B-28", "`descr` is JSON of the form that the rule gives.", "B-28"),
        ("B-29", "The sizes of the fields add up to `item_size`.", "B-29"),
        ("B-30", "Work on `stream`, or after `event`, comes after all work that is pending.", "B-30"),
        ("B-31", "`stream` and `event` live until release.", "B-31"),
        ("B-32", "order_kind, stream, event and done agree, and pending work is named.", "B-32"),
        ("B-33", "Streams and events of OpenCL belong to `context`, or, for host memory, to the context that they report.", "B-33"),
        ("B-36", "After done() returned 0, work of the producer comes after the work that was handed back.", "B-36"),
        ("B-37", "`done` waits for no device.", "B-37"),
        ("B-38", "With the demand READY the memory is ready, and no stream is named.", "B-38"),
        ("B-39", "`release` sets itself to NULL, on any thread, without the GIL.", "B-39"),
        ("B-41", "A release while the interpreter finalises does not end the process.", "B-41"),
        ("B-42", "In a forked child an array in host memory stays usable.", "B-42"),
        ("B-43", "The release of one structure does not affect another.", "B-43"),
        ("B-44", "`__buffer_interface_c__` is a capsule named buffer_interface.c_api on the type.", "B-44"),
        ("B-45", "The table has a known version, its own size, and `acquire`.", "B-45"),
        ("B-46", "`acquire` returns 0, or -1 with an exception, and can be called by several threads.", "B-46"),
        ("B-47", "`acquire` does not copy, and does not wait for a device.", "B-47"),
        ("B-48", "Unknown demands are refused, unknown promises are ignored.", "B-48"),
        ("B-49", "With the promise BORROW the structure is the same.", "B-49"),
        ("B-50", "A masked array is refused.", "B-50"),
        ("B-51", "The structure outlives the object, and release leaves nothing behind.", "B-51"),
    ),
    "all": [
        Rule("all.agree", "All protocols of an object give the same shape and type.", "Each protocol: it describes this one array."),
        Rule("all.alive", "No call of a protocol crashes the process or goes on for ever.", "Each protocol: a call returns or raises."),
    ],
}

PROTOCOLS = [name for name in PRODUCER if name != "all"]
# Rules that no look at an array or at a consumer can judge, with the reason.
NOT_JUDGED = {
    "B-10": "it binds later versions of the page",
    "B-22": "it permits something, so nothing can break it",
    "buffer.illegal": "the buffer protocol does not require that a consumer looks for the faults of an exporter",
}

_CONSUMER_OF_BI = _rules(
    BI,
    ("bi.empty", "An array without elements is accepted, whatever its handle, offset and size.", "B-22"),
    ("bi.swapped", "Numbers in the other byte order have their right values, if they are accepted.", "B-24"),
    ("bi.order", "Work that is pending is waited for.", "B-34"),
)

CONSUMER = {
    protocol: [
        Rule(f"{short}.takes", "A plain array is accepted, and its elements are read.", source),
        Rule(f"{short}.odd", "Arrays that are legal in an odd way are accepted with their right elements"
             + (", or refused." if short != "bi" else "."), source),
        Rule(f"{short}.illegal", "Arrays that break a rule are refused.", source),
        Rule(f"{short}.released", "Each array is released once, when the consumer is done with it or has refused it.", source),
        Rule(f"{short}.lifetime", "The result does not use the memory after its release.", source),
        Rule(f"{short}.unchanged", "An array that is read-only is not written.", source),
        *(_CONSUMER_OF_BI if short == "bi" else []),
    ]
    for protocol, short, source in (
        ("array", "array", AI + "data, shape, strides, typestr"),
        ("buffer", "buffer", PEP + "Py_buffer, PyBuffer_Release"),
        ("dlpack", "dlpack", DLPY + "Semantics; DLPack: DLTensor"),
        ("buffer-interface", "bi", BI + "sections 4 to 7 and B-6, B-9, B-39, B-40"),
    )
}


def rules(protocols, is_consumer):
    """Returns {protocol: rules} in the order of the report."""
    table = CONSUMER if is_consumer else PRODUCER
    return {name: listed for name, listed in table.items() if name in protocols or (name == "all" and protocols)}
