"""Several runs as one, and traces, on the command line."""

import json
import re

import pytest

from tests.cli.test_translate import KEYS
from tests.tiny import settings
from transduce import load
from transduce.experiment import load_experiment
from transduce.run import evaluate, train_run
from transduce.trace import Trace

LINES = ["one", "ఒకటి 2", "", "క్షి one 2"]


@pytest.fixture(scope="module")
def other(trained):
    """Another architecture with the same vocabularies, hardly trained."""
    home = trained.parent
    paths = [f"data.{part}={home / part}.tsv" for part in ("train", "dev", "test")]
    tree = settings(*paths, "train.updates=20", "train.validate_every=20")
    tree["model"]["decoder"]["cell"] = "lstm"
    train_run(load_experiment(tree), home / "other")
    return home / "other"


@pytest.mark.parametrize("mean", ["probabilities", "log_probabilities"])
def test_translate_with_another_run(command, trained, other, tmp_path, mean):
    (tmp_path / "in.txt").write_text("\n".join(LINES), encoding="utf-8")
    flags = ["--with", other, "--mean", mean, "--weights", "0.2,0.8", "--n-best", 2]
    done = command("translate", trained, tmp_path / "in.txt", *flags)
    both = load(trained, other, mean=mean, weights=[0.2, 0.8])
    results = both.translate(LINES, search=both.searcher(n_best=2))
    told = [line.split("\t") for line in done.lines]
    assert [row[3] for row in told] == [b.text for r in results for b in r.n_best or [r]]
    expected = [b.score for r in results for b in r.n_best or [r]]
    assert [float(row[2]) for row in told] == pytest.approx(expected, abs=1e-4)
    assert done.out != command("translate", trained, tmp_path / "in.txt", "--n-best", 2).out


def test_evaluate_with_other_runs(command, trained, other):
    done = command("evaluate", trained, "--json", "--quiet", "--with", other, trained, "--weights", "1,1,2")
    found = json.loads(done.out)
    expected = evaluate(load(trained, other, trained, weights=[1.0, 1.0, 2.0]))
    assert found["model"] == "tiny + tiny + tiny"
    assert found["metrics"]["chrf"]["value"] == pytest.approx(expected["metrics"]["chrf"]["value"])
    assert found["attention"] == pytest.approx(expected["attention"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["translate", "RUN", "--mean", "probabilities"], "--mean needs --with"),
        (["evaluate", "RUN", "--weights", "1,2"], "--weights needs --with"),
        (
            ["translate", "RUN", "--with", "RUN", "--weights", "a,b"],
            "--weights: expected a number for each run",
        ),
        (
            ["translate", "RUN", "--with", "RUN", "--weights", "1"],
            "each of the 2 models, not all 0; got [1.0]",
        ),
        (["translate", "RUN", "--with", "RUN", "--mean", "maen"], "unknown mean 'maen'"),
        (["translate", "RUN", "--with", "no such run"], "no such run: expected a run folder"),
        (["evaluate", "--hypotheses", "a", "--references", "b", "--with", "RUN"], "--hypotheses with --with"),
        (["translate", "RUN", "--trace"], "--trace needs --json"),
        (["translate", "RUN", "--alignment-threshold", "0.5"], "--alignment-threshold needs --alignments"),
    ],
)
def test_what_does_not_go_together_is_one_line(command, trained, stdin, arguments, message):
    stdin("one\n")
    done = command(*[trained if argument == "RUN" else argument for argument in arguments])
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1


def test_traces_are_one_more_key(command, trained, stdin):
    stdin("\n".join(LINES))
    plain = [json.loads(line) for line in command("translate", trained, "--json", "--n-best", 2).lines]
    stdin("\n".join(LINES))
    traced = [
        json.loads(line) for line in command("translate", trained, "--json", "--n-best", 2, "--trace").lines
    ]
    model = load(trained)
    for row, before in zip(traced, plain, strict=True):
        trace = Trace.from_plain(row.pop("trace"))
        assert row == before
        assert list(row) == KEYS
        assert (trace.source, trace.text) == (row["source"], row["text"])
        assert [result.text for result in trace.n_best] == [best["text"] for best in row["n_best"]]
    assert trace.text == model.trace(LINES[-1], search=model.searcher(n_best=2)).text
    assert max(len(h.candidates) for step in trace.steps for h in step.beam) >= 5


def test_a_threshold_links_by_amount(command, trained, tmp_path):
    (tmp_path / "in.txt").write_text("one 2 ఒకటి\n", encoding="utf-8")
    links = {}
    for threshold in ("0", "0.5", "1.1"):
        flags = ["--alignments", tmp_path / "links", "--alignment-threshold", threshold]
        assert command("translate", trained, tmp_path / "in.txt", *flags).code == 0
        links[threshold] = re.findall(r"\d+-\d+", (tmp_path / "links").read_text(encoding="utf-8"))
    words = len(load(trained).translate("one 2 ఒకటి").text.split(" "))
    assert len(links["0"]) == 3 * words
    assert set(links["0.5"]) < set(links["0"])
    assert links["1.1"] == []
