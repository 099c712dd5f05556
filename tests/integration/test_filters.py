# SPDX-License-Identifier: Apache-2.0
"""Filters choose tensors, totals follow, and what lives is not gone: on a real program whose tensors share memory."""

import os
import re

import pytest

import harness


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filters")
    done = harness.run("filters.py", folder=folder, quiet=1)
    assert done.returncode == 0, done.stderr
    return [harness.truth(folder, name)["dump"] for name in ("first", "second")]


@pytest.fixture(scope="module")
def python_id(dumps):
    return harness.truth(os.path.dirname(dumps[1]), "second")["facts"]["python_id"]


WIDE = {**os.environ, "COLUMNS": "250"}


def selected(text):
    return [int(number) for number in re.findall(r"([\d,]+) B", next(line for line in text.splitlines() if "selected bytes" in line))[:2]]


@pytest.mark.parametrize("question", [["--name", "part"], ["--name", "kept"], ["--holder", "part"], ["--name", "part", "--by", "holder"]])
def test_a_tensor_that_lives_is_not_gone_when_another_one_counts_its_bytes(dumps, question):
    text = harness.cli("diff", *dumps, "--bytes", *question, env=WIDE).stdout
    before, after = selected(text)
    assert before == after == (252 if "part" in question else 256)
    assert "gone 0" in text and "new 0" in text, text
    listed = harness.cli("list", dumps[1], "--bytes", *question[:2], env=WIDE).stdout
    assert f"1 tensor, {after} B" in listed and listed.count(f"{after} B") == 2, "the row has what the sum has"


def test_what_grew_and_what_moved_is_counted_once(dumps):
    text = harness.cli("diff", *dumps, "--bytes", "--name", "moved", "--name", "grown", env=WIDE).stdout
    assert "new 0; gone 0; grown 1 tensor, 256 B; moved 1 tensor, 256 B" in text, text
    assert selected(text) == [512, 768]


def test_the_header_adds_up(dumps):
    text = harness.cli("diff", *dumps, "--bytes", env=WIDE).stdout
    before, after = (int(number.replace(",", "")) for number in re.search(r"live bytes ([\d,]+) B -> ([\d,]+) B", text).groups())

    def amount(word):
        found = re.search(rf"{word} [\d,]+ tensors?, ([\d,]+) B", text)
        return int(found[1].replace(",", "")) if found else 0

    assert after - before == amount("new") - amount("gone") + amount("grown") - amount("shrunk"), text
    assert amount("grown") == 256


def test_every_changed_tensor_has_a_row(dumps):
    rows = harness.cli("diff", *dumps, "--list", "--top", "0", env=WIDE).stdout
    for change, name in (("new", "new"), ("gone", "old"), ("grown", "grown"), ("moved", "moved"), ("got .grad", "stray")):
        assert re.search(rf"^ +{re.escape(change)} .*filters\.py: {name}\b", rows, re.MULTILINE), (change, rows)


def test_the_stray_leaf_is_in_no_optimizer(dumps):
    text = harness.cli("list", dumps[1], "--not-in-optimizer", env=WIDE).stdout
    assert "filters.py: stray" in text and "1 tensor," in text, text


def test_names_match_without_their_scope(dumps):
    text = harness.cli("list", dumps[1], "--name", "tup*", env=WIDE).stdout
    assert "tup[0]" in text and "tup[1]" in text and "2 tensors" in text, text


def test_the_number_that_python_gives_is_a_column(dumps, python_id):
    assert f"{python_id}" in harness.cli("list", dumps[1], "--name", "new", "--columns", "python-id,names", env=WIDE).stdout


def test_show_takes_a_name(dumps):
    assert "float32 [128]" in harness.cli("show", dumps[1], "grown", env=WIDE).stdout
    assert "filters.py: grown" in harness.cli("show", dumps[1], "gorwn", status=2, env=WIDE).stderr


@pytest.mark.parametrize("mistake", [["--dtype", "fp32"], ["--device", "nosuch"], ["--line", "nosuch.py"], ["--category", "params"], ["--shape", "big"]])
def test_a_mistake_is_one_line_with_what_there_is(dumps, mistake):
    for verb in (["list", dumps[1]], ["report", dumps[1]], ["diff", *dumps]):
        done = harness.cli(*verb, *mistake, status=2, env=WIDE)
        assert not done.stdout and done.stderr.count("\n") == 1 and mistake[1] in done.stderr


def test_the_line_that_asked_for_a_dump_is_told(tmp_path):
    source = "import libtensorscope\nimport torch\nkept = torch.ones(5)\ndef save():\n    return libtensorscope.dump()\nprint(save())\n"
    done = harness.run_source(source, folder=tmp_path, quiet=1)
    assert done.returncode == 0, done.stderr
    text = harness.cli("report", done.stdout.strip(), env=WIDE).stdout
    assert "requested by the program at program.py:5 save" in text.splitlines()[1], text


def test_nothing_matches_is_said_with_the_filter(dumps):
    text = harness.cli("list", dumps[1], "--shape", "63x64", env=WIDE).stdout
    assert "nothing matches --shape '63x64'" in text and "[64]" in text
