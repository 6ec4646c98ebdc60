"""Lines in and out of a process: what was made before a fault is not lost, and nothing waits for ever."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from transduce.cli import streams
from transduce.cli.app import named, said
from transduce.data import lines
from transduce.data.lines import STDIN
from transduce.errors import ConfigError

FULL = Path("/dev/full")


def transduce(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "transduce", *map(str, arguments)]
    return subprocess.run(command, text=True, stderr=subprocess.PIPE, timeout=60, **options)  # type: ignore[call-overload]


def test_whatever_ends_the_reading_is_raised_to_who_waits_for_lines(monkeypatch):
    def broken(path):
        yield "one"
        raise MemoryError("too long a line")

    monkeypatch.setattr(lines, "read_lines", broken)
    groups = streams.read_input("any")
    assert next(groups) == ["one"]
    with pytest.raises(MemoryError):
        next(groups)


def test_lines_are_written_as_they_come_and_before_a_fault(capfdbinary):
    def two_and_a_fault():
        yield "one"
        yield "రెండు"
        raise ConfigError("no third")

    with pytest.raises(ConfigError):
        streams.write_lines(two_and_a_fault())
    assert capfdbinary.readouterr().out == "one\nరెండు\n".encode()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["translate", "RUN", "-"], ["translate", "RUN", STDIN]),
        (["translate", "RUN", "--json", "-"], ["translate", "RUN", "--json", STDIN]),
        (["translate", "RUN", "--prefix", "-"], ["translate", "RUN", "--prefix", STDIN]),
        (["translate", "RUN", "--without", "-"], ["translate", "RUN", "--without=-"]),
        (["translate", "RUN", "--without", "-", "-"], ["translate", "RUN", "--without=-", STDIN]),
    ],
)
def test_a_dash_is_standard_input_but_where_text_is_meant(arguments, expected):
    assert named(arguments) == expected


@pytest.mark.parametrize("flag", ["--alignments", "--out", "--run", "--fix"])
def test_a_dash_is_nothing_to_write_to(command, flag):
    done = command("translate", "RUN", flag, "-")
    assert done.code == 2
    assert f"{flag}: expected a path to write to; got '-'" in done.err


def test_what_is_banned_may_be_a_dash(command, trained, tmp_path):
    (tmp_path / "in.txt").write_text("one\n", encoding="utf-8")
    done = command("translate", trained, tmp_path / "in.txt", "--without", "-", "--beam", 1)
    assert (done.code, len(done.lines)) == (0, 1)


def test_alignments_do_not_overwrite_what_is_read(command, trained, tmp_path):
    text = tmp_path / "in.txt"
    text.write_text("one 2\n", encoding="utf-8")
    (tmp_path / "link").symlink_to(text)
    for other in (text, tmp_path / "link"):
        done = command("translate", trained, text, "--alignments", other)
        assert done.code == 2
        assert "would be lost" in done.err
    assert text.read_text(encoding="utf-8") == "one 2\n"


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_disk_is_said_in_one_line(trained, tmp_path):
    (tmp_path / "in.txt").write_text("one 2\n", encoding="utf-8")
    with FULL.open("w") as full:
        done = transduce("translate", trained, tmp_path / "in.txt", stdout=full)
    assert (done.returncode, done.stderr) == (1, "transduce: output: No space left on device\n")


def test_a_closed_output_is_said_in_one_line(trained, tmp_path):
    (tmp_path / "in.txt").write_text("one 2\n", encoding="utf-8")
    done = transduce("translate", trained, tmp_path / "in.txt", preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stderr) == (1, "transduce: output: standard output is closed\n")


def test_errors_of_the_system_have_words():
    assert said(MemoryError()).startswith("there is not enough memory")
    assert said(PermissionError(13, "Permission denied", "a file")) == "a file: Permission denied"
    assert said(KeyboardInterrupt()) == "stopped"


def test_output_is_utf_8_whatever_the_locale(trained, tmp_path):
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = transduce(
        "evaluate", trained, "--by-length", stdout=subprocess.PIPE, env=ascii_only, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    assert "–" in done.stdout


def test_a_rank_alone_makes_no_team(trained, tmp_path):
    (tmp_path / "in.txt").write_text("one 2\n", encoding="utf-8")
    alone = os.environ | {"RANK": "1", "WORLD_SIZE": ""}
    done = transduce("translate", trained, tmp_path / "in.txt", stdout=subprocess.PIPE, env=alone)
    assert (done.returncode, done.stdout.count("\n")) == (0, 1), done.stderr
