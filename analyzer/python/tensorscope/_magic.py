# SPDX-License-Identifier: Apache-2.0
"""%%tensorscope: what a cell allocates.

In a kernel that runs under tensorscope the cell runs in the kernel, between two dumps, and its growth is shown. In any
other kernel the cell runs as a program of its own under tensorscope: it does not see the notebook's variables, and what
is alive at its end is shown.
"""

import os
import subprocess
import sys
import tempfile

from . import _programs
from ._answers import diff, report
from ._live import _recorder
from ._tables import Error

_AT_END = "\n\nimport libtensorscope as _recorder\n_recorder.dump()\n"


def _run_in_child(cell):
    with tempfile.TemporaryDirectory(prefix="tensorscope-cell-") as folder:
        path = os.path.join(folder, "cell.py")
        with open(path, "w") as file:
            file.write(cell + _AT_END)
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")])))
        environment.setdefault("TENSORSCOPE_LIB", _programs.library())
        done = subprocess.run([_programs.program(), "run", "--dir", folder, "--exit", "never", "--quiet", "--", sys.executable, path],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        sys.stdout.write(done.stdout.decode(errors="replace"))
        sys.stderr.write(done.stderr.decode(errors="replace"))
        if done.returncode != 0:
            raise Error("the cell ended with status {}".format(done.returncode))
        dumps = [name for name in os.listdir(folder) if name.endswith(".tscope")]
        if not dumps:
            raise Error("the cell wrote no dump: it made no tensor")
        return report(os.path.join(folder, dumps[0]))


def load(shell):
    def tensorscope(line, cell):
        """Runs the cell and shows what it allocated."""
        recorder = _recorder()
        if recorder is None:
            return _run_in_child(cell)
        before = recorder.dump()
        result = shell.run_cell(cell)
        after = recorder.dump()
        if not result.success or not after:
            return None
        return diff(before, after) if before else report(after)  # before torch is loaded there is nothing to dump

    shell.register_magic_function(tensorscope, magic_kind="cell", magic_name="tensorscope")
