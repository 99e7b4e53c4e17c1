"""The examples of help() and of docs/tutorial.md print what they say."""

import doctest
import pathlib

import numpy
import pytest

import buffer_interface

TUTORIAL = pathlib.Path(__file__).parent.parent.parent / "docs" / "tutorial.md"
NAMES = {"numpy": numpy, "buffer_interface": buffer_interface}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented():
    """Pairs of a name and a docstring, for the module, its public names and their members."""
    yield "buffer_interface", buffer_interface.__doc__
    for name in buffer_interface.__all__:
        value = getattr(buffer_interface, name)
        yield name, value.__doc__
        for member in vars(value) if isinstance(value, type) else ():
            yield f"{name}.{member}", getattr(getattr(value, member), "__doc__", None)


def examples():
    found = {name: text for name, text in documented() if text and ">>>" in text}
    assert len(found) >= 12
    return found


def run(text, name):
    test = doctest.DocTestParser().get_doctest(text, dict(NAMES), name, None, 0)
    printed = []
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=printed.append)
    assert result.attempted > 0 and result.failed == 0, "".join(printed)


@pytest.mark.needs("opencl")
@pytest.mark.parametrize("name", examples())
def test_examples_of_help(name):
    run(examples()[name], name)


def test_every_public_name_is_documented():
    missing = [name for name, text in documented() if not text and not name.split(".")[-1].startswith("_")]
    assert missing == []


@pytest.mark.needs("opencl")
def test_tutorial():
    lines = TUTORIAL.read_text(encoding="utf-8").splitlines()
    run("\n".join("" if line.startswith("```") else line for line in lines), "tutorial.md")
