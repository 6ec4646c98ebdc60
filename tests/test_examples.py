"""The examples run as they stand, but for their size."""

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], **settings: str
) -> str:
    for key, value in settings.items():
        monkeypatch.setenv(key, value)
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("synthetic", "header"),
    [("1", "1,024 sequences, length 8, vocabulary 12"), ("0", "8,192 sequences, length 16, vocabulary 32")],
)
@pytest.mark.usefixtures("unchecked")
def test_copy_and_reverse_prints_a_header_and_a_line_an_epoch(synthetic, header, monkeypatch, capsys):
    out = run("seq2seq_attention.py", monkeypatch, capsys, EPOCHS="2", BATCH="256", SYNTHETIC=synthetic)
    assert header in out
    assert "batch 256, 2 epochs" in out
    assert re.findall(r"^ +(\d+)  +\d\.\d{4}  +0\.\d{4}$", out, re.MULTILINE) == ["1", "2"]
    assert "on 1,024 unseen" in out
    assert "</s>" in out


@pytest.mark.parametrize(("name", "value"), [("EPOCHS", "0"), ("BATCH", "many"), ("SYNTHETIC", "-1")])
def test_settings_that_cannot_work_are_refused_by_name(name, value, monkeypatch, capsys):
    with pytest.raises(SystemExit, match=f"{name}: expected a whole number of at least [01]; got '{value}'"):
        run("seq2seq_attention.py", monkeypatch, capsys, **{name: value})


@pytest.mark.usefixtures("unchecked")
def test_english_telugu_prints_the_walk_throughs_lines(monkeypatch, capsys):
    out = run("english_telugu.py", monkeypatch, capsys, EPOCHS="1")
    assert re.match(r"Epoch 1: loss = \d\.\d{4}\ntest chrF \d+\.\d\d  nrefs:1\|case:mixed\|", out)
    assert out.count(" → ") == 3
