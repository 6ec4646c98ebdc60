"""Vocabularies and training do not depend on Python's string hashes."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.tiny import log, settings

SCRIPT = """
import json, sys, torch, transduce
torch.set_num_threads(1)
transduce.train(json.loads(sys.argv[1]), run=sys.argv[2])
"""
FILES = ("tokenizer.source.json", "tokenizer.target.json", "model.safetensors")


def test_TRN_16_hash_seeds_change_nothing(tmp_path):
    words = [f"word{n}" for n in range(12)]  # all equally frequent
    pairs = [f"{a} {b}\t{b} {a}\n" for a, b in zip(words, words[::-1], strict=True)]
    (tmp_path / "train.tsv").write_text("".join(pairs), encoding="utf-8")
    tree = settings("seed=7", f"data.train={tmp_path / 'train.tsv'}", f"data.dev={tmp_path / 'train.tsv'}")
    tree["train"] |= {"batch_pairs": 4, "updates": 3, "validate_every": 3, "log_every": 3}
    started = {seed: start(seed, json.dumps(tree), tmp_path / seed) for seed in ("0", "1", "random")}
    for process in started.values():
        assert process.wait(60) == 0
    first = [(tmp_path / "0" / name).read_bytes() for name in FILES]
    assert "loss" in log(tmp_path / "0")[0]
    for seed in started:
        assert [(tmp_path / seed / name).read_bytes() for name in FILES] == first
        assert log(tmp_path / seed) == log(tmp_path / "0")


def start(seed: str, tree: str, folder: Path) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.Popen([sys.executable, "-c", SCRIPT, tree, str(folder)], env=environment)
