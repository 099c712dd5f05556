"""Which share of the lines of each folder of both programs the tests run: a table for docs/endurance.md.

    line_coverage.py FOLDER [--write PAGE]

FOLDER has unit.json, programs.json and both.json: what `llvm-cov export -summary-only` says of the same objects with the counts of the unit
tests, of whole programs, and of both; and what ran, as JUnit writes it: unit.xml, and programs/FILE.xml for each file of tests/integration.
Prints the table with what ran, then the files of folders below 80 %, fewest lines first. --write puts the former between the page's markers.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("include", "preload", "analyzer")
KINDS = ("unit", "programs", "both")
WANTED = 80  # per cent
BEGIN, END = "<!-- line coverage: begin -->\n", "<!-- line coverage: end -->"

Lines = collections.namedtuple("Lines", "run all")


def files_of(export, root=ROOT):
    """{path in the checkout: Lines} of the sources of both programs; what the build makes is left out."""
    found = {}
    for file in export["data"][0]["files"]:
        path = os.path.relpath(os.path.normpath(file["filename"]), root)
        if path.split("/")[0] in ROOMS:
            found[path] = Lines(file["summary"]["lines"]["covered"], file["summary"]["lines"]["count"])
    return found


def share(lines):
    """Whole per cent, rounded down: 100 means every line."""
    return 100 * lines.run // lines.all


def total(lines):
    lines = list(lines)
    return Lines(sum(each.run for each in lines), sum(each.all for each in lines))


def by_folder(files):
    grouped = collections.defaultdict(list)
    for path, lines in files.items():
        grouped[os.path.dirname(path)].append(lines)
    return {folder: total(lines) for folder, lines in grouped.items() if total(lines).all}


def order(folder):
    return ROOMS.index(folder.split("/")[0]), folder


def table(files):
    """Rows of Markdown; `files` has the files of each of KINDS."""
    folders = {kind: by_folder(files[kind]) for kind in KINDS}
    rows = ["| folder | lines | unit tests | whole programs | both |", "| --- | --- | --- | --- | --- |"]
    for folder in sorted(folders["both"], key=order):
        rows.append(f"| {folder} | {folders['both'][folder].all:,} | " + " | ".join(f"{share(folders[kind][folder])} %" for kind in KINDS) + " |")
    for room in ROOMS:
        of_room = {kind: total(lines for folder, lines in folders[kind].items() if folder.split("/")[0] == room) for kind in KINDS}
        if of_room["both"].all:
            rows.append(f"| **all of {room}** | {of_room['both'].all:,} | " + " | ".join(f"{share(of_room[kind])} %" for kind in KINDS) + " |")
    return "\n".join(rows) + "\n"


class Outcomes:
    """How the tests of JUnit's files ended."""

    def __init__(self, paths):
        self.passed = self.skipped = 0
        self.failed, self.last = [], ""
        for path in paths:
            for suite in xml.etree.ElementTree.parse(path).getroot().iter("testsuite"):
                self.last = max(self.last, suite.get("timestamp", ""))
                for case in suite.iter("testcase"):
                    self._add(case)

    def _add(self, case):
        if case.find("failure") is not None or case.find("error") is not None:
            self.failed.append(case.get("name"))
        elif case.find("skipped") is not None:
            self.skipped += 1
        else:
            self.passed += 1

    def __str__(self):
        return f"{self.passed:,} passed, {self.skipped:,} skipped, {len(self.failed):,} failed"


def what_ran(folder, root=ROOT):
    """A paragraph below the table: the day, how tests ended, the files of whole programs that ran or did not, the tests that failed."""
    paths = sorted((folder / "programs").glob("*.xml"))
    ran = {path.stem for path in paths}
    left_out = sorted(path.name for path in (root / "tests/integration").glob("test_*.py") if path.name not in ran)
    unit, programs = Outcomes([folder / "unit.xml"]), Outcomes(paths)
    failed = sorted(unit.failed + programs.failed)
    if len(left_out) > len(ran):
        which = f"Of the {len(ran) + len(left_out)} files only these ran: {', '.join(sorted(ran))}.\n"
    else:
        which = f"Files that were not run: {', '.join(left_out)}.\n" if left_out else ""
    return (f"\nCounted on {programs.last[:10]}. Unit tests: {unit}. Tests of whole programs in {len(paths)} files: {programs}.\n"
            + which + (f"Failed: {', '.join(failed)}.\n" if failed else ""))


def below(files):
    """(share, lines that no test runs, path) of each file that keeps its folder below WANTED."""
    low = {folder for folder, lines in by_folder(files).items() if share(lines) < WANTED}
    return sorted((share(lines), lines.all - lines.run, path) for path, lines in files.items()
                  if lines.all and os.path.dirname(path) in low and share(lines) < WANTED)


def written(text, rows):
    """The page with these rows between its markers."""
    assert BEGIN in text and END in text, "the page has no markers"
    return re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: BEGIN + rows + END, text, flags=re.DOTALL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path)
    arguments = parser.parse_args()
    files = {kind: files_of(json.loads((arguments.folder / f"{kind}.json").read_text())) for kind in KINDS}
    rows = table(files) + what_ran(arguments.folder)
    print(rows)
    for percent, lines, path in below(files["both"]):
        print(f"{percent:3} %, {lines} lines are not run: {path}")
    if arguments.write:
        arguments.write.write_text(written(arguments.write.read_text(), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
