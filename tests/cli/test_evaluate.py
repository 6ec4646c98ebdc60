"""Scores on stdout."""

import json
import re
from dataclasses import replace

import pytest

from transduce.metrics import Metric
from transduce.run import evaluate
from transduce.translator import Translator


def files(folder, hypotheses: str, references: str) -> list[str]:
    (folder / "hyp").write_text(hypotheses, encoding="utf-8")
    (folder / "ref").write_text(references, encoding="utf-8")
    return ["--hypotheses", str(folder / "hyp"), "--references", str(folder / "ref")]


def test_json_is_what_python_finds(command, trained):
    done = command("evaluate", trained, "--json")
    assert (done.code, done.err) == (0, "")
    found, expected = json.loads(done.out), json.loads(json.dumps(evaluate(Translator.load(trained))))
    assert found.pop("attention") == pytest.approx(expected.pop("attention"))  # a command packs its matrices
    assert found == expected
    assert json.loads(done.out)["examples"] == 8
    greedy = json.loads(command("evaluate", trained, "--json", "--beam", 1).out)
    assert greedy["search"]["width"] == 1


def test_a_table_has_a_row_for_each_metric_with_its_signature(command, trained):
    done = command("evaluate", trained)
    found = evaluate(Translator.load(trained))
    first, *rows, blank, attention = done.lines
    assert first.split() == ["examples", "8"]
    assert [row.split()[0] for row in rows] == list(found["metrics"])
    for row in rows:
        name, value, signature = row.split(maxsplit=2)
        assert float(value) == pytest.approx(found["metrics"][name]["value"], abs=1e-4)
        assert signature.startswith(found["metrics"][name]["signature"])
    assert blank == ""
    share, rows = found["attention"]["position_0_share"], found["attention"]["rows"]
    assert attention.startswith(f"attention at source position 0: {share:.1%} of {rows} output tokens peak")


def tables(lines: list[str]) -> list[list[list[str]]]:
    """The tables of an output, parted by blank lines, as cells parted by two spaces or more."""
    text = "\n".join(lines).split("\n\n")
    return [[re.split(r"  +", line.strip()) for line in table.split("\n")] for table in text]


def interval_of(score: dict) -> str:
    return f"[{score['low']:.4f}, {score['high']:.4f}]"


def test_everything_that_can_be_told_of_a_run(command, trained, tmp_path):
    pairs = [line.split("\t") for line in (trained.parent / "test.tsv").read_text("utf-8").split("\n")[:-1]]
    counts = [len(source.split(" ")) for source, _ in pairs]
    turned = [" ".join(f"{n}-{count - 1 - n}" for n in range(count)) for count in counts]
    (tmp_path / "gold").write_text("".join(f"{line}\n" for line in turned), encoding="utf-8")
    (tmp_path / "other").write_text("".join(f"{source}\n" for source, _ in pairs), encoding="utf-8")
    options = [
        "--by-length",
        "--length-bounds",
        "1,2",
        "--confidence",
        "--errors",
        "--metrics",
        "cer,exact_match",
    ]
    options += ["--gold-alignments", tmp_path / "gold", "--compare", tmp_path / "other"]
    done = command("evaluate", trained, *options)
    told = json.loads(command("evaluate", trained, *options, "--json").out)
    keys = {
        "examples",
        "metrics",
        "attention",
        "by_length",
        "comparison",
        "errors",
        "alignment",
        "search",
        "model",
    }
    assert set(told) == keys
    summary, _, by_length, comparison, errors, alignment = tables(done.lines)
    assert [row[0] for row in summary] == ["examples", "cer", "exact_match"]
    score = told["metrics"]["cer"]
    assert summary[1] == ["cer", f"{score['value']:.4f}", interval_of(score), score["signature"]]
    assert by_length[0] == ["source length", "lines", "cer", "exact_match"]
    assert [row[:2] for row in by_length[1:]] == [
        [f"{bucket['shortest']}–{bucket['longest']}", str(bucket["lines"])] for bucket in told["by_length"]
    ]
    assert sum(int(row[1]) for row in by_length[1:]) == 8
    assert comparison[0][:4] == ["metric", "this", str(tmp_path / "other"), "difference"]
    exact = told["comparison"]["metrics"]["exact_match"]
    figures = (
        f"{exact['first']['value']:.4f}",
        f"{exact['second']['value']:.4f}",
        f"{exact['difference']:+.4f}",
    )
    assert comparison[2][1:] == [*figures, interval_of(exact), f"{exact['p_value']:.4f}"]
    assert exact["first"]["value"] != exact["second"]["value"]
    assert {row[0]: int(row[1]) for row in errors[1:]} == told["errors"]["counts"]
    assert alignment[0][:2] == ["aer", f"{told['alignment']['aer']:.4f}"]
    assert [row[0] for row in alignment] == ["aer", "precision", "recall"]
    assert done.err.count("\n") == 2
    assert "does not by itself prove a limit of storage" in done.err
    assert "not what other training seeds would" in done.err


def test_the_alignments_of_a_model_that_turns_words_round_are_turned(command, trained, tmp_path):
    pairs = [line.split("\t") for line in (trained.parent / "test.tsv").read_text("utf-8").split("\n")[:-1]]
    counts = [len(source.split(" ")) for source, _ in pairs]
    for name, place in (("turned", lambda n, count: count - 1 - n), ("straight", lambda n, count: n)):
        lines = (" ".join(f"{n}-{place(n, count)}" for n in range(count)) for count in counts)
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    found = {
        name: json.loads(command("evaluate", trained, "--gold-alignments", tmp_path / name, "--json").out)
        for name in ("turned", "straight")
    }
    assert found["turned"]["alignment"]["aer"] < found["straight"]["alignment"]["aer"]


def test_sentences_are_a_table_of_their_own(command, trained):
    done = command("evaluate", trained, "--sentences", "--metrics", "exact_match,chrf")
    told = json.loads(command("evaluate", trained, "--sentences", "--json").out)["sentences"]
    head, *rows = [line.split("\t") for line in done.lines]
    assert head == ["line", "sentence_exact_match", "sentence_chrf", "source", "hypothesis", "reference"]
    assert len(rows) == len(told) == 8
    for row, line in zip(rows, told, strict=True):
        assert row[0] == str(line["line"])
        assert row[1:3] == [f"{line['scores'][name]['value']:.4f}" for name in ("exact_match", "chrf")]
        assert row[3:] == [line["source"], line["hypothesis"], *line["references"]]
        assert all("level:sentence" in score["signature"] for score in line["scores"].values())


def test_sentences_of_files_keep_their_columns(command, tmp_path):
    (tmp_path / "ref2").write_text("c\nd\n", encoding="utf-8")
    (tmp_path / "src").write_text("x\ny\n", encoding="utf-8")
    options = [*files(tmp_path, "a\tb\nd\n", "a b\nb\n"), tmp_path / "ref2"]
    done = command(
        "evaluate", *options, "--sources", tmp_path / "src", "--sentences", "--metrics", "exact_match"
    )
    assert done.lines == [
        "line\tsentence_exact_match\tsource\thypothesis\treference\treference_2",
        "1\t0.0000\tx\ta b\ta b\tc",
        "2\t1.0000\ty\td\tb\td",
    ]
    without = command("evaluate", *options, "--sentences", "--metrics", "exact_match")
    assert without.lines[1] == "1\t0.0000\t\ta b\ta b\tc"


def test_that_outputs_do_not_depend_on_the_batch_can_be_checked(command, trained):
    done = command("evaluate", trained, "--check-batching", "--metrics", "cer")
    assert done.lines[-1].startswith(
        "output does not depend on the batch: 8 lines alone and in batches of 7, 64; scores"
    )
    assert done.code == 0
    assert done.lines[-1].endswith("0 faults")
    told = json.loads(command("evaluate", trained, "--check-batching", "--json").out)["batching"]
    assert (told["passed"], told["lines"], told["faults"]) == (True, 8, [])


def test_outputs_that_depend_on_the_batch_are_said_to(command, trained, monkeypatch):
    stream = Translator.stream

    def spoilt(self, texts, *, batch_size=64, **how):
        for number, one in enumerate(stream(self, texts, batch_size=batch_size, **how)):
            yield replace(one, tokens=["x"], score=-9.0) if number == 2 and batch_size == 7 else one

    monkeypatch.setattr(Translator, "stream", spoilt)
    done = command("evaluate", trained, "--check-batching", "--metrics", "cer")
    assert done.lines[-2].startswith("output DEPENDS on the batch")
    assert done.lines[-2].endswith("0 ties, 1 faults")
    assert done.lines[-1].startswith("fault: line 3: ")
    assert done.code == 1
    assert "--check-batching: 1 outputs depend on the batch" in done.err


def test_two_runs_are_compared(command, trained):
    told = json.loads(command("evaluate", trained, "--compare", trained, "--json", "--metrics", "bleu").out)
    (found,) = told["comparison"]["metrics"].values()
    assert (found["difference"], found["p_value"], found["tied"]) == (0, 1, 1)
    assert found["first"]["value"] == told["metrics"]["bleu"]["value"]


def test_a_compared_file_does_not_lose_for_its_spaces(command, trained, tmp_path):
    sources = [
        line.split("\t")[0] for line in (trained.parent / "test.tsv").read_text("utf-8").split("\n")[:-1]
    ]
    outputs = [one.text for one in Translator.load(trained).translate(sources, attention=False)]
    wide = "".join(f" {text.replace(' ', '   ')}\n" for text in outputs)
    (tmp_path / "wide").write_text(wide, encoding="utf-8")
    told = json.loads(command("evaluate", trained, "--compare", tmp_path / "wide", "--json").out)
    for metric in told["comparison"]["metrics"].values():
        assert metric["difference"] == 0
    assert any(" " in text for text in outputs)


def test_a_sweep_is_of_dev_data_unless_a_file_is_named(command, trained):
    options = ["--sweep", "search.width=1,3", "search.length_penalty=none,{name: gnmt, alpha: 0.2}"]
    done = command("evaluate", trained, *options, "--metrics", "cer", "--select", "cer")
    told = json.loads(command("evaluate", trained, *options, "--json", "--quiet").out)
    head, table, last = tables(done.lines)
    dev = (trained.parent / "dev.tsv").read_text("utf-8").count("\n")
    assert head == [[f"{dev} examples of data.dev"]]
    assert table[0] == ["search.width", "search.length_penalty", "cer"]
    assert len(table) == 1 + 4 == 1 + len(told["sweep"])
    assert [row[0] == "*" for row in table[1:]].count(True) == 1
    assert last[0][0].startswith("best by cer: search.width=")
    assert told["select"] == "exact_match"  # training went by its loss, which is no metric
    assert done.err.count("\n") == 5
    assert "4 searches of" in done.err
    greedy = command("evaluate", trained, trained.parent / "dev.tsv", "--beam", 1, "--json")
    first = told["sweep"][0]["metrics"]
    expected = json.loads(greedy.out)["metrics"]
    assert first["exact_match"] == expected["exact_match"]
    one = [trained, "--sweep", "search.width=1,1,1", "--metrics", "cer", "--quiet"]
    assert (
        command("evaluate", *one).lines[-1] == "best by exact_match: search.width=1  (the first of 3 equals)"
    )
    test = command("evaluate", trained, trained.parent / "test.tsv", "--sweep", "search.width=1")
    assert "is this run's test data: settings chosen on it make its scores too good" in test.err
    assert test.lines[0] == f"8 examples of {trained.parent / 'test.tsv'}"


def test_a_beam_beside_a_sweep_is_the_width_of_what_is_not_swept(command, trained):
    options = ["--sweep", "search.length_penalty=none", "--metrics", "cer", "--json"]
    told = json.loads(command("evaluate", trained, *options, "--beam", 2).out)
    assert told["sweep"][0]["search"]["width"] == 2


def test_lengths_of_files_are_counted_in_words(command, tmp_path):
    (tmp_path / "src").write_text("one two three\n o\n", encoding="utf-8")
    options = [*files(tmp_path, "a\nb\n", "a\nb\n"), "--sources", tmp_path / "src", "--by-length"]
    told = json.loads(command("evaluate", *options, "--length-bounds", "1,2", "--json").out)
    assert [(b["shortest"], b["longest"]) for b in told["by_length"]] == [(1, 1), (3, 3)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("{files} --errors", "--hypotheses with --errors: expected a run folder"),
        ("{files} --gold-alignments {gold}", "--hypotheses with --gold-alignments: expected a run folder"),
        ("{files} --sweep search.width=1", "--hypotheses with --sweep: expected a run folder"),
        ("{files} --check-batching", "--hypotheses with --check-batching: expected a run folder"),
        ("{files} --beam 3", "--hypotheses with --beam: expected a run folder"),
        ("{files} --by-length", "--by-length with --hypotheses: expected --sources too"),
        ("{files} --length-bounds 3", "--length-bounds needs --by-length"),
        ("{files} --metrics blue", "unknown metric 'blue'; did you mean 'bleu'"),
        ("{files} --sources missing --by-length", "missing: cannot be read"),
        ("{run} --sources {gold}", "--sources needs --hypotheses"),
        ("{run} --select cer", "--select needs --sweep"),
        ("{run} --alignment-threshold 0.5", "--alignment-threshold needs --gold-alignments"),
        ("{run} --gold-alignments {gold}", "expected a line for each of the 8 pairs scored; got 1"),
        ("{run} --compare {gold}", "expected an output for each of the 8 lines scored; got 1"),
        ("{run} --compare missing", "missing: cannot be read"),
        ("{run} --sentences --errors", "--sentences with --errors: expected --json too"),
        ("{run} --sentences --confidence", "--sentences with --confidence: expected --json too"),
        ("{run} --sweep search.width=1 --errors", "--sweep with --errors: expected one of them"),
        ("{run} --sweep search.width=1 --sentences --json", "--sweep with --sentences: expected one of them"),
        ("{run} --sweep search.width=1 --beam 2", "--beam 2 with --sweep search.width: expected one of them"),
        ("{run} --sweep search.widht=1", "unknown key 'widht'; did you mean 'width'"),
        ("{run} --by-length --length-bounds 3,x", "--length-bounds: expected numbers parted by commas"),
        ("{run} --by-length --length-bounds 3,2", "expected ascending bounds of at least 1; got [3, 2]"),
        ("nowhere --metrics blue", "unknown metric 'blue'"),
    ],
)
def test_what_does_not_go_together_is_refused_before_a_model_runs(
    command, trained, tmp_path, monkeypatch, options, message
):
    monkeypatch.setattr(Translator, "stream", lambda *_, **__: pytest.fail("decoded"))
    (tmp_path / "gold").write_text("0-0\n", encoding="utf-8")
    named = {
        "run": str(trained),
        "gold": str(tmp_path / "gold"),
        "files": " ".join(files(tmp_path, "a\n", "a\n")),
    }
    done = command("evaluate", *options.format(**named).split(" "))
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1


def test_other_data_may_be_given(command, trained, tmp_path):
    (tmp_path / "some.tsv").write_text("one\tone\n\t2\nఒకటి\tఒకటి\n", encoding="utf-8")
    done = command("evaluate", trained, tmp_path / "some.tsv", "--json")
    assert json.loads(done.out)["examples"] == 2
    assert (
        done.err == f"transduce: {tmp_path / 'some.tsv'}: skipped 1 of 3 pairs with a blank side (line 2)\n"
    )
    assert command("evaluate", trained, tmp_path / "some.tsv", "--quiet").err == ""


def test_texts_are_scored_without_a_model(command, tmp_path):
    done = command("evaluate", *files(tmp_path, "a b\na c\nx\n\n", "a b\na b\nx\ny\n"), "--json")
    found = json.loads(done.out)
    assert (found["examples"], found["model"], found["search"]) == (4, None, None)
    values = {name: metric["value"] for name, metric in found["metrics"].items()}
    assert set(values) == set(Metric.family)
    assert values["exact_match"] == 0.5
    assert values["token_accuracy"] == pytest.approx(4 / 6)
    assert values["wer"] == pytest.approx(100 * 2 / 6)
    assert values["cer"] == pytest.approx(100 * 2 / 8)
    assert done.err == "transduce: 1 of 4 hypotheses are empty though their references are not\n"
    assert command("evaluate", *files(tmp_path, "a\n\n", "a\nb\n"), "--quiet").err == ""


def test_identical_texts_score_best(command, tmp_path):
    text = "the cat sat on the mat\nనేను చాలా అదృష్టవంతుడిని ఈ రోజు\n"
    values = {
        name: metric["value"]
        for name, metric in json.loads(command("evaluate", *files(tmp_path, text, text), "--json").out)[
            "metrics"
        ].items()
    }
    assert (values["exact_match"], values["token_accuracy"]) == (1, 1)
    assert (values["bleu"], values["chrf"]) == (pytest.approx(100), pytest.approx(100))
    assert (values["cer"], values["wer"]) == (0, 0)


@pytest.mark.parametrize(
    ("hypotheses", "references", "counts"),
    [
        ("a\nb\n", "a\n", "ref: expected a reference for each of the 2 hypotheses; got 1"),
        ("", "a\n", "ref: expected a reference for each of the 0 hypotheses; got 1"),
        ("", "", "got 0"),
    ],
)
def test_files_of_different_length_are_refused(command, tmp_path, hypotheses, references, counts):
    done = command("evaluate", *files(tmp_path, hypotheses, references))
    assert (done.code, done.out) == (2, "")
    assert counts in done.err
    assert done.err.count("\n") == 1


def measured(command, folder, hypotheses: list[str], *streams: list[str]) -> tuple[dict, str]:
    """The metrics of a command over these lines, and what it said."""
    named = {"hyp": hypotheses} | {f"ref{number}": stream for number, stream in enumerate(streams)}
    for name, lines in named.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    references = [folder / name for name in named if name != "hyp"]
    done = command("evaluate", "--hypotheses", folder / "hyp", "--references", *references, "--json")
    assert done.code == 0
    return json.loads(done.out)["metrics"], done.err


def test_MET_01_every_line_of_every_reference_file_counts(command, tmp_path):
    hypotheses = ["a b c d", "w x y z", "q q q q"]
    flat = ["a b c d", "e f g h", "i j k l"]
    found, said = measured(command, tmp_path, hypotheses, flat)
    assert found["bleu"]["value"] == pytest.approx(33.33, abs=0.005)
    assert "nrefs:1" in found["bleu"]["signature"]
    assert said == ""
    found, said = measured(command, tmp_path, hypotheses, flat, ["x"] * 3, flat[::-1])
    assert found["exact_match"]["value"] == pytest.approx(1 / 3)
    assert all("nrefs:3" in metric["signature"] for metric in found.values())
    assert said == ""  # as many references as lines, and yet nothing to doubt
    found, _ = measured(command, tmp_path, hypotheses, flat, hypotheses)
    assert (found["exact_match"]["value"], found["wer"]["value"]) == (1.0, 0.0)


def test_MET_03_empty_lines_are_scored_and_said(command, tmp_path):
    references = ["the cat sat on the mat .", "a dog ran in the park"]
    found, said = measured(command, tmp_path, ["", "a dog runs in the park"], references)
    assert (round(found["bleu"]["value"], 2), round(found["chrf"]["value"], 2)) == (11.83, 33.94)
    assert found["exact_match"]["value"] == 0
    assert "1 of 2 hypotheses are empty" in said
    found, said = measured(command, tmp_path, ["", ""], references)
    assert [found[name]["value"] for name in ("bleu", "chrf", "wer")] == [0, 0, 100]
    assert "2 of 2 hypotheses are empty" in said


@pytest.mark.parametrize(
    ("reference", "hypothesis", "rate"),
    [("", "", 0), ("", "a b", 200), ("a b", "", 100), ("hello", "hello how are you", 300)],
)
def test_MET_04_empty_references_and_long_output(command, tmp_path, reference, hypothesis, rate):
    found, _ = measured(command, tmp_path, [hypothesis], [reference])
    assert found["wer"]["value"] == rate
    found, _ = measured(command, tmp_path, [hypothesis, "x y"], [reference, "x y"])
    edits, words = rate * max(1, len(reference.split())) / 100, len(reference.split()) + 2
    assert found["wer"]["value"] == pytest.approx(100 * edits / words)


def test_MET_07_a_perfect_short_output_says_why_its_bleu_is_0(command, tmp_path):
    found, _ = measured(command, tmp_path, ["good morning"], ["good morning"])
    assert (found["bleu"]["value"], found["chrf"]["value"], found["exact_match"]["value"]) == (0, 100, 1)
    done = command("evaluate", *files(tmp_path, "good morning\n", "good morning\n"))
    assert "corpus too short for 4-gram BLEU" in next(line for line in done.lines if line.startswith("bleu"))
    options = [*files(tmp_path, "good morning\n", "good morning\n"), "--sentences", "--json"]
    (line,) = json.loads(command("evaluate", *options).out)["sentences"]
    assert line["scores"]["bleu"]["value"] == 100


def test_MET_09_tokenised_output_is_said_at_any_size(command, tmp_path):
    raw = "He said: \"It's done, isn't it?\""
    found, said = measured(command, tmp_path, [raw], [raw])
    assert found["bleu"]["value"] == 100
    signature = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:"
    assert found["bleu"]["signature"].startswith(signature)
    assert said == ""
    found, said = measured(command, tmp_path, ["He said : \" It 's done , is n't it ? \""], [raw])
    assert round(found["bleu"]["value"], 2) == 31.17
    assert "1 of 1 hypotheses look tokenised" in said


def test_MET_12_chrf_says_that_it_leaves_out_spaces(command, tmp_path):
    found, _ = measured(command, tmp_path, ["thecat"], ["the cat"])
    assert found["chrf"]["value"] == 100
    assert all(part in found["chrf"]["signature"] for part in ("nc:6", "nw:0", "space:no", "version:"))
    options = [
        *files(tmp_path, "thecat\n", "the cat\n"),
        "--metrics",
        "{name: chrf, whitespace: true}",
        "--json",
    ]
    spaced = json.loads(command("evaluate", *options).out)["metrics"]["chrf"]
    assert (round(spaced["value"], 2), "space:yes" in spaced["signature"]) == (33.15, True)


def test_MET_13_identical_text_and_empty_references(command, tmp_path):
    found, _ = measured(command, tmp_path, ["this is a test"], ["this is a test"])
    assert found["bleu"]["value"] == 100
    found, _ = measured(command, tmp_path, ["a"], [""])
    assert found["bleu"]["value"] == 0
