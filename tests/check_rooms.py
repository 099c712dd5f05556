# SPDX-License-Identifier: Apache-2.0
"""The house: a room may include only the rooms before it in these lists, and include/tensorscope; no two files of a
room include each other; no folder has more files than one finds one's way in.

Prints each include against the order, each pair and each folder; exit status 1 if there is one. docs/house.svg is
drawn from the same lists by scripts/draw_house.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
ROOMS = {
    "preload": "support stacks live torch devices python dump oom recording tensor_values values_file torch_events watch find_nan collector hooks".split(),
    "analyzer": "support dump recording symbols ownership memory values autograd leaks oom timeline forecast ranks tables text export html process top cli".split(),
}
MAX_FILES = 45  # sources in a folder: a header and its source count once
# Pairs that are older than this rule. The list only gets shorter: a pair that no longer includes each other goes.
EACH_OTHER = {
    "preload": """
        hooks/activation hooks/process/process
        stacks/native/remembered_walks stacks/thread_stack
        stacks/python/python_check stacks/python/python_stack
        support/log support/message""",
    "analyzer": "",
}


def sources(program):
    return [path for path in sorted((ROOT / program).rglob("*")) if path.suffix in (".h", ".cc")]


def included(program, path):
    """The sources of `program` that one includes, below its folder."""
    for header in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
        if (ROOT / program / header).is_file():
            yield header


def against_the_order(program, rooms):
    for path in sources(program):
        room = path.relative_to(ROOT / program).parts[0]
        if room not in rooms:
            yield f"{path.relative_to(ROOT)}: {room} is not in tests/check_rooms.py"
            continue
        for header in included(program, path):
            other = header.split("/")[0]
            if rooms.index(other) > rooms.index(room):
                yield f"{path.relative_to(ROOT)} includes {header}: {other} comes after {room}"


def each_other(program):
    """Pairs of files of which each includes the other. A file is its header and its source."""
    includes = {}
    for path in sources(program):
        name = str(path.relative_to(ROOT / program).with_suffix(""))
        includes.setdefault(name, set()).update(header.removesuffix(".h") for header in included(program, path))
    for name, others in sorted(includes.items()):
        for other in sorted(others):
            if name < other and name in includes.get(other, ()):
                yield f"{name} {other}"


def new_pairs(program):
    known = {line.strip() for line in EACH_OTHER[program].splitlines() if line.strip()}
    found = set(each_other(program))
    yield from (f"{program}: {pair} include each other" for pair in sorted(found - known))
    yield from (f"{program}: {pair} no longer include each other: out of EACH_OTHER" for pair in sorted(known - found))


def large_folders(program):
    names = {path.with_suffix("") for path in sources(program)}
    folders = [name.parent for name in names]
    for folder in sorted(set(folders)):
        if folders.count(folder) > MAX_FILES:
            yield f"{folder.relative_to(ROOT)} has {folders.count(folder)} files, more than {MAX_FILES}"


def main():
    wrong = []
    for program, rooms in ROOMS.items():
        wrong += [*against_the_order(program, rooms), *new_pairs(program), *large_folders(program)]
    print("\n".join(wrong) or "every include goes one way")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
