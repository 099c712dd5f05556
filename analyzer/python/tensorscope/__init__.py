"""tensorscope: a memory profiler for PyTorch programs.

    import tensorscope as ts
    d = ts.load("train.4242.1.tscope")   # dumps, values files, recordings
    d.tensors.to_pandas()                # tables: docs/tables.md
    ts.report(d); ts.diff(a, b); ts.leaks(a, b, c); ts.oom(d)

In a program that runs under tensorscope: ts.snapshot(), `with ts.track(): ...`. In a notebook: %load_ext tensorscope.
"""

__version__ = "0.1.0"  # of meson.build: tests/integration/test_wheel.py compares them

from ._answers import diff, leaks, oom, query, report
from ._live import is_recording, snapshot, track
from ._tables import Dump, Error, Table, load

__all__ = ["Dump", "Error", "Table", "diff", "is_recording", "leaks", "load", "oom", "query", "report", "snapshot", "track"]


def load_ipython_extension(shell):
    """%load_ext tensorscope: the cell magic %%tensorscope."""
    from ._magic import load

    load(shell)
