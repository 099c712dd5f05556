# SPDX-License-Identifier: Apache-2.0
"""What every verb says of real dumps that were written with one number of the interpreter's layout wrong: nothing that was not seen.
The program is one that Python holds all of."""

import os

import pytest

import harness
import test_layouts

PROGRAM = "seen_in_python.py"
WIDE = {**os.environ, "COLUMNS": "300"}
# False of this program, whatever was seen; and what may be said only of what was looked through whole.
CLAIMS = ["C++ only", "held by C++", "C++ alone", "C++ code", "C code", "no Python object", "no Python tensor", "unreachable",
          "without a Python root", "Python objects refer to: 0", "Python objects refer to directly: 0"]
# Sentences that say what is missing.
SAYS_WHAT_IS_MISSING = ["garbage, holders and checkpointing are left out"]


LIBRARY = harness.BUILD / "tests" / "programs" / "libtensorscope_altered_layout.so"


@pytest.fixture(autouse=True)
def use_library(monkeypatch):
    monkeypatch.setattr(harness, "LIBRARY", LIBRARY)


def dumps_of(folder, change=""):
    os.environ["ALTERED_LAYOUT"] = change
    done = harness.run(PROGRAM, folder=folder, exit="never")
    del os.environ["ALTERED_LAYOUT"]
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def answers(first, second, last):
    yield from (("report", last, "--by", by, "--top", "0") for by in ("site", "category", "holder"))
    yield from (("report", last), ("list", last, "--top", "0"), ("show", last, "5"), ("info", last), ("graph", last))
    yield from (("check", last, "--max-live", "1GiB"), ("oom", last), ("leaks", last), ("leaks", first, second, last))
    yield ("leaks", first, second, last, "--json")


def claims(dumps):
    """What is claimed in the answers of all verbs, with the verb."""
    found = []
    for arguments in answers(*dumps):
        done = harness.cli(*arguments, status=None, env=WIDE)
        assert done.returncode < 2 or arguments[0] in ("oom", "show"), f"{arguments}: {done.stdout}{done.stderr}"
        text = done.stdout + done.stderr
        for said in SAYS_WHAT_IS_MISSING:
            text = text.replace(said, "")
        found += [(arguments[0], line) for line in text.splitlines() if any(claim in line for claim in CLAIMS)]
    return found


def test_the_program_is_one_that_python_holds_all_of(tmp_path):
    dumps = dumps_of(tmp_path)
    assert not claims(dumps)
    text = harness.cli("leaks", *dumps, status=1, env=WIDE).stdout
    for holder in ("record.losses", "record.inner.plain", "local[", "own["):
        assert holder in text, f"{holder}: {text}"


@pytest.mark.cases(2)
@pytest.mark.parametrize("field", sorted(test_layouts.FIELDS, key=lambda field: field != "frame_locals"))
def test_no_verb_claims_what_was_not_seen(field, tmp_path):
    value = int(test_layouts.right_answer(harness.PYTHON)["layout"][field])
    for wrong in test_layouts.wrong_values(field, value):
        folder = tmp_path / str(wrong)
        folder.mkdir()
        found = claims(dumps_of(folder, f"{field} {wrong}"))
        assert not found, f"{field} = {wrong}"
