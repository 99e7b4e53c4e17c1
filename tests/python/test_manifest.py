"""api.json has the form of its schema. tests/checks/manifest compares what it says with the library and with compilers."""

import json
import pathlib
import subprocess
import sys

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def validator():
    schema = json.loads((ROOT / "docs/api.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.fixture
def manifest():
    written = subprocess.run([sys.executable, ROOT / "scripts/make-manifest", "-"], check=True, capture_output=True, text=True)
    return json.loads(written.stdout)


def test_manifest_has_the_form_of_its_schema(validator, manifest):
    validator.validate(manifest)


def test_schema_refuses_what_a_reader_would_miss(validator, manifest):
    del manifest["functions"][0]["ownership"]
    manifest["structs"][0]["members"][0]["offset"].pop("32")
    manifest["structs"][0]["members"][1]["type"] = {"kind": "scalar", "name": "long"}
    manifest["enums"][0]["values"][0]["value"] = "1"
    assert len(list(validator.iter_errors(manifest))) == 4
