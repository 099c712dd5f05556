"""Includes go one way: a room may include only the rooms before it in these lists, and include/tensorscope.

Prints each include against the order; exit status 1 where there is one.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
ROOMS = {
    "preload": "support stacks live torch devices python dump oom recording tensor_values values_file torch_events watch find_nan collector hooks".split(),
    "analyzer": "support dump recording symbols ownership memory values autograd leaks oom timeline forecast ranks tables text export html process top cli".split(),
}


def included(program, path):
    """The rooms of `program` that a source includes."""
    for header in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
        if (ROOT / program / header).is_file():
            yield header.split("/")[0], header


def against_the_order(program, rooms):
    for path in sorted((ROOT / program).rglob("*")):
        if path.suffix not in (".h", ".cc"):
            continue
        room = path.relative_to(ROOT / program).parts[0]
        if room not in rooms:
            yield f"{path.relative_to(ROOT)}: {room} is not in tests/check_rooms.py"
            continue
        for other, header in included(program, path):
            if rooms.index(other) > rooms.index(room):
                yield f"{path.relative_to(ROOT)} includes {header}: {other} comes after {room}"


def main():
    wrong = [line for program, rooms in ROOMS.items() for line in against_the_order(program, rooms)]
    print("\n".join(wrong) or "every include goes one way")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
