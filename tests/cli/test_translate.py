"""Lines in, lines out."""

import json
import queue
import re
import select
import signal
import subprocess
import sys
import time

import pytest

from transduce.translator import Translator

whole = queue.Queue
BLANKS = ["", " ", "\u00a0", "\u3000", "\t", "\u2003\u2028"]
LINES = ["one", "ఒకటి 2", "క్షి one 2", "2 2 2", "2", "one one", "ఒకటి"]
KEYS = [
    "source",
    "text",
    "score",
    "log_prob",
    "finished",
    "tokens",
    "token_log_probs",
    "source_tokens",
    "n_best",
]


@pytest.fixture(scope="module")
def model(trained) -> Translator:
    return Translator.load(trained)


def texts(model: Translator, lines: list[str]) -> list[str]:
    return [result.text for result in model.translate(lines)]


@pytest.mark.parametrize("end", ["\n", "", "\r\n"])
@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_one_line_out_for_each_line_in_order(command, trained, model, stdin, end, batch_size):
    stdin("\n".join(LINES) + end)
    done = command("translate", trained, "--batch-size", batch_size)
    assert (done.code, done.err) == (0, "")
    assert done.lines == texts(model, LINES)
    assert len(set(done.lines)) > 3


@pytest.mark.parametrize("dash", [[], ["-"]])
def test_a_file_and_stdin_read_alike(command, trained, model, stdin, tmp_path, dash):
    stdin("one 2\n")
    assert command("translate", trained, *dash).lines == texts(model, ["one 2"])
    (tmp_path / "in.txt").write_bytes("\ufeffone 2\nఒకటి".encode())
    assert command("translate", trained, tmp_path / "in.txt").lines == texts(model, ["one 2", "ఒకటి"])


def test_nothing_in_is_nothing_out(command, trained, stdin):
    stdin("")
    assert command("translate", trained) == (0, "", "")
    stdin("\n")
    assert command("translate", trained) == (0, "\n", "")


def test_DAT_08_blank_lines_stay_blank_and_change_nothing_else(command, trained, model, stdin):
    stdin("".join(f"{line}\n" for line in [*BLANKS, "one 2"]))
    done = command("translate", trained)
    assert done.lines == [*([""] * len(BLANKS)), *texts(model, ["one 2"])]
    stdin("\n \none\n")
    rows = [json.loads(line) for line in command("translate", trained, "--json", "--attention").lines]
    assert [row["text"] for row in rows[:2]] == ["", ""]
    assert [row["source"] for row in rows] == ["", " ", "one"]
    assert all(set(row) == {*KEYS, "attention"} for row in rows)
    assert rows[0]["attention"] == rows[0]["tokens"] == []


def test_json_tells_all_of_a_translation(command, trained, model, stdin):
    stdin("ఒకటి 2\none\n")
    done = command("translate", trained, "--json")
    assert "ఒకటి" in done.out
    for line, result in zip(done.lines, model.translate(["ఒకటి 2", "one"]), strict=True):
        row = json.loads(line)
        assert list(row) == KEYS
        assert row["source"] == result.source
        assert row["text"] == result.text
        assert row["tokens"] == result.tokens
        assert row["source_tokens"] == [*result.source.split(" "), "</s>"]
        assert row["log_prob"] == pytest.approx(sum(row["token_log_probs"]), abs=1e-6)
        assert len(row["token_log_probs"]) == len(row["tokens"])
        assert row["finished"] is (row["tokens"][-1] == "</s>")


def test_attention_has_a_row_for_each_token(command, trained, stdin):
    stdin("one ఒకటి 2\n")
    (line,) = command("translate", trained, "--json", "--attention").lines
    row = json.loads(line)
    assert len(row["attention"]) == len(row["tokens"])
    for weights in row["attention"]:
        assert len(weights) == len(row["source_tokens"]) == 4
        assert sum(weights) == pytest.approx(1, abs=1e-5)


def test_n_best_is_a_table_of_line_rank_score_and_text(command, trained, model, stdin):
    stdin("one 2\n\nఒకటి\n")
    done = command("translate", trained, "--n-best", 3)
    rows = [line.split("\t") for line in done.lines]
    search = model.searcher(n_best=3)
    first, _, last = model.translate(["one 2", "", "ఒకటి"], search=search)
    expected = [("1", best) for best in first.n_best] + [("2", None)] + [("3", best) for best in last.n_best]
    assert [row[0] for row in rows] == [line for line, _ in expected]
    assert [row[1] for row in rows] == ["1", "2", "3", "1", "1", "2", "3"]
    for row, (_, best) in zip(rows, expected, strict=True):
        assert row[3] == ("" if best is None else best.text)
        assert float(row[2]) == pytest.approx(0 if best is None else best.score, abs=1e-6)
    assert [float(row[2]) for row in rows[:3]] == sorted((float(row[2]) for row in rows[:3]), reverse=True)


def test_n_best_in_json_has_the_same_keys_for_each(command, trained, stdin):
    stdin("one 2\n")
    row = json.loads(command("translate", trained, "--n-best", 2, "--json", "--attention").out)
    assert len(row["n_best"]) == 2
    assert row["n_best"][0]["text"] == row["text"]
    assert [list(best) for best in row["n_best"]] == [list(row)] * 2


def test_a_beam_of_one_is_greedy_whatever_the_run_says(command, trained, model, stdin):
    stdin("\n".join(LINES))
    greedy = model.translate(LINES, search=model.searcher(width=1))
    assert command("translate", trained, "--beam", 1).lines == [result.text for result in greedy]


def test_what_was_never_seen_is_noted_on_stderr_unless_quiet(command, trained, stdin):
    stdin("zzz one yyy zzz\n")
    done = command("translate", trained)
    assert done.err == (
        "transduce: 3 source tokens were never seen in training, read as unknown: 'zzz', 'yyy'\n"
    )
    stdin("zzz\n")
    assert command("translate", trained, "--quiet").err == ""


def test_bytes_that_are_no_text_are_named_by_their_line(command, trained, tmp_path):
    (tmp_path / "in.txt").write_bytes(b"one\n\xff\n")
    done = command("translate", trained, tmp_path / "in.txt")
    assert done.code == 2
    assert f"{tmp_path / 'in.txt'}:2: expected UTF-8; got byte 0xff" in done.err
    assert done.out.count("\n") == 1  # what came before was answered


def test_more_lines_than_one_group_holds_keep_their_order(command, trained, model, tmp_path, monkeypatch):
    monkeypatch.setattr(queue, "Queue", lambda maxsize: whole(maxsize=9))
    lines = [LINES[number % len(LINES)] for number in range(50)]
    (tmp_path / "in.txt").write_text("\n".join(lines), encoding="utf-8")
    assert command("translate", trained, tmp_path / "in.txt").lines == texts(model, lines)
    rows = command("translate", trained, tmp_path / "in.txt", "--n-best", 2).lines
    assert [int(row.split("\t")[0]) for row in rows] == [number for number in range(1, 51) for _ in range(2)]


def start(trained) -> subprocess.Popen:
    command = [sys.executable, "-m", "transduce", "translate", str(trained)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    # a shell that runs the suite in the background has made it, and so its children, deaf to Ctrl-C
    return subprocess.Popen(command, bufsize=0, preexec_fn=hear_ctrl_c, **pipes)


def hear_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def answers(process: subprocess.Popen, text: str, count: int) -> list[str]:
    """Writes lines, and waits for answers while the input stays open."""
    process.stdin.write(text.encode())
    found = []
    for _ in range(count):
        if not select.select([process.stdout], [], [], 30)[0]:
            process.kill()
            pytest.fail(f"no answer in half a minute after {found}")
        found.append(process.stdout.readline().decode().rstrip("\n"))
    return found


def test_lines_are_answered_as_they_come_until_no_one_listens(trained, model):
    with start(trained) as process:
        for line in LINES[:3]:
            assert answers(process, f"{line}\n", 1) == texts(model, [line])
        assert answers(process, "one\n\n2\n", 3) == texts(model, ["one", "", "2"])
        process.stdout.close()  # as `| head -6` does
        process.stdin.write(b"one\n")
        assert process.wait(30) == 128 + signal.SIGPIPE
        assert process.stderr.read() == b""


def test_ctrl_c_ends_it_in_peace_while_it_waits(trained, model):
    with start(trained) as process:
        assert answers(process, "one\n", 1) == texts(model, ["one"])
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        said = process.stderr.read()
        assert b"Traceback (most recent call last)" not in said
        assert b"Fatal" not in said


def test_flags_are_the_options_of_the_search(command, trained, model, stdin):
    cases = [
        (["--max-length", 2], {"max_length": {"ratio": 0.0, "plus": 2}}),
        (["--min-length", 4], {"min_length": {"ratio": 0.0, "plus": 4}}),
        (["--no-repeat-ngram", 1], {"no_repeat_ngram": 1}),
        (["--without", "2", "--without", "one one"], {"without": ["2", "one one"]}),
        (["--search", "length_penalty.alpha=0", "--search", "policy=pools"], {"policy": "pools"}),
        (["--search", "repetition_penalty=3.0"], {"repetition_penalty": 3.0}),
        (["--sample", "--seed", 7, "--temperature", 3], {"name": "sampling", "seed": 7, "temperature": 3.0}),
        (["--search", "coverage_penalty=0.5"], {"coverage_penalty": 0.5}),
    ]
    plain = texts(model, LINES)
    different = 0
    for flags, options in cases:
        stdin("".join(f"{line}\n" for line in LINES))
        done = command("translate", trained, *flags)
        if "policy" in options:
            options["length_penalty"] = {"alpha": 0.0}
        search = model.searcher(**options)
        assert done.lines == [result.text for result in model.translate(LINES, search=search)]
        different += done.lines != plain
    assert different > 4


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--min-length", 9, "--max-length", 3], r"min_length .*9.* and max_length .*3"),
        (["--temperature", 0.5], "unknown key 'temperature'"),
        (["--replace-unk", "--without", "x"], "replace_unk with search.without"),
        (["--replace-unk", "--search", "without=[x]"], "replace_unk with search.without"),
        (["--search", "name=[beam]"], "unknown search"),
        (["--search", "length_penalty.alpha=1000"], "alpha: expected at most 20; got 1000"),
        (["--max-length", 10**22], "expected lengths of at most 1,099,511,627,776; got"),
        (["--beam", 10**20], "width: expected at most 10,000; got 1"),
        (["--sample", "--beam", 4], "unknown key 'width'"),
        (["--sample", "--temperature", 0], "temperature: expected above 0; got 0"),
        (["--search", "widht=4"], "unknown key 'widht'; did you mean 'width'"),
        (["--search", "width"], "'width': expected key.path=value"),
        (["--search", "groups=2"], "groups"),
        (["--dictionary", "words.tsv"], "--dictionary needs --replace-unk"),
        (["--replace-unk", "--dictionary", "no such.tsv"], "no such.tsv"),
        (["--alignments", "no/such/folder"], "--alignments no/such/folder: cannot be written"),
        (["--prefix", "no such.txt"], "no such.txt"),
    ],
)
def test_flags_that_cannot_work_are_refused_in_one_line(command, trained, stdin, flags, message):
    stdin("one\n")
    done = command("translate", trained, *flags)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert re.search(message, done.err), done.err


def test_prefixes_and_phrases_come_line_by_line(command, trained, model, tmp_path, monkeypatch):
    monkeypatch.setattr(queue, "Queue", lambda maxsize: whole(maxsize=2))  # groups of two lines
    (tmp_path / "in.txt").write_text("one\n2 one\n\n2\none 2\n", encoding="utf-8")
    (tmp_path / "prefix.txt").write_text("2 2\n\n\none\nఒకటి\n", encoding="utf-8")
    (tmp_path / "phrases.tsv").write_text("\n2 2\tఒకటి\n\none one\n\n", encoding="utf-8")
    flags = ["--prefix", tmp_path / "prefix.txt", "--phrases", tmp_path / "phrases.tsv"]
    done = command("translate", trained, tmp_path / "in.txt", *flags)
    lines, starts = ["one", "2 one", "", "2", "one 2"], ["2 2", "", "", "one", "ఒకటి"]
    phrases = [[], ["2 2", "ఒకటి"], [], ["one one"], []]
    assert done.lines == [r.text for r in model.translate(lines, prefix=starts, phrases=phrases)]
    assert done.lines[0].startswith("2 2")
    assert "2 2" in done.lines[1]
    assert "ఒకటి" in done.lines[1]


@pytest.mark.parametrize(("given", "message"), [("a\n", "got 1 lines"), ("one\n" * 4, "has, 3; got more")])
@pytest.mark.parametrize("flag", ["--prefix", "--phrases"])
def test_a_file_beside_the_input_has_as_many_lines(command, trained, tmp_path, flag, given, message):
    (tmp_path / "in.txt").write_text("one\n2\none\n", encoding="utf-8")
    (tmp_path / "beside.txt").write_text(given, encoding="utf-8")
    done = command("translate", trained, tmp_path / "in.txt", flag, tmp_path / "beside.txt")
    assert done.code == 2
    assert f"{tmp_path / 'beside.txt'}: expected" in done.err
    assert message in done.err


def test_an_unknown_prefix_names_its_line(command, trained, stdin, tmp_path):
    stdin("one\n2\n")
    (tmp_path / "prefix.txt").write_text("one\nзорк\n", encoding="utf-8")
    done = command("translate", trained, "--prefix", tmp_path / "prefix.txt")
    assert done.code == 2
    assert "line 2: prefix 'зорк'" in done.err


def test_samples_are_a_table_too_and_do_not_depend_on_the_batch(command, trained, tmp_path, monkeypatch):
    monkeypatch.setattr(queue, "Queue", lambda maxsize: whole(maxsize=3))
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in LINES * 3), encoding="utf-8")
    flags = [trained, tmp_path / "in.txt", "--sample", "--n-best", 2, "--batch-size"]
    runs = [[row.split("\t") for row in command("translate", *flags, size).lines] for size in (1, 7, 64)]
    assert len(runs[0]) == 2 * 3 * len(LINES)
    for other in runs[1:]:
        assert [(line, rank, text) for line, rank, _, text in other] == [
            (line, rank, text) for line, rank, _, text in runs[0]
        ]
        for one, two in zip(other, runs[0], strict=True):
            assert float(one[2]) == pytest.approx(float(two[2]), abs=1e-4)


def test_alignments_are_written_beside_the_translations(command, trained, model, tmp_path):
    (tmp_path / "in.txt").write_text("one 2\n\nఒకటి\n", encoding="utf-8")
    done = command(
        "translate", trained, tmp_path / "in.txt", "--alignments", tmp_path / "links.txt", "--json"
    )
    written = (tmp_path / "links.txt").read_text(encoding="utf-8").split("\n")
    assert len(written) == 4
    assert written[1] == written[3] == ""
    results = model.translate(["one 2", "", "ఒకటి"])
    for line, result in zip(written, results, strict=False):
        pairs = [tuple(map(int, link.split("-"))) for link in line.split()]
        assert set(pairs) == model.word_links(result)
        assert {target for _, target in pairs} == set(range(len(result.text.split())))
    assert [list(json.loads(row)) for row in done.lines] == [KEYS] * 3  # attention was not asked for


def test_unknown_tokens_are_put_back(command, trained, stdin):
    """The model's own vocabulary is complete: it never says that it does not know; the flag is harmless."""
    stdin("one zork\n")
    plain = command("translate", trained, "--quiet").lines
    stdin("one zork\n")
    assert command("translate", trained, "--quiet", "--replace-unk").lines == plain


def test_a_device_that_is_not_there_and_integers_off_the_cpu_are_refused(command, trained):
    for name in ("translate", "evaluate"):
        done = command(name, trained, "--device", "cuda")
        assert (done.code, done.out) == (2, "")
        assert "device: expected one that torch" in done.err
        done = command(name, trained, "--device", "cuda", "--int8")
        assert done.code == 2
        assert "--int8 runs on the CPU: expected --device cpu or none; got --device cuda" in done.err
