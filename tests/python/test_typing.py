"""The stub says what the package has: every public name and member, and the parameters of each function."""

import ast
import inspect
import pathlib
import types

import pytest

import buffer_interface as bi

PACKAGE = pathlib.Path(bi.__file__).parent
STUB = ast.parse((PACKAGE / "__init__.pyi").read_text())
# The slot is there in every version; its name came with Python 3.12.
SLOTS = {"__buffer__", "__release_buffer__"}
# The operators of arithmetic only refuse, so the stub does not have them.
BINARY = ["add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"]
REFUSED = {f"__{side}{name}__" for name in BINARY for side in ("", "r")} | {"__neg__", "__pos__", "__abs__", "__invert__"}
# So do the methods of libraries that compute.
COMPUTED = ["all", "any", "argmax", "argmin", "argsort", "astype", "clip", "cumsum", "dot", "flatten", "max", "mean", "min",
            "nonzero", "prod", "round", "sort", "std", "sum", "var"]  # fmt: skip
DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)
# What every class has.
COMMON = set(dir(object)) | {"__module__", "__doc__", "__weakref__"}


def members(body):
    """Names that a body of the stub defines, with their definitions."""
    found = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = node
    return found


def is_public(name):
    return not name.startswith("_") or name == "__version__"


NAMES = {name: node for name, node in members(STUB.body).items() if is_public(name)}
FUNCTIONS = [name for name, node in NAMES.items() if isinstance(node, ast.FunctionDef)]


def classes():
    """The classes of the stub as they are at run time; no user makes some of them, so they are those of objects."""
    array = bi.empty(1, "f4", device="host")
    assert type(array.buffer) is bi.Handle and type(array.map()) is bi.Mapping and type(bi.devices()[0]) is bi.Device
    return {name: getattr(bi, name) for name, node in NAMES.items() if isinstance(node, ast.ClassDef)}


def runtime_names():
    return {name for name in dir(bi) if is_public(name) and not isinstance(getattr(bi, name), types.ModuleType)}


def test_every_public_name_is_in_the_stub():
    assert runtime_names() - set(NAMES) == set()


def test_every_name_of_the_stub_is_public():
    assert set(NAMES) - runtime_names() == set()


def test_all_is_every_public_name():
    (stub,) = [node.value for node in STUB.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"]
    assert ast.literal_eval(stub) == bi.__all__ == sorted(bi.__all__)
    assert set(bi.__all__) == runtime_names() - {"__version__"}


def test_classes_have_the_names_of_the_stub():
    for name, cls in classes().items():
        assert cls.__name__ == name and cls.__module__ == "buffer_interface"


@pytest.mark.parametrize("name", ["BufferInterface", "Mapping", "Handle"])
def test_members_of_classes(name):
    cls = classes()[name]
    stub = set(members(NAMES[name].body)) - SLOTS - COMMON
    refused = REFUSED.union(COMPUTED) if name == "BufferInterface" else set()
    assert stub == {member for member in vars(cls) if member not in COMMON | SLOTS | refused}


def test_members_of_a_device():
    cls = classes()["Device"]
    fields = tuple(name for name in members(NAMES["Device"].body) if name != "__match_args__")
    assert fields == cls.__match_args__ and len(fields) == cls.n_fields == len(bi.devices()[0])
    for name in fields:
        with pytest.raises(AttributeError):
            setattr(bi.devices()[0], name, None)


def test_bases_of_exceptions():
    for name in ("InvalidArrayError", "UnsupportedError", "UnsupportedTypeError", "DriverError"):
        stub = [base.id for base in NAMES[name].bases]
        assert stub == [base.__name__ for base in getattr(bi, name).__bases__]


def test_properties_are_properties():
    for name, cls in classes().items():
        for member, node in members(NAMES[name].body).items():
            if isinstance(node, ast.FunctionDef) and member not in SLOTS:
                is_property = any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)
                assert isinstance(vars(cls)[member], DESCRIPTORS) == is_property, member


def stub_parameters(node, is_method):
    """(name, may be given by position, has a default) of each parameter."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = len(positional) - len(arguments.defaults)
    found = [(a.arg, True, i >= missing) for i, a in enumerate(positional)][1 if is_method else 0 :]
    if arguments.vararg:
        found.append(("*" + arguments.vararg.arg, True, False))
    return found + [(a.arg, False, d is not None) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)]


def runtime_parameters(function):
    """The same from the signature that the documentation begins with."""
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "module"):
            continue
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        by_position = parameter.kind is not parameter.KEYWORD_ONLY
        found.append((star + parameter.name, by_position, parameter.default is not parameter.empty))
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_of_functions(name):
    assert runtime_parameters(getattr(bi, name)) == stub_parameters(NAMES[name], False)


@pytest.mark.parametrize("name", ["BufferInterface", "Mapping"])
def test_parameters_of_methods(name):
    cls = classes()[name]
    for member, node in members(NAMES[name].body).items():
        method = vars(cls).get(member)
        if isinstance(method, types.MethodDescriptorType) and not member.endswith("it__") and member != "__enter__":
            assert runtime_parameters(method) == stub_parameters(node, True), member


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_documented(name):
    assert getattr(bi, name).__doc__ and ast.get_docstring(NAMES[name])


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()
