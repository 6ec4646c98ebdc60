"""Experiments that run as they are: one YAML file each, whose first line says what it is."""

from importlib import resources


def texts() -> dict[str, str]:
    """The recipes' YAML by name."""
    files = {file.name: file for file in resources.files(__name__).iterdir()}
    return {
        name.removesuffix(".yaml"): files[name].read_text(encoding="utf-8")
        for name in sorted(files)
        if name.endswith(".yaml")
    }
