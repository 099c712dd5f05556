#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a C++ header of Python that runs in the program: embed_python.py SOURCE HEADER.

watch/code_plan.py becomes the constant embedded::kCodePlan of watch/code_plan.py.h. The build fails if the source is not Python 3.8,
the oldest that the profiler runs in, or has a character that depends on the program's locale.
"""

import ast
import pathlib
import sys

HEADER = """// Made by scripts/embed_python.py.
#pragma once
namespace tensorscope::embedded {{
inline constexpr char {name}[] = R"embedded({text})embedded";
}}
"""


def main():
    source, header = map(pathlib.Path, sys.argv[1:])
    text = source.read_text(encoding="ascii")
    ast.parse(text, str(source), feature_version=(3, 8))
    name = "k" + "".join(word.capitalize() for word in source.stem.split("_"))
    header.write_text(HEADER.format(name=name, text=text))


if __name__ == "__main__":
    main()
