# SPDX-License-Identifier: Apache-2.0
"""The table of `scripts/endurance coverage`, made from numbers as llvm-cov gives them."""

import json
import subprocess
import sys

import harness

SCRIPT = harness.ROOT / "tests/endurance/line_coverage.py"
OUTCOMES = {"passed": "", "failed": "<failure/>", "broken": "<error/>", "skipped": "<skipped/>"}
BEGIN, END = "<!-- line coverage: begin -->\n", "<!-- line coverage: end -->\n"


def export(**covered):
    """What llvm-cov says of files with ten lines each; of a header that the build makes and of a library's, too."""
    paths = {"tracker": "build-coverage/../preload/live/tracker.cc", "table": "preload/live/table.h", "reader": "analyzer/dump/decode/reader.cc",
             "made": "build-coverage/dump_generated.h"}
    files = [{"filename": str(harness.ROOT / paths[name]), "summary": {"lines": {"count": 10, "covered": lines}}} for name, lines in covered.items()]
    files += [{"filename": "/usr/include/fmt/format.h", "summary": {"lines": {"count": 900, "covered": 3}}},
              {"filename": str(harness.ROOT / "preload/watch/no_code.h"), "summary": {"lines": {"count": 0, "covered": 0}}}]
    return {"data": [{"files": files}]}


def ran(day, **cases):
    """What JUnit says of tests that ended so."""
    inner = "".join(f'<testcase name="{name}">{OUTCOMES[outcome]}</testcase>' for name, outcome in cases.items())
    return f'<testsuites><testsuite name="pytest" timestamp="{day}T10:00:00+00:00">{inner}</testsuite></testsuites>'


def test_lines_are_summed_for_each_folder(tmp_path):
    (tmp_path / "unit.xml").write_text(ran("2026-01-01", live="passed", hooks="failed"))
    (tmp_path / "programs").mkdir()
    for file in harness.ROOT.glob("tests/integration/test_*.py"):
        if file.name not in ("test_wheel.py", "test_leaks.py"):
            (tmp_path / "programs" / f"{file.name}.xml").write_text(ran("2026-01-02"))
    (tmp_path / "programs" / "test_top.py.xml").write_text(ran("2026-01-03", one="passed", two="passed", three="broken", four="skipped"))
    (tmp_path / "unit.json").write_text(json.dumps(export(tracker=9, table=0, reader=0, made=10)))
    (tmp_path / "programs.json").write_text(json.dumps(export(tracker=4, table=5, reader=10, made=0)))
    (tmp_path / "both.json").write_text(json.dumps(export(tracker=9, table=5, reader=10, made=10)))
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}| an older table |\n{END}after\n")
    said = subprocess.run([sys.executable, SCRIPT, tmp_path, "--write", page], capture_output=True, text=True, check=True).stdout
    before, rows, after = page.read_text().replace(END, BEGIN).split(BEGIN)
    assert (before, after) == ("before\n", "after\n")
    files = len(list((tmp_path / "programs").iterdir()))
    assert rows.splitlines()[2:] == [
        "| preload/live | 20 | 45 % | 45 % | 70 % |",
        "| analyzer/dump/decode | 10 | 0 % | 100 % | 100 % |",
        "| **all of preload** | 20 | 45 % | 45 % | 70 % |",
        "| **all of analyzer** | 10 | 0 % | 100 % | 100 % |",
        "",
        "Counted on 2026-01-03. Unit tests: 1 passed, 0 skipped, 1 failed. "
        f"Tests of whole programs in {files} files: 2 passed, 1 skipped, 1 failed.",
        "Files that were not run: test_leaks.py, test_wheel.py.",
        "Failed: hooks, three.",
    ]
    assert said == f"{rows}\n 50 %, 5 lines are not run: preload/live/table.h\n"


def test_of_a_few_files_is_said_which(tmp_path):
    (tmp_path / "programs").mkdir()
    (tmp_path / "unit.xml").write_text(ran("2026-01-01"))
    for file in ("test_top.py", "test_leaks.py"):
        (tmp_path / "programs" / f"{file}.xml").write_text(ran("2026-01-02", one="passed"))
    for kind in ("unit", "programs", "both"):
        (tmp_path / f"{kind}.json").write_text(json.dumps(export(tracker=10)))
    said = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=True).stdout
    files = len(list(harness.ROOT.glob("tests/integration/test_*.py")))
    assert f"Of the {files} files only these ran: test_leaks.py, test_top.py.\n" in said
    assert "not run" not in said and "Failed" not in said


def test_the_page_has_the_markers():
    page = (harness.ROOT / "docs/endurance.md").read_text()
    assert page.count(BEGIN) == page.count(END.strip()) == 1
