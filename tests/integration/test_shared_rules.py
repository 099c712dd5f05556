# SPDX-License-Identifier: Apache-2.0
"""What both programs decide by one rule is the same in the short report and in `tensorscope oom` of the same dump."""

import json
import re

import pytest

import harness
import test_short_report
from test_short_report import byte_text, categories_by_analyzer, categories_of, rows


@pytest.mark.parametrize("part", ["roots", "numbers", "graph", "backward"])
def test_places_and_names(tmp_path, device, part):
    done = harness.run("shared_rules.py", device, part, folder=tmp_path, exit="never")
    assert done.stdout == "caught\n", done.stderr
    lines = done.stderr.splitlines()
    (dump,) = harness.dumps(tmp_path)
    sums, _ = categories_by_analyzer(dump, device)
    shown = categories_of(lines)
    assert len(shown) == min(len(sums), test_short_report.MOST_CATEGORIES) and shown.items() <= sums.items()

    story = json.loads(harness.cli("oom", dump, "--json", "--top", 20).stdout)
    told = {}
    for place in story["places"]:
        told[place["at"]["where"]] = (byte_text(place["bytes"]), place["held_by"] or "")
    report = rows(lines, "  largest allocation sites:")
    assert len(report) == 5
    for line in report:
        size, where, names = re.fullmatch(r" +([\d.]+ [KMG]iB) +\d+ x  (.*?)(?:, backward of .*?)?(?:   (.*))?", line).groups()
        assert told[where][0] == size
        # A line that is too long, as where the checkout's own path is, ends in dots.
        name = re.sub(r" \([\d.]+ [KMG]iB\) and \d+ more .*", "", (names or "").removesuffix("..."))
        assert name in told[where][1].replace("held by ", ""), (line, told[where])
