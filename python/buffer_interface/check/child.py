"""The process that has the producer or the consumer. It writes one JSON object for each result to a file descriptor."""

import gc
import importlib
import inspect
import json
import os
import sys

from . import buffers, consumers, cuda, dictionaries, dlpack, exchange, layout, opencl, rules, structs
from .judge import Judge, Stop, kind_of, published, short, watch

STEPS = {**dictionaries.STEPS, **buffers.STEPS, **dlpack.STEPS, **exchange.STEPS}


class Gate:
    """The argument `gate` of a factory: gate(queue) or gate(stream, "cuda") holds back the later work of it.

    After the first call, this object also has the attributes of the first gate that it made.
    """

    def __init__(self):
        self._gates = []

    def __call__(self, queue, kind="opencl"):
        self._gates.append(opencl.Gate(queue) if kind == "opencl" else cuda.Gate(queue))

    @property
    def is_used(self):
        return bool(self._gates)

    def __getattr__(self, name):
        if name.startswith("_") or not self._gates:
            raise AttributeError(name)
        return getattr(self._gates[0], name)

    def open(self):
        for gate in self._gates:
            gate.open()


class Maker:
    """Makes one of the factory's arrays anew with each call."""

    gate = Gate

    def __init__(self, factory, name):
        self._factory, self.name = factory, name
        array = self()
        lives = watch(array)
        del array
        self._keeps = lives is None or lives()

    def watch(self, array):
        """judge.watch, or None if the factory itself keeps its arrays."""
        return None if self._keeps else watch(array)

    def __call__(self, gate=None):
        if gate is not None and "gate" not in parameters(self._factory):
            return None
        return dict(arrays_of(self._factory, gate))[self.name]


def parameters(function):
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def arrays_of(factory, gate=None):
    """Returns [(name, array)] of what a factory returns: one array, a list or tuple, or a dict."""
    made = factory(gate=gate) if "gate" in parameters(factory) else factory()
    if isinstance(made, dict):
        return [(str(name), array) for name, array in made.items()]
    if isinstance(made, (list, tuple)) or inspect.isgenerator(made):
        return [(str(number), array) for number, array in enumerate(made)]
    return [("array", made)]


class Fatal(Exception):
    """The check cannot run."""


def load(target):
    module, _, name = target.partition(":")
    if not module or not name:
        raise Fatal(f"{target!r} is not MODULE:FUNCTION")
    sys.path.insert(0, os.getcwd())
    try:
        found = importlib.import_module(module)
    except Exception as error:
        raise Fatal(f"the module {module} cannot be imported ({short(error)})") from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise Fatal(f"{kind_of(found)} {getattr(found, '__name__', '')} has no {part!r}")
        found = getattr(found, part)
    if not callable(found):
        raise Fatal(f"{target} is a {kind_of(found)}, and not a function")
    return found


def speaks(array):
    found = []
    for protocol in rules.PROTOCOLS:
        if STEPS[protocol][0](array):
            found.append(protocol)
    return found


def first_look(factory):
    try:
        made = arrays_of(factory)
    except Exception as error:
        raise Fatal(f"the factory raises {short(error)}") from error
    if not made:
        raise Fatal("the factory returns no array")
    listed = [(name, kind_of(array), speaks(array)) for name, array in made]
    silent = [f"{name!r} ({kind})" for name, kind, protocols in listed if not protocols]
    if silent:
        raise Fatal(f"the factory returns {', '.join(silent)}, which has none of the protocols {', '.join(rules.PROTOCOLS)}")
    return listed


def judge_agreement(make, judge):
    """Shape and type of each protocol beside each other."""
    array, said = make(), {}
    value = published(array, "__array_interface__") or published(array, "__cuda_array_interface__")
    if isinstance(value, dict) and (value.get("descr") is None or len(value["descr"]) == 1):
        said["the dictionary"] = (value.get("shape"), str(value.get("typestr"))[1:])
    view, _ = buffers.take(array, buffers.FULL) if buffers.publishes(array) else (None, None)
    if view is not None:
        code = (view.format or b"B").decode("utf-8", "replace").lstrip("@=<>^")
        kind = "b" if code == "?" else "c" if code[:1] == "Z" else "f" if code in "efdg" else "i" if code in "bhilqn" else "u"
        if code in ("?", "Zf", "Zd", *"efdbhilqnBHILQN"):
            said["the buffer"] = (buffers.look_of(view)[1], f"{kind}{view.itemsize}")
        buffers.give_back(view)
    if dlpack.publishes(array):
        try:
            block, capsule, _ = dlpack.newest(array)
            tensor = block.tensor
            if tensor.code in layout.KINDS and tensor.lanes == 1:
                look = dlpack.tensor_look(tensor)
                said["the tensor"] = (look[1], f"{layout.KINDS[tensor.code]}{look[3]}")
            del block, capsule
        except Exception:
            pass
    if len(said) < 2:
        return judge.skip("all.agree", "no array has two protocols that can be compared")
    return judge.rule("all.agree", len(set(map(str, said.values()))) == 1, "; ".join(f"{name}: shape and type {value}" for name, value in said.items()))


class Run:
    """Runs steps, and writes what they pass on."""

    def __init__(self, output, done):
        self._output, self._done = output, set(done)
        sys.check_ending = self._ending = Ending(output.fileno())

    def write(self, **line):
        self._output.write(json.dumps(line) + "\n")
        self._output.flush()

    def is_left_out(self, array, protocol):
        """Whether a step of the protocol hung, or a consumer crashed in its first call."""
        return f"{array}/{protocol}/" in self._done

    def step(self, array, protocol, function, subject):
        key = f"{array}/{protocol}/{function.__name__}"
        if key in self._done or self.is_left_out(array, protocol):
            return
        self.write(begin=key)
        judge = Judge(lambda rule, status, text: self.write(rule=rule, status=status, text=text, array=array, protocol=protocol))
        try:
            function(subject, judge)
        except Stop:
            pass
        except Exception as error:
            self.write(rule="all.alive", status="broken", text=f"{protocol}: {short(error)}", array=array, protocol="all")
        self.write(end=key)

    def keep_for_the_end(self, name, make):
        if self.is_left_out(name, "buffer-interface"):
            return
        try:
            self._ending.keep(name, make)
        except Exception:  # the steps have reported it
            pass


class Ending:
    """Releases one structure of each array while the interpreter finalises, when it drops the attributes of sys (B-41)."""

    def __init__(self, fd):
        self._kept, self._write, self._fd = [], os.write, os.dup(fd)

    def keep(self, name, make):
        """Takes a structure, unless the array is refused or has none."""
        taken = exchange.take(SILENT, exchange.open_table(SILENT, array := make()), array)
        key = f"{name}/buffer-interface/release at the end"
        lines = {"begin": key}, {"rule": "B-41", "status": "holds", "text": "", "array": name, "protocol": "buffer-interface"}, {"end": key}
        before, *after = (json.dumps(line).encode() + b"\n" for line in lines)
        self._kept.append((before, structs.RELEASE(taken.x.release), taken, b"".join(after)))

    def __del__(self):
        for before, release, taken, after in self._kept:
            self._write(self._fd, before)
            release(taken.address)
            self._write(self._fd, after)


SILENT = Judge(lambda *result: None)


def check_producer(factory, protocols, run):
    listed = first_look(factory)
    run.write(arrays=listed)
    for name, _, spoken in listed:
        make = Maker(factory, name)
        for protocol in protocols:
            if protocol in spoken:
                for function in STEPS[protocol][1]:
                    run.step(name, protocol, function, make)
        run.step(name, "all", judge_agreement, make)
        if "buffer-interface" in spoken and "buffer-interface" in protocols:
            run.keep_for_the_end(name, make)


def check_consumer(function, protocols, run):
    run.write(arrays=[("consumer", getattr(function, "__name__", kind_of(function)), list(protocols))])
    for protocol in protocols:
        if protocol not in consumers.CASES:
            continue
        prefix, cases = consumers.CASES[protocol]
        if run.is_left_out("consumer", protocol):
            continue
        run.write(begin=f"consumer/{protocol}/{rules.FIRST_CALL}")
        why = consumers.takes(protocol, function)
        run.write(end=f"consumer/{protocol}/{rules.FIRST_CALL}")
        if why:
            for rule in rules.CONSUMER[protocol]:
                run.write(rule=rule.name, status="skip", text=why, array="consumer", protocol=protocol)
            continue
        for number, _ in enumerate(cases()):
            step = consumers.judge_protocol(protocol, number)
            step.__name__ = f"case {number}"
            run.step("consumer", protocol, step, function)
        if prefix == "bi":
            run.step("consumer", protocol, consumers.judge_order, function)


def main(arguments):
    """Arguments: file descriptor to write to, file descriptor of the task as JSON."""
    with open(int(arguments[1]), encoding="utf-8") as file:
        task = json.load(file)
    with open(int(arguments[0]), "w") as output:
        run = Run(output, task["done"])
        os.dup2(2, 1)  # a module that prints does not disturb the report
        try:
            judged = load(task["target"])
            gc.collect()
            gc.freeze()  # later collections look at what the steps make
            (check_consumer if task["consumer"] else check_producer)(judged, task["protocols"], run)
            run.write(done=True)
        except Fatal as error:
            run.write(fatal=str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
