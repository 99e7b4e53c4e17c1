"""The Python code of README.md, as it stands, and what its comments say that it prints."""

import pathlib
import re

import pytest

README = pathlib.Path(__file__).parent.parent.parent / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_there_are_blocks():
    assert len(BLOCKS) == 2


@pytest.mark.parametrize("number", range(len(BLOCKS)))
@pytest.mark.needs("opencl")
def test_block_runs_and_prints_what_it_says(number, capsys):
    namespace = {}
    exec(compile(BLOCKS[number], "README.md", "exec"), namespace)
    printed = capsys.readouterr().out.splitlines()
    said = [line for line in BLOCKS[number].splitlines() if "print(" in line]
    assert len(printed) == len(said)
    for line, output in zip(said, printed):
        comment = line.partition("# ")[2]
        if comment.startswith(("<", "(", "[", "6")):
            assert output == comment
