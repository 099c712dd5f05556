# SPDX-License-Identifier: Apache-2.0
"""tensorscope: a memory profiler for PyTorch programs.

    import tensorscope as ts
    d = ts.load("train.4242.1.tscope")   # dumps, values files, recordings
    d.tensors.to_pandas()                # tables: docs/tables.md
    ts.report(d); ts.diff(a, b); ts.leaks(a, b, c); ts.oom(d)

In a program that runs under tensorscope: ts.snapshot(), `with ts.track(): ...`. In a notebook: %load_ext tensorscope.
"""

__version__ = "0.1.0"  # of meson.build: tests/integration/test_wheel.py compares them

# Looked up when they are used: `python -m tensorscope` needs none of them.
_WHERE = {"Dump": "_tables", "Error": "_tables", "Table": "_tables", "load": "_tables",
          "diff": "_answers", "leaks": "_answers", "oom": "_answers", "query": "_answers", "report": "_answers",
          "is_recording": "_live", "snapshot": "_live", "track": "_live"}

__all__ = sorted(_WHERE)


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError("module 'tensorscope' has no attribute '{}'".format(name))
    from importlib import import_module

    return getattr(import_module("." + _WHERE[name], __name__), name)


def __dir__():
    return sorted([*globals(), *_WHERE])


def load_ipython_extension(shell):
    """%load_ext tensorscope: the cell magic %%tensorscope."""
    from ._magic import load

    load(shell)
