"""`transduce export`."""

import json

import pytest


@pytest.mark.usefixtures("unchecked")
def test_export_writes_all_that_decoding_needs(command, trained, tmp_path):
    done = command("export", trained, "--out", tmp_path / "out")
    assert (done.code, done.out) == (0, "")
    assert (
        done.err == f"transduce: wrote {tmp_path / 'out'}: what goes in and comes out stands in export.json\n"
    )
    files = ["decoder.onnx", "encoder.onnx", "export.json", "tokenizer.source.json", "tokenizer.target.json"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == files
    about = json.loads((tmp_path / "out" / "export.json").read_text("utf-8"))
    assert about["name"] == "tiny"
    assert about["special"] == {"pad": 0, "unk": 1, "bos": 2, "eos": 3}


def test_nothing_is_written_where_it_cannot_be(command, trained, tmp_path):
    (tmp_path / "mine").write_text("")
    done = command("export", trained, "--out", tmp_path)
    assert done.code == 2
    assert done.err == (
        f"transduce: --out {tmp_path}: expected a new or an empty folder; got one with something in it\n"
    )
    assert command("export", trained / "no-such", "--out", tmp_path / "out").code == 2
    assert command("export", trained).code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
