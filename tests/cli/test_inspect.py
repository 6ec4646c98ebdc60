"""`inspect`: what it prints, writes and refuses, over the three formats and standard input."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from transduce.data.pairs import Place
from transduce.data.sources.tsv import TsvFile

PAIRS = [
    ("one", "ఒకటి"),
    ("two", "రెండు"),
    ("", "x"),
    ("one", "ఒకటి"),
    ("cafe\u0301", "c"),
    ("caf\u00e9", "ఒకటి"),
]
CLEAN = [("one", "ఒకటి"), ("two", "రెండు"), ("three", "మూడు")]


def tsv(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return path


@pytest.fixture
def data(tmp_path) -> Path:
    return tsv(tmp_path / "data.tsv", PAIRS)


def checks(out: str, level: str) -> set[str]:
    return {finding["check"] for finding in json.loads(out)["findings"] if finding["level"] == level}


def test_a_report_names_faults_with_their_lines_and_ends_in_what_to_do(command, data):
    done = command("inspect", data)
    assert (done.code, done.err) == (0, "")
    assert done.lines[:2] == [str(data), "6 lines, 5 pairs"]
    heads = [line.split("  ")[0] for line in done.lines]
    assert heads.count("fault") == 3
    text = " ".join(done.out.split())
    assert (
        "fault blank sides 1 line without text on both sides: skipped where pairs are read (line 3)" in text
    )
    assert "fault duplicates 1 pair (20 %) in an earlier line too (line 4)" in text
    assert "fault normal forms source: 1 line in NFC, 1 in NFD" in text
    assert done.lines[-1].startswith("3 faults, 1 note; next: transduce inspect ")
    assert done.lines[-1].endswith(f"{data} --fix clean.tsv --normal-form nfc")
    assert all(line.isprintable() and len(line) <= 130 for line in done.lines[1:-1])


def test_lengths_stand_in_a_table(command, data):
    lines = command("inspect", data).lines
    at = next(number for number, line in enumerate(lines) if line.lstrip().startswith("min"))
    assert lines[at].split() == ["min", "p5", "median", "p95", "p99", "max", "mean", "total"]
    assert lines[at + 1].split() == ["source", "characters", "3", "3", "3", "5", "5", "5", "3.6", "18"]
    assert lines[at + 4].split() == ["target", "words", *["1"] * 6, "1.0", "5"]
    assert {len(line) for line in lines[at : at + 5]} == {len(lines[at])}


def test_json_is_one_object(command, data):
    done = command("inspect", data, "--json")
    (line,) = done.lines
    found = json.loads(line)
    assert {key: found[key] for key in ("data", "lines", "pairs", "faults", "notes", "fixed")} == {
        "data": [str(data)], "lines": 6, "pairs": 5, "faults": 3, "notes": 1, "fixed": None,
    }  # fmt: skip
    assert checks(done.out, "fault") == {"blank_sides", "duplicates", "normal_forms"}
    assert checks(done.out, "note") == {"several_sources"}
    assert checks(done.out, "fact") == {"lengths", "alphabet"}


def test_the_formats_tell_the_same(command, tmp_path, data, stdin):
    found = json.loads(command("inspect", data, "--json").out)
    jsonl = tmp_path / "data.jsonl"
    objects = [json.dumps({"source": source, "target": target}) for source, target in PAIRS]
    jsonl.write_text("".join(f"{line}\n" for line in objects), encoding="utf-8")
    sides = [tmp_path / "data.en", tmp_path / "data.te"]
    for number, side in enumerate(sides):
        side.write_text("".join(f"{pair[number]}\n" for pair in PAIRS), encoding="utf-8")
    wide = tmp_path / "wide.tsv"
    rows = ["id\tte\ten"] + [f"{number}\t{target}\t{source}" for number, (source, target) in enumerate(PAIRS)]
    wide.write_text("".join(f"{row}\n" for row in rows[1:]), encoding="utf-8")
    stdin(data.read_text(encoding="utf-8"))
    for arguments in ([jsonl], sides, ["-"], [wide, "--columns", "3,2"]):
        other = json.loads(command("inspect", *arguments, "--json").out)
        assert other.pop("data") != found["data"]
        assert other == {key: value for key, value in found.items() if key != "data"}
    wide.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    named = json.loads(command("inspect", wide, "--columns", "en,te", "--json").out)
    assert (named["lines"], named["pairs"], named["faults"]) == (6, 5, 3)


def test_data_without_fault_says_how_to_train_on_it(command, tmp_path):
    path = tsv(tmp_path / "clean.tsv", CLEAN)
    assert (
        command("inspect", path).lines[-1]
        == f"no faults, 0 notes; next: transduce train g2p data.train={path}"
    )
    last = command("inspect", path, "--columns", "2,1").lines[-1]
    assert last.endswith(f"data.train={path} data.source_column=2 data.target_column=1")
    words = tmp_path / "words"
    words.write_text("one\ntwo\n", encoding="utf-8")
    last = command("inspect", words, words).lines[-1]
    assert last.endswith(f"data.train='{{source: {words}, target: {words}}}'")
    last = command("inspect", path, "--train", tsv(tmp_path / "t.tsv", [("x", "y")])).lines[-1]
    assert last.endswith(f"next: transduce evaluate RUN {path}")


def test_what_is_shared_with_other_files_is_told(command, tmp_path):
    """A pair of train, a source of dev, a character that train lacks."""
    test = tsv(tmp_path / "test.tsv", [("c", "3"), ("d", "9"), ("క", "5")])
    train, dev = (
        tsv(tmp_path / "train.tsv", [("c", "3"), ("d", "5")]),
        tsv(tmp_path / "dev.tsv", [("క", "4")]),
    )
    done = command("inspect", test, "--train", train, "--against", dev, "--json")
    findings = [f for f in json.loads(done.out)["findings"] if f["check"] in ("leakage", "unseen_characters")]
    assert [(f["check"], f["level"], f["count"], f["lines"]) for f in findings] == [
        ("leakage", "fault", 1, [1]),
        ("leakage", "note", 2, [1, 2]),
        ("leakage", "note", 1, [3]),
        ("unseen_characters", "note", 1, [3]),
        ("unseen_characters", "note", 1, [2]),
    ]
    assert [f["values"].get("with") for f in findings[:3]] == ["train.tsv", "train.tsv", "dev.tsv"]
    text = command("inspect", test, "--train", train).out
    assert "క U+0C15 TELUGU LETTER KA" in text


def test_parallel_files_are_compared_with_parallel_files(command, tmp_path):
    files = [tmp_path / name for name in ("a.s", "a.t", "b.s", "b.t")]
    for file, text in zip(files, ["a\nb\n", "1\n2\n", "b\nc\n", "2\n3\n"], strict=True):
        file.write_text(text, encoding="utf-8")
    done = command("inspect", *files[:2], "--train", *files[2:], "--json")
    assert "leakage" in checks(done.out, "fault")
    assert "also in b.s and b.t" in done.out
    done = command("inspect", *files[:2], "--train", files[2])
    assert (done.code, done.out) == (2, "")
    assert "--train: expected two parallel files, as DATA is; got 1" in done.err


def test_fix_writes_a_copy_and_says_what_changed(command, tmp_path, data):
    copy = tmp_path / "copy.tsv"
    done = command("inspect", data, "--fix", copy, "--normal-form", "nfc")
    assert done.code == 0
    assert done.lines[-2] == (
        f"wrote {copy}: 4 pairs in two columns, no header, lines end in LF; "
        "left out 1 blank line, 1 duplicate; normal form changed in 1 pair"
    )
    assert done.lines[-1] == f"next: transduce inspect {copy}"
    pairs = TsvFile(Place(), path=str(copy)).read().pairs
    assert pairs == [PAIRS[0], PAIRS[1], ("caf\u00e9", "c"), PAIRS[5]]
    assert json.loads(command("inspect", copy, "--json").out)["faults"] == 0
    again = command("inspect", data, "--fix", copy)
    assert (again.code, again.out) == (2, "")
    assert "this one is there already" in again.err
    assert TsvFile(Place(), path=str(copy)).read().pairs == pairs


def test_fix_reads_standard_input_once(command, tmp_path, stdin):
    stdin("\ufeffa\tb\r\na\tb\r\n")
    done = command("inspect", "-", "--fix", tmp_path / "copy.jsonl", "--json")
    assert json.loads(done.out)["fixed"] == {
        "file": str(tmp_path / "copy.jsonl"), "pairs": 1, "blank_sides": 0, "duplicates": 1, "normalised": 0,
    }  # fmt: skip
    assert (tmp_path / "copy.jsonl").read_text(encoding="utf-8") == '{"source": "a", "target": "b"}\n'


def test_faults_that_cleaning_does_not_mend_are_named(command, tmp_path):
    path = tsv(tmp_path / "t.tsv", [("a\ufffd", "x"), ("b", "y"), ("b", "y")])
    assert "look at the lines named beside invisible; transduce inspect" in command("inspect", path).lines[-1]
    sides = [tmp_path / "t.s", tmp_path / "t.t"]
    sides[0].write_text("a\tb\na\tb\n", encoding="utf-8")
    sides[1].write_text("x\nx\n", encoding="utf-8")
    assert command("inspect", *sides).lines[-1].endswith("--fix clean.jsonl")


def test_text_of_the_data_cannot_control_the_terminal(command, tmp_path):
    pairs = [(f"{word} 7", "7") for word in "abcdefghijklmnopqrst"] + [("\x1b[2J\u202e 7" + "x" * 500, "8")]
    lines = command("inspect", tsv(tmp_path / "t.tsv", pairs)).lines
    (example,) = [line for line in lines if line.strip().startswith("21: ")]
    assert example.strip() == "21: <U+001B>[2J<U+202E> 7" + "x" * (160 - len("21: \x1b[2J\u202e 7")) + "…"


def test_line_ends_are_notes(command, tmp_path):
    (tmp_path / "t.tsv").write_bytes("\ufeffa\tb\r\nc\td\r\n".encode())
    done = command("inspect", tmp_path / "t.tsv", "--json")
    assert checks(done.out, "note") == {"line_ends", "byte_order_mark"}
    assert json.loads(done.out)["faults"] == 0


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_strict_fails_on_a_fault_after_telling_of_it(command, tmp_path, data, form):
    done = command("inspect", data, "--strict", *form)
    assert done.code == 2
    assert "blank" in done.out
    assert done.err == f"transduce: {data}: expected no fault; got 3 (--strict is on)\n"
    assert command("inspect", tsv(tmp_path / "clean.tsv", CLEAN), "--strict", *form).code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--normal-form", "nfc"], "--normal-form needs --fix: expected both, got --normal-form alone"),
        (["--columns", "1"], "--columns: expected two, such as 1,3 or en,te; got '1'"),
        (["--columns", "1,2,3"], "--columns: expected two"),
        (["--columns", ",2"], "--columns: expected two"),
        (["--columns", "1,9"], "1: 2 columns, expected at least 9"),
        (["--columns", "en,te"], "unknown column 'en'"),
        (["--train", "none.tsv"], "none.tsv: cannot be read; No such file or directory"),
        (["-", "--train", "-"], "expected standard input at most once"),
        (["--fix", "none/x.tsv"], "none/x.tsv: cannot be written; No such file or directory"),
        (["--normal-form", "nfkc", "--fix", "x.tsv"], "nfkc"),
    ],
)
def test_what_cannot_work_is_refused(command, tmp_path, data, options, message, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = command("inspect", data, *options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["data.tsv"]


def test_a_damaged_file_leaves_no_copy(command, tmp_path):
    (tmp_path / "t.tsv").write_bytes(b"a\tb\n\xff\tc\n")
    done = command("inspect", tmp_path / "t.tsv", "--fix", tmp_path / "copy.tsv")
    assert (done.code, done.out) == (2, "")
    assert "t.tsv:2: expected UTF-8" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["t.tsv"]


def test_an_empty_file_has_a_fault(command, tmp_path):
    (tmp_path / "t.tsv").touch()
    done = command("inspect", tmp_path / "t.tsv", "--strict")
    assert done.code == 2
    assert "no line has text on both sides" in done.out


def test_it_needs_no_torch(data):
    script = "import sys; from transduce.cli.app import run; run(sys.argv[1:]); print('torch' in sys.modules)"
    command = [sys.executable, "-c", script, "inspect", data]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\nFalse\n")


def test_score_and_evaluate_read_standard_input(command, trained, stdin):
    """TSV as a file would hold it, without naming one."""
    text = "one 2\t2 one\nఒకటి\tఒకటి\n"
    path = trained.parent / "two.tsv"
    path.write_text(text, encoding="utf-8")
    for arguments in (["score", trained], ["evaluate", trained, "--json"]):
        stdin(text)
        done = command(*arguments, "-")
        assert (done.code, done.out) == (0, command(*arguments, path).out)
    stdin("one\n")
    done = command("score", trained, "-")
    assert done.code == 2
    assert "<stdin>:1: 1 column, expected 2" in done.err


def test_score_and_evaluate_read_json_lines(command, trained):
    path = trained.parent / "two.jsonl"
    path.write_text('{"source": "one 2", "target": "2 one"}\n', encoding="utf-8")
    assert len(command("score", trained, path).lines) == 1
    assert json.loads(command("evaluate", trained, path, "--json").out)["examples"] == 1


def test_a_run_is_not_trained_on_standard_input(command, tmp_path):
    done = command("train", "g2p", "data.train=-", "--run", tmp_path / "run")
    assert done.code == 2
    assert (
        "data.train: expected a file; got standard input; a run that goes on reads its data again" in done.err
    )
    assert not (tmp_path / "run").exists()
