"""`transduce info`."""

import json
import platform
from importlib.metadata import version


def info(*, schema: bool = False) -> None:
    """Says which versions and components are installed here.

    Parameters
    ----------
    schema
        Prints the JSON Schema of a configuration file instead, for editors.
    """
    from transduce.experiment import Experiment, families

    if schema:
        print(json.dumps(Experiment.model_json_schema(), indent=2))
        return
    print(f"transduce {version('transduce')}, Python {platform.python_version()}, {platform.platform()}")
    for package in ("torch", "numpy", "safetensors", "pydantic", "sacrebleu", "rapidfuzz"):
        print(f"{package:<20}{version(package)}")
    for family, names in families().items():
        print(f"{family:<20}{', '.join(names)}")
