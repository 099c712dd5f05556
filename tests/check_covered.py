# SPDX-License-Identifier: Apache-2.0
"""Every source of preload/ and analyzer/ has a test of its own (x.cc: x_test.cc), or a test that names it in a line

    Covers: preload/live/{tensor_table,node_table}.cc ...

Prints the sources that have neither, and names that are no source; exit status 1 where there are any.
"""

import itertools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def expanded(word):
    """The paths that a word with at most one {a,b} stands for."""
    parts = re.fullmatch(r"([^{]*)\{([^}]*)\}(.*)", word)
    return [parts[1] + name + parts[3] for name in parts[2].split(",")] if parts else [word]


def named(test):
    for line in re.findall(r"^(?://|#) Covers: (.*)$", test.read_text(), re.MULTILINE):
        for word in line.split():
            yield from expanded(word)


def main():
    sources = {str(path.relative_to(ROOT)): path.stem for room in ("preload", "analyzer") for path in (ROOT / room).rglob("*.cc")}
    unit_tests = list((ROOT / "tests" / "unit").rglob("*_test.cc"))
    own = {test.name.removesuffix("_test.cc") for test in unit_tests}
    others = itertools.chain(unit_tests, (ROOT / "tests" / "unit").rglob("*_test.c"), (ROOT / "tests" / "integration").glob("test_*.py"))
    covered = {path: test for test in others for path in named(test)}
    wrong = [f"{test.relative_to(ROOT)} covers {path}, which is no source" for path, test in sorted(covered.items()) if path not in sources]
    bare = [f"{path} has no test" for path, stem in sorted(sources.items()) if stem not in own and path not in covered]
    print("\n".join(wrong + bare) or f"{len(sources)} sources, each with a test")
    return bool(wrong or bare)


if __name__ == "__main__":
    sys.exit(main())
