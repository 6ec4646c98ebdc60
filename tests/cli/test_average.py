"""Several runs made one."""

import shutil


def test_runs_are_averaged_and_the_average_translates(command, trained, tmp_path, stdin):
    shutil.copytree(trained, tmp_path / "copy")
    done = command("average", trained, tmp_path / "copy", "--out", tmp_path / "out")
    assert (done.code, done.out) == (0, "")
    assert done.err == (
        f"transduce: averaged 2 models into {tmp_path / 'out'}; "
        f"score it with: transduce evaluate {tmp_path / 'out'}\n"
    )
    stdin("one 2\n")
    expected = command("translate", trained).out
    stdin("one 2\n")
    assert command("translate", tmp_path / "out").out == expected


def test_saves_of_a_run_are_averaged(command, trained, tmp_path):
    assert command("average", trained, "--last", 2, "--out", tmp_path / "out", "--quiet") == (0, "", "")
    assert (tmp_path / "out" / "model.safetensors").is_file()


def test_what_cannot_be_averaged_is_one_line(command, trained, tmp_path):
    for arguments, message in (
        ([trained, "--out", tmp_path / "out"], "expected two runs or more, or --last with one; got 1"),
        ([trained, trained, "--last", 2, "--out", tmp_path / "out"], "--last 2: expected one run"),
        ([trained, "--last", 9, "--out", tmp_path / "out"], "expected 9 saves; it has 2"),
        ([trained, trained, "--out", trained], "expected a new or empty folder"),
        ([trained, trained], "--out"),
    ):
        done = command("average", *arguments)
        assert (done.code, done.out) == (2, "")
        assert message in done.err
        assert done.err.count("\n") == 1
    assert not (tmp_path / "out").exists()
