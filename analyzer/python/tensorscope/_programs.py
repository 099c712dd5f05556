# SPDX-License-Identifier: Apache-2.0
"""Finds the tensorscope program and libtensorscope.so that belong to this package, in an installation or a checkout."""

import os
import shutil
import sysconfig
from importlib import metadata

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_DISTRIBUTION = "tensorscope-profiler"


class NotFound(RuntimeError):
    """A file of tensorscope is missing; the message says which."""


def _installed_program():
    """What pip has recorded, as paths."""
    try:
        files = metadata.files(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []
    return [os.path.normpath(str(entry.locate())) for entry in files if entry.name == "tensorscope" and entry.parent.name == "bin"]


def _in_checkout(*names):
    """A file of build/, where this package lies in a checkout (analyzer/python/tensorscope)."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(_PACKAGE)))
    return os.path.join(os.environ.get("TENSORSCOPE_BUILD") or os.path.join(root, "build"), *names)


def _chosen(variable):
    """The path that an environment variable names; nothing where it is not set."""
    path = os.environ.get(variable)
    if path and not os.path.isfile(path):
        raise NotFound(f"{variable}={path}: no such file")
    return path


def _library(name, variable, folder):
    chosen = _chosen(variable)
    if chosen:
        return chosen
    for place in (os.path.join(_PACKAGE, name), _in_checkout(folder, name)):
        if os.path.isfile(place):
            return place
    raise NotFound(f"{name} was not found; install it: pip install {_DISTRIBUTION}")


def program():
    """Path of the tensorscope program (TENSORSCOPE_PROGRAM names another). Raises NotFound."""
    chosen = _chosen("TENSORSCOPE_PROGRAM")
    if chosen:
        return chosen
    places = [
        *_installed_program(),
        os.path.join(os.path.dirname(_PACKAGE), "bin", "tensorscope"),  # pip install --target
        _in_checkout("analyzer", "tensorscope"),
        os.path.join(sysconfig.get_path("scripts"), "tensorscope"),
    ]
    for place in places:
        if os.path.isfile(place) and os.access(place, os.X_OK):
            return place
    found = shutil.which("tensorscope")
    if not found:
        raise NotFound("the tensorscope program was not found; install it: pip install " + _DISTRIBUTION)
    return found


def library():
    """Path of libtensorscope.so (TENSORSCOPE_LIB names another). Raises NotFound."""
    return _library("libtensorscope.so", "TENSORSCOPE_LIB", "preload")


def reader():
    """Path of libtensorscope_reader.so (TENSORSCOPE_READER names another). Raises NotFound."""
    return _library("libtensorscope_reader.so", "TENSORSCOPE_READER", "analyzer")
