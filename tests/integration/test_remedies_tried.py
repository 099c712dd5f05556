# SPDX-License-Identifier: Apache-2.0
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


# Other processes have the memory: no program of ours changes that. tests/unit/analyzer/oom/remedies_test.cc
NOT_TRIED = {"shared-limit"}


def programs():
    return {name for path in TRIED.glob("programs_*.py") for name in re.findall(r"^@program\(.*\)\ndef (\w+)", path.read_text(), re.MULTILINE)}


def test_the_table_is_of_programs_and_remedies_that_exist():
    rows = table()
    assert {kind for _, kind in rows} <= kinds()
    assert {program for program, _ in rows} <= programs()


def test_the_table_has_each_kind_of_remedy_and_forty_pairs():
    rows = table()
    assert {kind for _, kind in rows} == kinds() - NOT_TRIED and len(rows) >= 40


def test_a_program_that_does_not_fail_at_once_is_run_again():
    """Runs of several threads differ; five of them decide."""
    sys.path.insert(0, str(TRIED))
    import try_remedies
    program = next(one for one in try_remedies.programs() if one.name == "ddp_training")

    class Runs:
        def __init__(self, *enough):
            self.answers, self.asked = list(enough), 0

        def ask(self, of, **asked):
            assert of is program and asked == {"capacity": 100, "history": True}
            self.asked += 1
            return {"enough": self.answers.pop(0)}

    runs = Runs(True, True, False, True)
    assert try_remedies.failed_alone(program, 100, runs) == {"enough": False} and runs.asked == 3
    never = Runs(*[True] * 6)
    with pytest.raises(RuntimeError, match="ddp_training does not fail without the profiler"):
        try_remedies.failed_alone(program, 100, never)
    assert never.asked == 5


@harness.needs_fake_cuda
def test_the_advice_of_a_few_programs_gives_what_was_said(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSORSCOPE_REMEDIES", str(tmp_path))
    chosen = sorted({program for program, _ in PAIRS}), sorted({kind for _, kind in PAIRS})
    done = subprocess.run([sys.executable, str(TRIED / "try_remedies.py"), *chosen[0], *(f"--kind={kind}" for kind in chosen[1])],
                          capture_output=True, text=True, timeout=harness.TIMEOUT)
    assert done.returncode == 0, done.stdout + done.stderr
    tried = {tuple(cell.strip() for cell in line.split("|")[:2]) for line in done.stdout.splitlines() if "|" in line}
    assert set(PAIRS) <= tried, done.stdout
