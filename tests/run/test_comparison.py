"""Two systems on the same lines."""

import json

import pytest

from tests import translators
from transduce.data.pairs import Pair
from transduce.errors import CheckpointError, ConfigError, DataError
from transduce.metrics import compare, confidence
from transduce.run.comparison import Compared, open_system
from transduce.run.outputs import Outputs, decode_pairs
from transduce.run.reports import Intervals

HYPOTHESES, OTHERS = ["a b", "c d", "x"], ["a b", "e e", "y"]
ANSWERS = [("a b",), ("c d", "d c"), ("z", "y")]
OUTPUTS = Outputs(hypotheses=HYPOTHESES, answers=ANSWERS, lines=[1, 2, 3])


def test_the_figures_are_those_of_the_paired_bootstrap():
    found = Compared("other", lambda outputs: OTHERS, str, ["wer", "exact_match"])(OUTPUTS)["comparison"]
    assert found["other"] == "other"
    assert json.loads(json.dumps(found)) == found
    expected = compare(["wer", "exact_match"], HYPOTHESES, OTHERS, ANSWERS)
    assert list(found["metrics"]) == list(expected)
    for name, comparison in expected.items():
        one = found["metrics"][name]
        assert one["first"] == Intervals([name])(OUTPUTS)["metrics"][name]
        assert one["second"]["value"] == confidence([name], OTHERS, ANSWERS)[name].score.value
        assert one["difference"] == comparison.difference
        assert (one["low"], one["high"]) == (comparison.low, comparison.high)
        assert (one["won"], one["tied"], one["p_value"]) == (
            comparison.won,
            comparison.tied,
            comparison.p_value,
        )
    assert found["metrics"]["exact_match"]["difference"] == 0
    assert found["metrics"]["wer"]["first"]["value"] != found["metrics"]["wer"]["second"]["value"]


def test_no_system_loses_for_its_normal_form():
    found = Compared("other", lambda outputs: ["A B", "C D", "X"], str.lower, ["wer"])(OUTPUTS)["comparison"]
    assert found["metrics"]["wer"]["difference"] == 0


def test_a_file_is_read_before_anything_is_decoded(tmp_path):
    file = tmp_path / "other.txt"
    file.write_text("a b\ne e\ny\n", encoding="utf-8")
    assert open_system(str(file), 3)(OUTPUTS) == OTHERS
    with pytest.raises(DataError, match=r"other.txt: expected an output for each of the 4 lines.*; got 3"):
        open_system(str(file), 4)
    with pytest.raises(DataError, match="cannot be read"):
        open_system(str(tmp_path / "none"), 4)
    with pytest.raises(CheckpointError, match="expected a run folder"):
        open_system(str(tmp_path), 3)


def test_a_run_translates_the_same_sources_by_its_own_search(tmp_path):
    first, second = (translators.make("gru+additive", seed=seed) for seed in (3, 4))
    second.save(tmp_path)
    pairs = [Pair(line, line) for line in translators.lines(6)]
    outputs = decode_pairs(first, pairs, first.searcher())
    system = open_system(str(tmp_path), 6, batch_size=4)
    assert system(outputs) == [one.text for one in second.translate(outputs.sources, attention=False)]
    with pytest.raises(ConfigError, match="expected sources for this run to translate; got none"):
        system(OUTPUTS)
