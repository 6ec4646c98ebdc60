"""Every command explains itself, at once."""

import importlib
import inspect
import json
import subprocess
import sys

import pytest

from transduce.cli.app import COMMANDS

SCRIPT = """
import contextlib, io, json, sys
import transduce
from transduce.cli.app import COMMANDS, main
codes = {}
lines = [["--help"], [], ["--version"], ["trian"], *([name, "--help"] for name in COMMANDS)]
for arguments in lines:
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            main(arguments)
    except SystemExit as ended:
        codes[" ".join(arguments)] = ended.code
print(json.dumps([codes, sorted(sys.modules)]))
"""


def test_neither_help_nor_a_misspelt_command_imports_anything_heavy():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    codes, modules = json.loads(done.stdout)
    assert codes.pop("trian") == 2
    assert codes == dict.fromkeys(["--help", "", "--version", *(f"{name} --help" for name in COMMANDS)], 0)
    heavy = {
        "torch",
        "numpy",
        "pydantic",
        "yaml",
        "safetensors",
        "sacrebleu",
        "rapidfuzz",
        "transduce.experiment",
    }
    assert not heavy & set(modules)
    assert "transduce.cli.app" in modules


@pytest.mark.parametrize("name", COMMANDS)
def test_help_tells_of_every_parameter(command, name):
    done = command(name, "--help")
    assert done.code == 0
    assert done.err == ""
    assert done.out.startswith(f"Usage: transduce {name}")
    text = " ".join(done.out.replace("│", " ").split())
    function = getattr(importlib.import_module(f"transduce.cli.{name}"), name)
    described = dict(parameters(function.__doc__ or ""))
    for parameter in inspect.signature(function).parameters.values():
        option = parameter.name.upper() if parameter.kind is not parameter.KEYWORD_ONLY else parameter.name
        assert option.rstrip("_").replace("_", "-") in text
        assert described[parameter.name].split()[0] in text


def parameters(docstring: str):
    """Names and descriptions of the section `Parameters`."""
    _, _, section = inspect.cleandoc(docstring).partition("Parameters\n----------\n")
    lines = section.split("\n")
    for place, line in enumerate(lines):
        if line and not line.startswith(" "):
            yield line, lines[place + 1].strip()


def test_the_overview_lists_every_command(command):
    for arguments in ([], ["--help"]):
        done = command(*arguments)
        assert done.code == 0
        for name, text in COMMANDS.items():
            assert name in done.out
            assert text.split(";")[0].split(",")[0] in done.out


def test_the_version_is_that_of_the_package(command):
    from importlib.metadata import version

    assert command("--version").out == f"{version('transduce')}\n"
