"""`--int8` on the command line."""

import json

import pytest


def test_translations_in_int8_are_those_of_a_quantised_model(command, trained):
    from transduce.quantisation import quantise
    from transduce.translator import Translator

    path = trained.parent / "input.txt"
    path.write_text("one ఒకటి\n\n2 2 క్షి\n", encoding="utf-8")
    translator = Translator.load(trained)
    exact = [result.log_prob for result in translator.translate(["one ఒకటి", "", "2 2 క్షి"])]
    quantise(translator.model)
    expected = translator.translate(["one ఒకటి", "", "2 2 క్షి"])
    done = command("translate", trained, path, "--int8", "--json")
    found = [json.loads(line) for line in done.lines]
    assert done.code == 0
    assert [line["text"] for line in found] == [result.text for result in expected]
    assert [line["log_prob"] for line in found] == pytest.approx([result.log_prob for result in expected])
    assert found[0]["log_prob"] != pytest.approx(exact[0], abs=1e-7)


def test_every_model_of_an_ensemble_is_in_int8(command, trained):
    from transduce.quantisation import Int8Linear, quantise
    from transduce.translator import load

    path = trained.parent / "input.txt"
    path.write_text("one ఒకటి\n", encoding="utf-8")
    several = load(trained, trained, weights=[1.0, 3.0])
    quantise(several.model)
    for member in several.model.members:
        assert any(isinstance(module, Int8Linear) for module in member.modules())
    done = command("translate", trained, path, "--with", trained, "--weights", "1,3", "--int8", "--json")
    (expected,) = several.translate(["one ఒకటి"])
    assert done.code == 0
    assert json.loads(done.out)["log_prob"] == pytest.approx(expected.log_prob)
    alone = command("translate", trained, path, "--int8", "--json")
    assert json.loads(alone.out)["log_prob"] == pytest.approx(expected.log_prob, abs=1e-5)


def test_evaluation_tells_what_int8_changes(command, trained):
    from transduce.quantisation import quantise
    from transduce.run import evaluate
    from transduce.translator import Translator

    translator = Translator.load(trained)
    exact = evaluate(translator)["metrics"]
    quantise(translator.model)
    rounded = evaluate(translator)["metrics"]
    result = json.loads(command("evaluate", trained, "--int8", "--json").out)
    found = result["int8"]
    assert result["metrics"] == json.loads(json.dumps(exact))
    assert found["lines"] == result["examples"] == 8
    for name, score in found["metrics"].items():
        assert score["float32"] == exact[name]["value"]
        assert score["int8"] == pytest.approx(rounded[name]["value"])
        assert exact[name]["signature"].startswith(score["signature"])
    text = command("evaluate", trained, "--int8", "--metrics", "exact_match,chrf").out
    assert text.endswith(f"outputs that differ: {found['differing']} of 8 ({found['differing'] / 8:.2%})\n")
    before, after = exact["chrf"]["value"], rounded["chrf"]["value"]
    row = next(line for line in text.split("\n") if line.startswith("chrf  ") and "+" in line + "+")
    assert f"{before:.4f}" in row
    assert f"{after - before:+.4f}" in text


def test_outputs_that_int8_changes_are_counted():
    import copy
    from dataclasses import replace

    from tests.translators import lines, make
    from transduce.data.pairs import Pair
    from transduce.quantisation import quantise
    from transduce.run.outputs import decode_pairs
    from transduce.run.quantised import Quantised

    translator, pairs = make("gru+additive"), [Pair(line, line) for line in lines()]
    search = translator.searcher(width=1)
    small = copy.copy(translator)
    small.model = copy.deepcopy(translator.model)
    quantise(small.model)
    outputs = decode_pairs(translator, pairs, search)
    expected = decode_pairs(small, pairs, search).hypotheses
    report = Quantised(translator, search, pairs, ["exact_match"])
    assert report(outputs)["int8"]["differing"] == sum(map(str.__ne__, outputs.hypotheses, expected))
    others = replace(outputs, hypotheses=[*outputs.hypotheses[:-2], "no such", "output"])
    changed = sum(map(str.__ne__, others.hypotheses, expected))
    assert changed >= 2
    assert report(others)["int8"]["differing"] == changed
    assert decode_pairs(translator, pairs, search).hypotheses == outputs.hypotheses  # it stays as it was


@pytest.mark.parametrize(
    "options", [["--sweep", "search.width=1"], ["--hypotheses", "a", "--references", "b"]], ids=str
)
def test_int8_with_what_it_says_nothing_of_is_refused(command, trained, options):
    run = [trained] if options[0] == "--sweep" else []
    done = command("evaluate", *run, "--int8", *options)
    assert done.code == 2
    assert "--int8" in done.err
