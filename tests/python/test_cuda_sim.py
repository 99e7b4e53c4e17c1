"""cuda_sim.py has the structs of cuda_sim.h."""

import re
from pathlib import Path

import pytest
from cuda_sim import Counts, Options

HEADER = Path(__file__).resolve().parents[1] / "simulators/cuda_sim/cuda_sim.h"


@pytest.mark.parametrize("kind, name", [(Options, "cuda_sim_options"), (Counts, "cuda_sim_counts")])
def test_members_are_those_of_the_header(kind, name):
    body = re.search(rf"^struct {name} {{(.*?)^}};", HEADER.read_text(), re.M | re.S).group(1)
    members = re.findall(r"(\w+)[,;]", re.sub(r"/\*.*?\*/", "", body, flags=re.S))
    assert [field for field, _ in kind._fields_] == members
