"""Several corpora as one."""

from pathlib import Path

import pytest

from transduce.config import Spec
from transduce.data.pairs import Pair, PairSource, Place
from transduce.data.sources.mix import Mix
from transduce.errors import ConfigError
from transduce.experiment import load_experiment


def tsv(path: Path, *pairs: tuple[str, str]) -> Spec[PairSource]:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return Spec(PairSource, "tsv", {"path": str(path)})


def test_members_come_one_after_the_other_with_their_weights(tmp_path):
    specs = [tsv(tmp_path / "a.tsv", ("a", "1"), ("b", "2")), tsv(tmp_path / "b.tsv", ("c", "3"))]
    mix = Mix(Place(), sources=specs, weights=[1.0, 2.5])
    assert mix.read().pairs == [Pair("a", "1"), Pair("b", "2"), Pair("c", "3")]
    assert [weight for _, weight in mix.members()] == [1.0, 2.5]
    assert [source.read().pairs for source, _ in mix.members()] == [
        mix.read().pairs[:2],
        mix.read().pairs[2:],
    ]
    assert mix.files == (str(tmp_path / "a.tsv"), str(tmp_path / "b.tsv"))


def test_a_source_by_itself_is_its_only_member(tmp_path):
    source = tsv(tmp_path / "a.tsv", ("a", "1")).build(Place())
    assert source.members() == [(source, 1.0)]


def test_a_list_is_short_for_it_and_paths_are_relative_to_the_file(tmp_path):
    (tmp_path / "c.yaml").write_text(
        "data: {train: [a.tsv, {path: b.jsonl, weight: 2}, {source: c.en, target: c.te}]}", encoding="utf-8"
    )
    spec = load_experiment(str(tmp_path / "c.yaml")).data.train
    assert spec.name == "mix"
    assert spec.options["weights"] == [1.0, 2, 1.0]
    assert [source.plain() for source in spec.options["sources"]] == [
        {"name": "tsv", "path": str(tmp_path / "a.tsv")},
        {"name": "jsonl", "path": str(tmp_path / "b.jsonl")},
        {"name": "parallel", "source": str(tmp_path / "c.en"), "target": str(tmp_path / "c.te")},
    ]
    written = load_experiment({"data": load_experiment(str(tmp_path / "c.yaml")).model_dump()["data"]})
    assert written.data.train == spec


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sources": []}, "expected sources, and as many weights; got 0 and 0"),
        ({"weights": [1.0, 2.0]}, "got 1 and 2"),
        ({"weights": [0.0]}, r"expected weights above 0; got \[0.0\]"),
        ({"sources": [Spec(PairSource, "copy_reverse", {"fresh": True})]}, "copy_reverse has fresh: true"),
    ],
)
def test_what_cannot_be_mixed_is_refused(options, message):
    sources = [Spec(PairSource, "copy_reverse")]
    with pytest.raises(ConfigError, match=message):
        Mix(Place(), **{"sources": sources, **options})
