# SPDX-License-Identifier: Apache-2.0
"""What scripts/test says of an old or new PyTorch that this machine cannot have: one line, and no failure."""
import os
import shutil
import subprocess
import sys

import pytest

import harness

WHEELS = harness.ROOT / "scripts" / "matrix_files" / "wheels"
SERIES = ".".join(map(str, sys.version_info[:2]))


def smoke(*pairs, **environment):
    return subprocess.run([WHEELS, "--smoke", *pairs], env={**os.environ, **environment}, capture_output=True, text=True,
                          timeout=harness.TIMEOUT, stdin=subprocess.DEVNULL)


def test_an_interpreter_that_is_not_here_is_skipped():
    done = smoke("2.2.2:3.5")
    assert (done.returncode, done.stdout) == (77, "SKIPPED 2.2.2:3.5: no such Python\n"), done.stderr


def test_each_pair_that_cannot_be_had_has_a_line():
    done = smoke("2.2.2:3.5", "2.15.0:3.4")
    assert (done.returncode, done.stdout) == (77, "SKIPPED 2.2.2:3.5: no such Python\nSKIPPED 2.15.0:3.4: no such Python\n"), done.stderr


def test_a_torch_that_cannot_be_downloaded_is_skipped():
    if shutil.disk_usage(harness.ROOT).free < 9e9:
        pytest.skip("less than 9 GB are free: no download is tried")
    pair = f"0.0.1:{SERIES}"
    done = smoke(pair, PIP_INDEX_URL="http://127.0.0.1:9/", PIP_RETRIES="0")
    assert (done.returncode, done.stdout) == (77, f"SKIPPED {pair}: pip could not download it\n"), done.stderr
    assert not (harness.ROOT / ".cache" / "matrix" / "wheels" / pair.replace(":", "-")).exists()


@pytest.mark.parametrize("command, outcome, lists", [
    ("true", "passed", ""),
    ("echo 'SKIPPED x: why'; exit 77", "skipped", "skipped=a-stage"),
    ("echo 'SKIPPED [1] a test'; echo '1 skipped in 2s'; exit 77", "FAILED", "failed=a-stage"),
    ("echo 'SKIPPED x: why'; exit 1", "FAILED", "failed=a-stage")])
def test_a_stage_is_skipped_where_it_says_why(command, outcome, lists, tmp_path):
    function = "\n".join(("set -euo pipefail", f"logs={tmp_path} failed=() skipped=() summaries=()",
                          f"eval \"$(sed -n '/^stage() {{/,/^}}/p' {harness.ROOT}/scripts/test)\"",
                          "stage a-stage bash -c \"$1\" >/dev/null",
                          "printf '%s\\n' \"${summaries[@]}\" ${skipped:+skipped=$skipped} ${failed:+failed=$failed}"))
    done = subprocess.run(["bash", "-c", function, "bash", command], capture_output=True, text=True, timeout=harness.TIMEOUT)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[0].startswith(f"-- a-stage: {outcome} after "), done.stderr
    assert lines[-1] == lists
    assert outcome != "skipped" or "SKIPPED x: why" in lines
