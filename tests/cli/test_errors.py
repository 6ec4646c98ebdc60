"""What goes wrong is said in one line on stderr, with a hint, and exit code 2."""

import pytest


def complaint(done) -> str:
    """The one line of an error."""
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("transduce: ")
    assert done.err.count("\n") == 1
    return done.err.removeprefix("transduce: ").rstrip("\n")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("trian copy-reverse", 'Unknown command "trian". Did you mean "train"?'),
        ("translate {run} --bea 3", "Unknown option: --bea. Did you mean --beam?"),
        ("translate {run} --n-bset 3", "Unknown option: --n-bset. Did you mean --n-best?"),
        ("train copy-revrse", "unknown recipe 'copy-revrse'; did you mean 'copy-reverse'?"),
        ("recipes date", "unknown recipe 'date'; did you mean 'dates'?"),
        ("train copy-reverse train.updatse=3", "unknown key 'updatse'; did you mean 'updates'?"),
        ("train copy-reverse model.decoder.atention=dot", "did you mean 'attention'?"),
        ("train copy-reverse model.decoder.attention=dott", "unknown attention 'dott'; did you mean 'dot'?"),
        ("train copy-reverse updates", "override 'updates': expected key.path=value"),
        ("train missing.yaml", "missing.yaml: cannot be read"),
        ("train", 'Command "train" parameter CONFIG requires an argument.'),
        ("translate", 'Command "translate" parameter RUN requires an argument.'),
        ("translate {run} - more", "Unused Tokens: ['more']."),
        ("translate {run} --beam x", 'Invalid value for --beam: unable to convert "x" into int.'),
        ("translate {run} --beam 0", "search.width: expected at least 1; got 0"),
        (
            "translate {run} --beam 2 --n-best 3",
            "expected n_best at most width (the beam); got n_best 3, width 2",
        ),
        ("translate {run} --attention", "--attention needs --json"),
        ("translate {run} {data} --batch-size 0", "batch_size: expected at least 1; got 0"),
        ("translate nowhere", "nowhere: expected a run folder; it has no config.yaml"),
        ("translate {run} missing.txt", "missing.txt: cannot be read; No such file or directory"),
        ("translate {run}/config.yaml", "config.yaml: expected a run folder"),
        ("score {run} missing.tsv", "missing.tsv: cannot be read; No such file or directory"),
        ("score {run} {data} --batch-size -1", "batch_size: expected at least 1; got -1"),
        ("score {run}", 'Command "score" parameter DATA requires an argument.'),
        ("evaluate {run} --beam 0", "search.width: expected at least 1; got 0"),
        ("evaluate {run} --batch-size 0", "batch_size: expected at least 1; got 0"),
        ("evaluate", "expected a run folder, or --hypotheses with --references"),
        ("evaluate {run} --hypotheses {data} --references {data}", "expected a run folder, or --hypotheses"),
        ("evaluate --hypotheses {data}", "--hypotheses and --references: expected both or neither"),
        ("evaluate {run} missing.tsv", "missing.tsv: cannot be read"),
    ],
)
def test_usage_and_configuration_faults(command, trained, line, message):
    arguments = line.format(run=trained, data=trained.parent / "dev.tsv").split(" ")
    assert message in complaint(command(*arguments))


def test_a_recipe_that_needs_data_says_which(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert f"{tmp_path / 'train.tsv'}: cannot be read" in complaint(command("train", "g2p"))


def test_a_damaged_run_names_its_file(command, trained, tmp_path):
    import shutil

    for name in ("model.safetensors", "tokenizer.source.json", "tokenizer.target.json", "config.yaml"):
        folder = shutil.copytree(trained, tmp_path / name)
        (folder / name).write_bytes((folder / name).read_bytes()[:40])
        assert str(folder / name) in complaint(command("translate", folder, "-"))


def test_failing_training_is_a_failure_at_run_time(command, trained, tmp_path):
    data = [f"data.{part}={trained.parent / part}.tsv" for part in ("train", "dev")]
    options = ["train.optimizer={name: sgd, lr: 1e38}", "train.clip=null", "train.updates=50"]
    small = ["model.encoder.width=4", "model.decoder.width=4", "tokenizer.target=word"]
    done = command("train", "g2p", *data, *options, *small, "--run", tmp_path / "run", "--quiet")
    assert done.code == 1
    assert done.out == ""
    assert "transduce: update " in done.err  # at the gradient, or else at the dev data
    assert "try a smaller train.optimizer.lr" in done.err
    assert done.err.count("\n") == 1
