# SPDX-License-Identifier: Apache-2.0
"""The table of `scripts/endurance coverage`, made from numbers as llvm-cov gives them."""

import json
import subprocess
import sys

import harness

SCRIPT = harness.ROOT / "tests/endurance/line_coverage.py"
BEGIN, END = "<!-- line coverage: begin -->\n", "<!-- line coverage: end -->\n"


def export(**covered):
    """What llvm-cov says of files with ten lines each; of a header that the build makes and of a library's, too."""
    paths = {"tracker": "build-coverage/../preload/live/tracker.cc", "table": "preload/live/table.h", "reader": "analyzer/dump/decode/reader.cc",
             "made": "build-coverage/dump_generated.h"}
    files = [{"filename": str(harness.ROOT / paths[name]), "summary": {"lines": {"count": 10, "covered": lines}}} for name, lines in covered.items()]
    files += [{"filename": "/usr/include/fmt/format.h", "summary": {"lines": {"count": 900, "covered": 3}}},
              {"filename": str(harness.ROOT / "preload/watch/no_code.h"), "summary": {"lines": {"count": 0, "covered": 0}}}]
    return {"data": [{"files": files}]}


def test_lines_are_summed_for_each_folder(tmp_path):
    (tmp_path / "unit.json").write_text(json.dumps(export(tracker=9, table=0, reader=0, made=10)))
    (tmp_path / "programs.json").write_text(json.dumps(export(tracker=4, table=5, reader=10, made=0)))
    (tmp_path / "both.json").write_text(json.dumps(export(tracker=9, table=5, reader=10, made=10)))
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}| an older table |\n{END}after\n")
    said = subprocess.run([sys.executable, SCRIPT, tmp_path, "--write", page], capture_output=True, text=True, check=True).stdout
    before, rows, after = page.read_text().replace(END, BEGIN).split(BEGIN)
    assert (before, after) == ("before\n", "after\n")
    assert rows.splitlines()[2:] == [
        "| preload/live | 20 | 45 % | 45 % | 70 % |",
        "| analyzer/dump/decode | 10 | 0 % | 100 % | 100 % |",
        "| **all of preload** | 20 | 45 % | 45 % | 70 % |",
        "| **all of analyzer** | 10 | 0 % | 100 % | 100 % |",
    ]
    assert said == f"{rows}\n 50 %, 5 lines are not run: preload/live/table.h\n"


def test_the_page_has_the_markers():
    page = (harness.ROOT / "docs/endurance.md").read_text()
    assert page.count(BEGIN) == page.count(END.strip()) == 1
