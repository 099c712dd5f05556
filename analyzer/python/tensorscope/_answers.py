# SPDX-License-Identifier: Apache-2.0
"""Answers as data: rows of SQL over the tables (docs/tables.md), and the JSON of `leaks` and `oom` (docs/json.md)."""

import json
import subprocess

from . import _programs
from ._tables import Dump, Error, _escaped

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def _bytes(number):
    """A size as the command line writes it (tests/integration/test_numbers.py); a negative one is a difference."""
    if number is None:
        return ""
    if abs(number) < 1024:
        return "{:.0f} B".format(number)
    size, unit = number / 1024, 0
    while abs(size) >= 1023.95 and unit + 1 < len(_UNITS):
        size, unit = size / 1024, unit + 1
    return "{:.{}f} {}".format(size, 1 if unit < 2 else 2, _UNITS[unit])


def _paths(files):
    paths = []
    for file in files:
        paths += file.paths if isinstance(file, Dump) else [str(file)]
    if not paths:
        raise TypeError("a dump is needed: a path, or what load() returned")
    return paths


def _run(*words):
    try:
        program = _programs.program()
    except _programs.NotFound as problem:
        raise Error(str(problem)) from None
    done = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:  # of a damaged file there is an answer, too, with status 2
        return json.loads(done.stdout.decode(errors="replace"))
    except ValueError:
        raise Error(done.stderr.decode(errors="replace").strip() or "tensorscope ended with status {}".format(done.returncode)) from None


def query(files, sql):
    """The rows of a SELECT over the tables of files, as a list of dictionaries."""
    files = [files] if isinstance(files, (str, Dump)) or hasattr(files, "__fspath__") else files
    return _run("query", "--format", "json", *_paths(files), sql)


def _cell(column, value):
    """A column with `bytes` in its name holds sizes, one with `growth` differences."""
    if value is None:
        return ""
    if "bytes" not in column.split("_"):
        return str(value)
    return ("+" if "growth" in column and value > 0 else "") + _bytes(value)


class Answer(dict):
    """A dictionary that a terminal shows as text and a notebook as tables."""

    def __init__(self, title, headline, data, tables):
        super().__init__(data)
        self._title, self._headline, self._tables = title, headline, tables

    def _grids(self):
        """(title, columns, which of them are numbers, rows of texts)."""
        for title, columns, rows in self._tables:
            numbers = [all(isinstance(row[column], int) for row in rows) for column in columns]
            yield title, columns, numbers, [[_cell(column, row[column]) for column in columns] for row in rows]

    def __repr__(self):
        lines = [self._title + ": " + self._headline]
        for title, columns, numbers, rows in self._grids():
            lines += ["", title]
            widths = [max([len(column), *(len(row[i]) for row in rows)]) for i, column in enumerate(columns)]
            for row in [columns, *rows]:
                cells = [text.rjust(width) if number else text.ljust(width) for text, width, number in zip(row, widths, numbers)]
                lines.append("  " + "  ".join(cells).rstrip())
        return "\n".join(lines)

    def _repr_html_(self):
        parts = ["<p><b>{}</b>: {}</p>".format(_escaped(self._title), _escaped(self._headline))]
        for title, columns, numbers, rows in self._grids():
            styles = [' style="text-align: right"' if number else "" for number in numbers]
            head = "".join("<th{}>{}</th>".format(style, _escaped(column)) for column, style in zip(columns, styles))
            body = "".join("<tr>" + "".join("<td{}>{}</td>".format(style, _escaped(cell)) for cell, style in zip(row, styles)) + "</tr>"
                           for row in rows)
            parts.append("<p>{}</p><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>".format(_escaped(title), head, body))
        return "".join(parts)


_BY_CATEGORY = "select dump, device, category, storages, bytes from by_category order by dump, device, bytes desc"
_BY_PLACE = "select dump, place, storages, bytes from by_place order by dump, bytes desc"
_GROWTH = "select place, bytes_before, bytes, growth_bytes from growth_by_place where dump = 2 order by growth_bytes desc, place"
_GROWTH_BY_CATEGORY = ("select category, bytes_before, bytes, growth_bytes from growth_by_category where dump = 2 "
                       "order by growth_bytes desc, category")


def report(dump, top=10):
    """Live memory of a dump by category and by source line."""
    paths = _paths([dump])[:1]
    [about] = query(paths, "select program, pid, live_bytes, tensors from dumps")
    categories, places = query(paths, _BY_CATEGORY), query(paths, _BY_PLACE)
    headline = "{} live in {} tensors; {}, pid {}".format(_bytes(about["live_bytes"]), about["tensors"], about["program"], about["pid"])
    return Answer("report", headline, {**about, "categories": categories, "places": places},
                  [("live memory by category", ["device", "category", "bytes", "storages"], categories),
                   ("largest source lines", ["place", "bytes", "storages"], places[:top])])


def diff(before, after, top=10):
    """What changed between two dumps, by source line and by category."""
    paths = [_paths([before])[0], _paths([after])[0]]
    first, second = query(paths, "select live_bytes, tensors from dumps order by dump")
    places, categories = query(paths, _GROWTH), query(paths, _GROWTH_BY_CATEGORY)
    growth = second["live_bytes"] - first["live_bytes"]
    headline = "{}{} live: {} to {}".format("+" if growth >= 0 else "", _bytes(growth), _bytes(first["live_bytes"]), _bytes(second["live_bytes"]))
    changed = [row for row in places if row["growth_bytes"]]
    return Answer("diff", headline, {"before": first, "after": second, "growth_bytes": growth, "places": places, "categories": categories},
                  [("by source line", ["place", "growth_bytes", "bytes_before", "bytes"], changed[:top]),
                   ("by category", ["category", "growth_bytes", "bytes_before", "bytes"], categories)])


def leaks(*dumps):
    """What leaks, in dumps of one run: the answer of `tensorscope leaks --json`; `growth_bytes`: of live memory without
    what a running step has, None of one dump."""
    answer = _run("leaks", "--json", *_paths(dumps))
    found = answer["findings"]
    rows = [{"finding": each["title"], "bytes": each["bytes"], "held by": each["held_by"],
             "made at": (each["made_at"] or {}).get("where"), "look at": each["look_at"]} for each in found]
    headline = "{} finding{}".format(len(found), "" if len(found) == 1 else "s") if found else "nothing found"
    growth = (answer["answer"]["growth"] or {}).get("lasting")
    if growth is not None:
        headline = "{}{}; {}".format("+" if growth >= 0 else "", _bytes(growth), headline)
    return Answer("leaks", headline, {**answer, "growth_bytes": growth}, [("findings", ["finding", "bytes", "held by", "made at", "look at"], rows)] if rows else [])


def oom(dump):
    """What held the memory at an out-of-memory error: the answer of `tensorscope oom --json`."""
    answer = _run("oom", "--json", *_paths([dump])[:1])
    about, failure = answer["answer"], answer["failure"] or {}
    words = [str(failure.get("error") or about["trigger"])]
    if about.get("request"):
        words.append("{} asked for on {}".format(_bytes(about["request"]), about["device"]))
    if failure.get("at"):
        words.append("at " + failure["at"]["where"])
    places = [{"bytes": each["bytes"], "made at": (each["at"] or {}).get("where"), "held by": each["held_by"]} for each in answer["places"]]
    remedies = [{"bytes": each["bytes"], "subject": each["subject"], "what to do": each["takes"], "fits": each["fits"]} for each in answer["remedies"]]
    return Answer("oom", ", ".join(words), answer, [("what holds the memory", ["bytes", "made at", "held by"], places),
                                                    ("what to do", ["bytes", "subject", "what to do", "fits"], remedies)])
