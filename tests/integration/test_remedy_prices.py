# SPDX-License-Identifier: Apache-2.0
"""What remedies cost besides memory, as `oom` says of it: the losses of programs with a remedy, on the CPU (tests/remedies/prices.py has the
table). Nothing is asserted of times."""
import json
import subprocess
import sys

import pytest

import harness

TRIED = harness.ROOT / "tests" / "remedies"


def losses(program, kind, subject):
    asked = {"program": program, "imports": [], "remedies": [[kind, subject]], "rounds": 1}
    done = subprocess.run([sys.executable, str(TRIED / "one_price.py"), json.dumps(asked)], capture_output=True, text=True,
                          timeout=harness.TIMEOUT)
    assert done.returncode == 0, done.stderr
    before, after = json.loads(done.stdout.splitlines()[-1])
    assert after["applied"] and len(before["losses"]) == len(after["losses"]) > 1
    return before["losses"], after["losses"]


@pytest.mark.parametrize("program, kind, subject", [
    ("wide_momentum", "optimizer-step", "optimizer with foreach=False"), ("wide_momentum", "step-in-backward", "step of each parameter in backward"),
    ("recurrent_state", "carried-state", "hidden")])
def test_the_same_results_are_the_same_losses(program, kind, subject):
    before, after = losses(program, kind, subject)
    assert before == after


@pytest.mark.parametrize("program, kind, subject, off", [
    ("wide_momentum", "fused-step", "optimizer with fused=True", 1e-3), ("wide_momentum", "lower-precision", "activations in bfloat16", 0.02)])
def test_rounding_is_little(program, kind, subject, off):
    before, after = losses(program, kind, subject)
    assert before == pytest.approx(after, rel=off)


def test_another_optimizer_has_other_results():
    before, after = losses("wide_momentum", "less-state", "optimizer with less state")
    assert before[0] == after[0] and before[-1] != after[-1]
