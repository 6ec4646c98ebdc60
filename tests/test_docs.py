"""What the documentation promises of the tree."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_readme_is_short_and_its_links_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    links = re.findall(r"\]\((?!https?://)([^)#]+)", text) + re.findall(r'src="([^"]+)"', text)
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]


def test_every_room_is_in_the_architecture_and_has_a_docstring():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [path for path in (ROOT / "src" / "transduce").iterdir() if path.name[0] not in "_."]
    names = [path.stem for path in rooms if path.suffix == ".py" or (path / "__init__.py").exists()]
    assert not [name for name in names if f"`{name}`" not in page]
    for path in (ROOT / "src").rglob("*.py"):
        assert path.read_text(encoding="utf-8").startswith('"""'), path


def code_lines(function: ast.FunctionDef) -> int:
    """Lines of a function, its docstring aside."""
    first = function.body[0]
    docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return function.end_lineno - function.lineno - (first.end_lineno - first.lineno + 1) * docstring


def test_no_source_file_or_function_grew_too_long():
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= 300, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert code_lines(node) < 40, f"{path}: {node.name}"
