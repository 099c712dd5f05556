# SPDX-License-Identifier: Apache-2.0
"""docs/seeds.md names a command and a test for each feature of the tools that came before."""

import re

import pytest

import harness

TOOLS = (("L", 18), ("I", 12), ("D", 17), ("T", 30), ("S", 28))
ROWS = [f"{tool}{number}" for tool, last in TOOLS for number in range(1, last + 1)]


def table():
    rows = {}
    for line in (harness.ROOT / "docs" / "seeds.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if re.fullmatch(r"[LIDTS]\d+", cells[0]):
            assert len(cells) == 5 and cells[0] not in rows, line
            rows[cells[0]] = cells[1:]
    return rows


def test_every_feature_has_a_line():
    assert list(table()) == ROWS


@pytest.mark.parametrize("row", ROWS)
def test_its_tests_exist_and_its_state_is_said(row):
    what, command, tests, state = table()[row]
    assert what and "`" in command
    assert re.match(r"whole|partly: |not taken over: ", state), state
    named = re.findall(r"(test_\w+\.py)::(test_\w+)", tests)
    assert named
    for file, test in named:
        assert re.search(rf"^def {test}\(", (harness.ROOT / "tests" / "integration" / file).read_text(), re.MULTILINE), (file, test)
