"""What `tensorscope oom` advises, applied: a few pairs of program and remedy (tests/remedies runs all of them), and that the table of
docs/remedies.md has each kind of remedy."""
import re
import subprocess
import sys

import pytest

import harness

TRIED = harness.ROOT / "tests" / "remedies"
PAIRS = [("running_loss", "running-sum"), ("running_loss", "expandable-segments"), ("running_loss", "smaller-batch"),
         ("custom_function", "checkpoint"), ("custom_function", "smaller-batch")]


def table():
    """(program, kind) of each row."""
    text = (harness.ROOT / "docs" / "remedies.md").read_text()
    rows = text.split("try_remedies.py -->")[1].split("<!--")[0].strip().splitlines()[2:]
    return [tuple(cell.strip() for cell in row.split("|")[1:3]) for row in rows]


def kinds():
    text = (harness.ROOT / "analyzer" / "oom" / "remedy.cc").read_text()
    return set(re.findall(r'return "([a-z-]+)";', text.split("int rank")[0])) - {"unknown"}


def programs():
    return {name for path in TRIED.glob("programs_*.py") for name in re.findall(r"^@program\(.*\)\ndef (\w+)", path.read_text(), re.MULTILINE)}


def test_the_table_is_of_programs_and_remedies_that_exist():
    rows = table()
    assert {kind for _, kind in rows} <= kinds()
    assert {program for program, _ in rows} <= programs()


def test_the_table_has_each_kind_of_remedy_and_forty_pairs():
    rows = table()
    assert {kind for _, kind in rows} == kinds() and len(rows) >= 40


@harness.needs_fake_cuda
def test_the_advice_of_a_few_programs_gives_what_was_said(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSORSCOPE_REMEDIES", str(tmp_path))
    chosen = sorted({program for program, _ in PAIRS}), sorted({kind for _, kind in PAIRS})
    done = subprocess.run([sys.executable, str(TRIED / "try_remedies.py"), *chosen[0], *(f"--kind={kind}" for kind in chosen[1])],
                          capture_output=True, text=True, timeout=harness.TIMEOUT)
    assert done.returncode == 0, done.stdout + done.stderr
    tried = {tuple(cell.strip() for cell in line.split("|")[:2]) for line in done.stdout.splitlines() if "|" in line}
    assert set(PAIRS) <= tried, done.stdout
