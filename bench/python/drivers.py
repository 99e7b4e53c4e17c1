"""The driver's own calls beside the library, for any device."""

from native import Missing, Unavailable


def place_of(spec):
    """(platform, ordinal) of "opencl:0:1", (ordinal,) of "cuda:0"."""
    return tuple(int(number) for number in spec.split(":")[1:])


def raw(array, spec, wanted, beside=None):
    """A job of the driver's own calls for the same request; on an OpenCL CPU device with the memory of the library's
    job `beside`, if there is one."""
    backend = spec.split(":")[0]
    if backend == "opencl":
        return array.job("opencl", *place_of(spec), wanted, beside and beside.handle)
    if backend != "cuda":
        raise Unavailable(f"{spec} has no driver")
    return array.job("cuda", *place_of(spec), wanted)


def use_kernel(job):
    """Makes a job of OpenCL's own calls copy by a simple kernel, which is compiled now."""
    if job.native.call("opencl_use_kernel", job.handle):
        raise Unavailable(job.native.message())
    return job


def ours(array, spec, wanted, threads=0):
    return array.job("library", spec.encode(), wanted, threads=threads)


def verified(job, what):
    job.verify(what)
    return job


# PoCL's name of its synchronous device, which shows the cost of the calls alone.
SYNCHRONOUS = ("basic", "cpu-minimal")


def cpus(here):
    """Returns (words, spec) of an asynchronous and of a synchronous OpenCL CPU device, if there are such devices."""
    found = {}
    for device in here.devices():
        if device["spec"].startswith("opencl:") and device["kind"] == "cpu":
            words = "OpenCL CPU" + (", synchronous" if device["name"].startswith(SYNCHRONOUS) else "")
            found.setdefault(words, device["spec"])
    return dict(sorted(found.items()))


def gpus(report, here, quick):
    """The first GPU of each backend. The simulated driver copies in the calling thread: it is checked, never timed."""
    found = {}
    for device in here.devices():
        if device["kind"] == "gpu" and (quick or "imulated" not in device["name"]):
            found.setdefault(device["spec"].split(":")[0], device["spec"])
    if not found:
        report.skip("rows on a GPU", Missing("there is none"))
    return list(found.values())
