"""A Python that has what the programs of rounds/ import: a virtual environment in .cache/rounds, 2 GB and more, made where it is missing."""

import ast
import shutil
import subprocess
import sys

import corpus

REQUIREMENTS = corpus.ROUNDS / "requirements.txt"
FOLDER = corpus.ROOT / ".cache" / "rounds"


def installed():
    """Its path. The file `ready` in the environment says what it was made from."""
    wanted, ready = REQUIREMENTS.read_text(), FOLDER / "ready"
    python = FOLDER / "bin" / "python"
    if ready.exists() and ready.read_text() == wanted:
        return str(python)
    print(f"== pip: libraries of the rounds' programs, into {FOLDER.relative_to(corpus.ROOT)}", file=sys.stderr, flush=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "-r", str(REQUIREMENTS)], check=True)
    ready.write_text(wanted)
    return str(python)


def imported(program):
    """The modules of other people that a program imports."""
    names = set()
    for node in ast.walk(ast.parse(program.path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module.split(".")[0])
    return sorted(names - set(sys.stdlib_module_names) - {"ask"})
