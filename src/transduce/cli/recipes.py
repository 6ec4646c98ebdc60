"""`transduce recipes`."""


def recipes(name: str | None = None, /) -> None:
    """Lists the recipes, or prints one as YAML to start your own from.

    Parameters
    ----------
    name
        Recipe to print.
    """
    from transduce.errors import ConfigError, unknown
    from transduce.recipes import texts

    known = texts()
    if name is None:
        for recipe, text in known.items():
            print(f"{recipe:<28}{text.split(chr(10), 1)[0].removeprefix('# ')}")
    elif name in known:
        print(known[name], end="")
    else:
        raise ConfigError(unknown("recipe", name, known))
