# SPDX-License-Identifier: Apache-2.0
"""The CPythons that tests run in: pyenv's, those on the path, and Debian's of other releases, fetched into a cache folder."""

import fcntl
import glob
import os
import pathlib
import shutil
import subprocess

import pytest

SERIES = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]
FETCHED = ["3.9", "3.13", "3.14", "3.15"]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "tensorscope-tests"
FETCH = pathlib.Path(__file__).with_name("fetch_cpython.sh")


def version_of(python):
    """"3.11.7", or "" where this is no working interpreter."""
    if not os.path.exists(python):
        return ""
    asked = subprocess.run([python, "-c", "import sys; print(sys.version.split()[0])"], capture_output=True, text=True)
    return asked.stdout.strip() if asked.returncode == 0 else ""


def installed():
    """{series: python}: named in TENSORSCOPE_PYTHONS, by pyenv, or on the path, in this order."""
    candidates = os.environ.get("TENSORSCOPE_PYTHONS", "").split(":")
    for root in filter(None, [os.environ.get("PYENV_ROOT", ""), str(pathlib.Path.home() / ".pyenv")]):
        candidates += sorted(glob.glob(f"{root}/versions/3.*/bin/python"), reverse=True)
    candidates += [shutil.which(f"python{series}") or "" for series in SERIES] + ["/usr/bin/python3"]
    found = {}
    for python in filter(None, candidates):
        found.setdefault(".".join(version_of(python).split(".")[:2]), python)
    return found


INSTALLED = installed()


def fetched(series):
    folder = CACHE / f"cpython-{series}"
    folder.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"cpython-{series}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run side by side
        if not (folder / "python").exists():
            done = subprocess.run([FETCH, series, folder], capture_output=True, text=True, timeout=600)
            if done.returncode != 0:
                pytest.skip(f"no CPython {series} here, and Debian's could not be fetched: {done.stderr.strip().splitlines()[-1:]}")
    return str(folder / "python")


def interpreter(series):
    """The path of a CPython of this series. Skips the test, with the reason, where none can be had."""
    if series in INSTALLED:
        return INSTALLED[series]
    if series in FETCHED:
        return fetched(series)
    pytest.skip(f"no CPython {series}: not under ~/.pyenv/versions, not on the PATH, and no Debian has it")
