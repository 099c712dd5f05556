# SPDX-License-Identifier: Apache-2.0
"""Python that runs in the program (preload/**/*.py) and the C++ that runs it agree on names.

What a file declares under `if TYPE_CHECKING:` is given by the C++, and what the C++ looks up in it is there: neither compiler sees that,
and a wrong name costs a feature in silence. Prints what does not agree; exit status 1 if there is anything.
"""

import ast
import pathlib
import re
import sys

PRELOAD = pathlib.Path(__file__).resolve().parents[1] / "preload"
LOOKED_UP = re.compile(r'(?:entry\(gil, globals(?:\.get\(\))?, |made\(|helper\(gil, |add_builtin_class\()"(\w+)"')


def bound(node):
    """The names that this definition, import or assignment binds."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [name.asname or name.name for name in node.names]
    return [node.id] if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else []


def is_declaration(node):
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def disagreements(path, sources):
    tree = ast.parse(path.read_text())
    name = path.relative_to(PRELOAD)
    declared, defined = set(), set()
    for part in tree.body:
        names = {each for node in ast.walk(part) for each in bound(node)}
        (declared if is_declaration(part) else defined).update(names)
    users = [text for text in sources if f'#include "{name}.h"' in text]
    if not users:
        yield f"{name}: no source includes {name}.h"
    everything = "\n".join(sources)
    yield from (f"{name}: nothing gives it {each}" for each in sorted(declared) if f'"{each}"' not in everything)
    yield from (f"{name} lacks {each}" for text in users for each in LOOKED_UP.findall(text) if each not in defined | declared)


def main():
    sources = [path.read_text() for path in PRELOAD.rglob("*.cc")]
    files = sorted(PRELOAD.rglob("*.py"))
    wrong = [line for path in files for line in disagreements(path, sources)]
    print("\n".join(wrong) or f"{len(files)} files of Python, which agree with the C++ that runs them")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
