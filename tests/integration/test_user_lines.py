# SPDX-License-Identifier: Apache-2.0
"""Where a tensor was made, in the user's words: the line and the function that the user wrote, not the interpreter's name
of a comprehension, nor a header of the standard library."""


import os
import re

import harness
import pytest

COMPREHENSIONS = "comprehensions.py"


def marked(program):
    """{name: line} of the lines that end in a comment with a name."""
    lines = (harness.PROGRAMS / program).read_text().splitlines()
    return {line.split()[-1]: number for number, line in enumerate(lines, 1) if "# " in line or "// " in line}


def made(dump):
    """{elements: (file, line, function)} of the line that stands for each tensor."""
    exported = harness.load(dump)
    sites = {site["id"]: site["headline"] for site in exported["sites"]}
    found = {}
    for tensor in exported["tensors"]:
        place = sites[tensor["site"]]
        found[tensor["shape"][0]] = (place["file"].rsplit("/", 1)[-1], place["line"], place["function"])
    return found


@pytest.fixture(scope="module")
def comprehensions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("comprehensions")
    done = harness.run(COMPREHENSIONS, folder, folder=folder)
    assert done.returncode == 0, done.stderr
    return harness.dumps(folder)[0]


FUNCTIONS = {
    1000: "in_list", 2000: "in_dict", 3000: "in_set", 4000: "generated", 5000: "Shelf.rows", 6000: "nested",
    7000: "by_lambda.<locals>.<lambda>", 8000: "in_library", 9000: "with_library",
    10000: "given_to_library.<locals>.<lambda>", 11000: "<module>",
}


@pytest.fixture(scope="module")
def qualified():
    """Whether code objects know the scopes around them: from CPython 3.11 on."""
    return harness.asked("sys", "hasattr(sys._getframe().f_code, 'co_qualname')") == "True"


@pytest.mark.parametrize("elements", FUNCTIONS)
def test_the_function_that_a_comprehension_is_written_in(comprehensions, qualified, elements):
    function = FUNCTIONS[elements]
    line = marked(COMPREHENSIONS)[function]
    if not qualified:  # a generator's caller is whoever takes from it: its function is not known
        function = None if function == "generated" else function.rsplit(".", 1)[-1]
    wanted = (COMPREHENSIONS, line, function)
    found = made(comprehensions)
    assert (found[elements], found[elements + 1]) == (wanted, wanted)


def test_no_name_of_the_interpreter_in_a_report(comprehensions):
    report = harness.cli("report", comprehensions, "--top", 50).stdout
    assert "comp>" not in report and "genexpr" not in report and "shelves" not in report
    line = marked(COMPREHENSIONS)["in_list"]
    assert f"called by {COMPREHENSIONS}:{line}" not in report  # a function does not call its own comprehension


def test_the_users_file_and_not_a_header_of_the_standard_library(tmp_path):
    harness.needs_build_against_this_torch()
    done = harness.run("std_callers", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    dump = harness.dumps(tmp_path)[0]
    lines = marked("std_callers.cc")
    found = made(dump)
    assert {size: found[size][:2] for size in found} == {
        1000: ("std_callers.cc", lines["emplaces"]),
        2000: ("std_callers.cc", lines["transforms"]),
        2001: ("std_callers.cc", lines["transforms"]),
        3000: ("std_callers.cc", lines["Maker"]),
        4000: ("std_callers.cc", lines["calls"]),
    }
    report = harness.cli("report", dump, env={**os.environ, "COLUMNS": "400"}).stdout
    assert "/c++/" not in report and "std::" not in report
    assert re.search(r"called by\s+\S*std_callers.cc:\d+ transforms", report)  # what called the lambda, past std::transform
