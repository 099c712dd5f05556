# SPDX-License-Identifier: Apache-2.0
"""Real files that were damaged, with right checksums: some seconds of tests/damaged_files, which scripts/endurance runs for an hour."""

import random
import sys

import dump_reader
import harness
import pytest

sys.path.insert(0, str(harness.ROOT / "tests" / "damaged_files"))
import damage
import run

pytest.importorskip("flatbuffers")
NOTHING_VARIES = "forecast"  # two files of one run


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    harness.needs_gil("names")
    return run.real_files(tmp_path_factory.mktemp("real"), sizes=(8,))


@pytest.mark.parametrize("suffix", run.VERBS)
def test_every_verb_of_the_list_answers_for_a_whole_file(suffix, files, tmp_path):
    file = files[suffix][0][0]
    for line in run.verbs_of(suffix):
        arguments = run.command_of(line, file, files[suffix][0][1:] or files[suffix][1], files[suffix][1][0], tmp_path / "OUT")
        if arguments[0] != NOTHING_VARIES:
            assert harness.cli(*arguments, status=None, cwd=tmp_path).returncode in (0, 1), line
        assert run.unfinished_files(tmp_path) == [], line
        run.remove_written(tmp_path)


@pytest.mark.cases(12)
@pytest.mark.parametrize("seed", range(1, 101))
def test_a_damaged_file_is_one_line_and_the_right_status(seed, files, tmp_path):
    (tmp_path / "work").mkdir()
    assert run.one_file(seed, files, tmp_path / "work", tmp_path / "kept") == []


def test_put_together_a_file_is_the_same_and_damaged_its_checksums_are_right(files):
    for suffix, (first, _) in files.items():
        data = first[0].read_bytes()
        assert damage.put_together(*damage.cut(data)) == data
        header, chunks = damage.cut(damage.damaged(random.Random(3), data))
        assert header == data[:24] and chunks
    [dump] = [path for path in files[".tscope"][0] if ".1." in path.name]
    header, chunks = damage.cut(dump.read_bytes())
    damage.correct_end(chunks[1:])
    (end,) = [payload for kind, payload in chunks if kind == b"END!"]
    mark = dump_reader.table("EndMark").GetRootAs(end, 4)
    assert mark.Chunks() == len(chunks) - 2 and mark.Bytes() < dump.stat().st_size - 24


def test_what_is_wrong_with_a_recording_is_said_once_for_all_its_moments(files, tmp_path):
    data = bytearray(files[".recording"][0][0].read_bytes())
    _, chunks = damage.cut(data)
    largest = max(range(len(chunks)), key=lambda i: len(chunks[i][1]))
    begin = damage.HEADER + sum(damage.HEADER + (len(payload) + 7) // 8 * 8 for _, payload in chunks[:largest])
    data[begin + damage.HEADER] ^= 1  # its checksum is wrong now
    file = tmp_path / "cut.recording"
    file.write_bytes(data)
    moments = [f"{file}@{moment}" for moment in ("step=1", "step=2", "step=3", "peak", "end")]
    said = harness.cli("leaks", *moments, *moments, status=None).stderr.splitlines()
    (about,) = [line for line in said if "chunk" in line]
    assert about.endswith("its checksum does not match. It was left out.")
    assert len(said) == len(set(said)), said  # what differs is said of each moment


@pytest.mark.parametrize("does, finding", [
    ("kill -SEGV $$", "exit status -11"), ("exit 3", "exit status 3"), ("exit 1", "exit status 1"), ("exit 2", "not a line"),
    ("echo terminate called after >&2; exit 2", "not a line for people"), ("touch OUT.svg; echo no >&2; exit 2", "is empty"),
    ("echo x > stray; echo no >&2; exit 2", "left behind"), ("echo '{'", "no JSON")])
def test_what_a_program_must_not_do_is_found(does, finding, tmp_path, monkeypatch):
    program, work = tmp_path / "program", tmp_path / "work"
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)
    work.mkdir()
    monkeypatch.setattr(harness, "CLI", program)
    (line,) = run.judged(["report", "damaged.tscope", "--json"], work)
    assert finding in line
