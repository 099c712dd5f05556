# SPDX-License-Identifier: Apache-2.0
"""`python -m tensorscope ...` is the tensorscope program; `run -m MODULE` runs the module with this Python."""

import os
import sys

from . import _programs


def main():
    try:
        program = _programs.program()
    except _programs.NotFound as problem:
        print(f"tensorscope: {problem}.", file=sys.stderr)
        return 2
    os.environ["TENSORSCOPE_INTERPRETER"] = sys.executable  # the program takes it out again before it starts anything
    sys.stdout.flush()
    os.execv(program, ["tensorscope", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
