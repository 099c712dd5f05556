# SPDX-License-Identifier: Apache-2.0
"""Inside a program that runs under tensorscope: dumps, and what a part of the program left behind."""

import sys
import warnings


def _recorder():
    """The module that the profiler puts into the interpreter; None without it. The stand-in of the same name is not meant."""
    if "libtensorscope" in sys.builtin_module_names or getattr(sys.modules.get("libtensorscope"), "__file__", "") is None:
        import libtensorscope

        return libtensorscope
    try:
        import libtensorscope
    except ImportError:
        return None
    return None if getattr(libtensorscope, "__file__", None) else libtensorscope


def is_recording():
    """Whether this program runs under tensorscope."""
    return _recorder() is not None


def _say_nothing_recorded(what):
    warnings.warn("{} did nothing: this program does not run under tensorscope (tensorscope run -- python ...)".format(what), RuntimeWarning, stacklevel=3)


def snapshot():
    """Writes a dump and returns its path; without tensorscope says so and returns None."""
    recorder = _recorder()
    if recorder is None:
        _say_nothing_recorded("snapshot()")
        return None
    return recorder.dump()


class track:
    """`with track() as t:` writes a dump before and after the block; t.diff() is what the block left behind."""

    def __init__(self):
        self.before = self.after = None

    def __enter__(self):
        recorder = _recorder()
        if recorder is None:
            _say_nothing_recorded("track()")
        else:
            self.before = recorder.dump()
        return self

    def __exit__(self, *_):
        recorder = _recorder()
        if recorder is not None:
            self.after = recorder.dump()
        return False

    def diff(self, top=10):
        """As tensorscope.diff(), or report() where torch was loaded within the block; None without tensorscope."""
        from ._answers import diff, report

        if not self.after:
            return None
        return diff(self.before, self.after, top) if self.before else report(self.after, top)

    def __repr__(self):
        return "<track: {} to {}>".format(self.before, self.after) if self.after else "<track: nothing recorded>"

    def _repr_html_(self):
        answer = self.diff()
        return None if answer is None else answer._repr_html_()
