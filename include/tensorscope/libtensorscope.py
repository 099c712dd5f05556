# SPDX-License-Identifier: Apache-2.0
"""Stands in for tensorscope's own module where a program runs without it.

Copy this one file beside a program that says `import libtensorscope`. Under the preload the interpreter has a built-in
module of that name, which comes first; without it the program gets this one, and nothing happens.
"""

import importlib.machinery
import importlib.util
import sys

if __name__ in sys.builtin_module_names:  # something looks for files first, as pytest's import hook does for those of a plugin
    _spec = importlib.machinery.BuiltinImporter.find_spec(__name__)
    sys.modules[__name__] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules[__name__])


def dump():
    """Writes a dump of every live tensor and returns its path; None without the preload."""
    return None


def name(tensor, text):
    """Gives a tensor a name that dumps show as long as it lives, and returns the tensor; without the preload does nothing else."""
    return tensor


def stop():
    """Stops the recording of stacks; tensors and memory are followed all the same. Without the preload does nothing."""


def start():
    """Starts the recording of stacks again. Without the preload does nothing."""


def stop_values():
    """Stops the recording of watched values and module calls. Without the preload does nothing."""


def start_values():
    """Starts the recording of watched values and module calls again. Without the preload does nothing."""


def start_recording():
    """Begins to record every allocation, release and tensor. Without the preload does nothing."""


def stop_recording():
    """Ends that; the file goes on with the next start_recording(). Without the preload does nothing."""


def save(name, value):
    """Writes a value to the values file and returns the value; without the preload does nothing else."""
    return value


class scope:
    """In a with statement: names of save() begin with the prefix. Without the preload does nothing."""

    def __init__(self, prefix="", module=""):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


def annotate(text):
    """Writes a note to the values file. Without the preload does nothing."""


def mark_step():
    """Says that a step of the program is over. Without the preload does nothing."""


def active():
    """True while tensorscope records this process; False without the preload."""
    return False
