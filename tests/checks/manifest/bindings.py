"""Bindings of the library for ctypes, made of api.json alone."""

import ctypes
import json
from pathlib import Path

SCALARS = {"char": ctypes.c_char, "int": ctypes.c_int, "unsigned": ctypes.c_uint, "float": ctypes.c_float}
SCALARS |= {"double": ctypes.c_double, "size_t": ctypes.c_size_t, "uintptr_t": ctypes.c_size_t}
SCALARS |= {f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)}


class Failed(Exception):
    """A function returned a status that is no success."""


class Library:
    """The functions are attributes. `structs`, `values` and `callbacks` have the rest by name."""

    def __init__(self, manifest, library):
        self.manifest, self._library = json.loads(Path(manifest).read_text()), ctypes.CDLL(library)
        here = ctypes.sizeof(ctypes.c_void_p), ctypes.alignment(ctypes.c_int64)
        self._abi = next(abi["name"] for abi in self.manifest["abis"] if (abi["pointer"], abi["alignment"]) == here)
        self.values = {constant["name"]: constant["value"] for constant in self.manifest["constants"]}
        self.values |= {value["name"]: value["value"] for enum in self.manifest["enums"] for value in enum["values"]}
        self.structs, self.callbacks, self._functions = {}, {}, {}
        for callback in self.manifest["callbacks"]:
            self.callbacks[callback["name"]] = callback
        self._described = {struct["name"]: struct for struct in self.manifest["structs"]}
        for name, struct in self._described.items():
            self._add_members(name, struct)
        for function in self.manifest["functions"]:
            self._add_function(function)

    def type_of(self, kind):
        """Returns the type of ctypes for a type of the manifest."""
        if kind["kind"] == "scalar":
            return SCALARS[kind["name"]]
        if kind["kind"] == "enum":
            return ctypes.c_int
        if kind["kind"] == "struct":
            return self._struct(kind["name"])
        if kind["kind"] == "array":
            return self.type_of(kind["of"]) * kind["length"]
        if kind["kind"] == "callback":
            return self.type_of({**self.callbacks[kind["name"]], "kind": "function"})
        if kind["kind"] == "function":
            parameters = [self.type_of(parameter["type"]) for parameter in kind["parameters"]]
            return ctypes.CFUNCTYPE(self.type_of(kind["returns"]), *parameters)
        if kind["kind"] == "union":
            return type("Union", (ctypes.Union,), {"_fields_": [(m["name"], self.type_of(m["type"])) for m in kind["members"]]})
        if kind["kind"] == "pointer":
            return self._pointer(kind["to"])
        return None

    def _pointer(self, kind):
        if kind["kind"] == "void":
            return ctypes.c_void_p
        return ctypes.c_char_p if kind.get("name") == "char" else ctypes.POINTER(self.type_of(kind))

    def _struct(self, name):
        return self.structs.setdefault(name, type(name, (ctypes.Structure,), {}))

    def _add_members(self, name, struct):
        made = self._struct(name)
        for member in struct["members"]:
            if member["type"]["kind"] == "struct" and not hasattr(self._struct(member["type"]["name"]), "_fields_"):
                self._add_members(member["type"]["name"], self._described[member["type"]["name"]])
        if not hasattr(made, "_fields_"):
            made._fields_ = [(member["name"], self.type_of(member["type"])) for member in struct["members"]]

    def _add_function(self, function):
        made = getattr(self._library, function["name"])
        made.argtypes = [self.type_of(parameter["type"]) for parameter in function["parameters"]]
        made.restype = self.type_of(function["returns"])
        self._functions[function["name"]] = function
        setattr(self, function["name"], made)

    def layouts(self):
        """Yields (what, bytes in the manifest, bytes in ctypes) for each struct and member."""
        for name, struct in self._described.items():
            made = self.structs[name]
            yield name, struct["size"][self._abi], ctypes.sizeof(made)
            yield f"alignment of {name}", struct["alignment"][self._abi], ctypes.alignment(made)
            for member in struct["members"]:
                yield f"{name}.{member['name']}", member["offset"][self._abi], getattr(made, member["name"]).offset

    def initial(self, name, **members):
        """Returns a struct as its macro ..._INIT makes it, with other members changed."""
        made = self.structs[name]()
        for member, value in {**self._described[name].get("initial", {}), **members}.items():
            setattr(made, member, ctypes.sizeof(made) if value == "sizeof" else value)
        return made

    def call(self, name, *arguments):
        """Calls a function whose last parameter is an error. Returns the objects that the caller owns, as Owned."""
        function, error = self._functions[name], self.structs["bi_error"]()
        passed, owned, rest = [], [], iter(arguments)
        for parameter in function["parameters"][:-1]:
            if parameter["ownership"] == "owned" and parameter["released_by"] in self._functions:
                owned.append(Owned(self, self.type_of(parameter["type"]["to"])(), parameter["released_by"]))
                passed.append(ctypes.byref(owned[-1].object))
            else:
                argument = next(rest)
                passed.append(argument.object if isinstance(argument, Owned) else argument)
        if getattr(self, name)(*passed, ctypes.byref(error)) != self.values["BI_OK"]:
            raise Failed(error.status, error.message.decode())
        return owned[0] if len(owned) == 1 else owned


class Owned:
    """What the caller owns, until release()."""

    def __init__(self, library, made, released_by):
        self.object, self._library, self.released_by = made, library, released_by

    def release(self):
        function = getattr(self._library, self.released_by)
        function(self.object, *[None] * (len(function.argtypes) - 1))  # without an error
