# SPDX-License-Identifier: Apache-2.0
"""Files of tensorscope as tables, through libtensorscope_reader.so; any Arrow library reads them without a copy."""

import ctypes
import os
import weakref

from . import _programs


class Error(RuntimeError):
    """A file that cannot be read, or a question that cannot be answered; the message says why."""


_VERSION = 1  # of tensorscope_reader_version()
_reader_library = None


def _library():
    global _reader_library
    if _reader_library is None:
        try:
            library = ctypes.CDLL(_programs.reader())
        except (OSError, _programs.NotFound) as problem:
            raise Error(str(problem)) from None
        if library.tensorscope_reader_version() != _VERSION:
            raise Error("libtensorscope_reader.so is of another version than this package; install both together")
        library.tensorscope_reader_open.restype = ctypes.c_void_p
        library.tensorscope_reader_open.argtypes = [ctypes.POINTER(ctypes.c_char_p), ctypes.c_size_t]
        library.tensorscope_reader_close.restype = None
        library.tensorscope_reader_close.argtypes = [ctypes.c_void_p]
        for name in ("error", "tables", "problems"):
            function = getattr(library, "tensorscope_reader_" + name)
            function.restype, function.argtypes = ctypes.c_char_p, [ctypes.c_void_p]
        library.tensorscope_reader_stream.restype = ctypes.c_void_p
        library.tensorscope_reader_stream.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        library.tensorscope_reader_free_stream.restype = None
        library.tensorscope_reader_free_stream.argtypes = [ctypes.c_void_p]
        _reader_library = library
    return _reader_library


_CAPSULE_NAME = b"arrow_array_stream"
_CAPSULE_END = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _CAPSULE_END)(("PyCapsule_New", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


@_CAPSULE_END
def _free_capsule(capsule):
    _library().tensorscope_reader_free_stream(_capsule_pointer(capsule, _CAPSULE_NAME))


ctypes.pythonapi.Py_IncRef(ctypes.py_object(_free_capsule))  # a capsule may end after this module has


def _import(name, what):
    try:
        return __import__(name)
    except ImportError:
        raise Error("{} needs {}: pip install {}".format(what, name, name)) from None


class Table:
    """One table of a file. Arrow libraries take it as it is: pyarrow.table(t), polars.DataFrame(t), duckdb."""

    def __init__(self, dump, name):
        self._dump, self.name = dump, name

    def __arrow_c_stream__(self, requested_schema=None):
        return _new_capsule(self._dump._stream(self.name), _CAPSULE_NAME, _free_capsule)

    def arrow(self):
        """A pyarrow.Table."""
        return _import("pyarrow", "arrow()").table(self)

    def to_pandas(self):
        """A pandas.DataFrame; texts that repeat are categories."""
        _import("pandas", "to_pandas()")
        return _import("pyarrow", "to_pandas()").table(self).to_pandas()

    def polars(self):
        """A polars.DataFrame."""
        return _import("polars", "polars()").DataFrame(self)

    def __repr__(self):
        return "<table {} of {}>".format(self.name, self._dump._words())

    def _repr_html_(self):
        try:
            frame = self.to_pandas()
        except Error:
            return None
        return "<p>{} of {}</p>{}".format(self.name, _escaped(self._dump._words()), frame._repr_html_())


def _escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class Dump:
    """Opened files, with a table for each attribute: d.tensors, d.memory, d.sites, ... (docs/tables.md)."""

    def __init__(self, paths):
        self.paths = [os.fspath(path) for path in paths]
        library = _library()
        names = (ctypes.c_char_p * len(self.paths))(*[os.fsencode(path) for path in self.paths])
        self._reader = library.tensorscope_reader_open(names, len(self.paths))
        if not self._reader:
            raise MemoryError("not enough memory to open " + self._words())
        self._close = weakref.finalize(self, library.tensorscope_reader_close, self._reader)
        problem = library.tensorscope_reader_error(self._reader)
        if problem:
            self.close()
            raise Error(problem.decode(errors="replace"))
        self._names = library.tensorscope_reader_tables(self._reader).decode().split()
        self.problems = library.tensorscope_reader_problems(self._reader).decode(errors="replace").splitlines()

    @property
    def tables(self):
        """Names of the tables that the files have."""
        return list(self._names)

    def table(self, name):
        if name not in self._names:
            raise Error("no table {} in {}; there are: {}".format(name, self._words(), ", ".join(self._names)))
        return Table(self, name)

    def query(self, sql):
        """The rows of a SELECT over the tables, as a list of dictionaries."""
        from ._answers import query

        return query(self, sql)

    def close(self):
        """Frees what was read. Arrow tables that were made of it stay valid."""
        self._close()
        self._reader = None

    def _stream(self, name):
        if self._reader is None:
            raise Error(self._words() + " is closed")
        stream = _library().tensorscope_reader_stream(self._reader, name.encode())
        if not stream:
            raise Error(_library().tensorscope_reader_error(self._reader).decode(errors="replace"))
        return stream

    def _words(self):
        names = [os.path.basename(path) for path in self.paths]
        return names[0] if len(names) == 1 else "{} and {} more".format(names[0], len(names) - 1)

    def __getattr__(self, name):
        if name in self.__dict__.get("_names", ()):
            return Table(self, name)
        raise AttributeError("no table or attribute '{}'; tables: {}".format(name, ", ".join(self.__dict__.get("_names", ()))))

    def __dir__(self):
        return sorted({*super().__dir__(), *self._names})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return "<tensorscope {}: {}>".format(self._words(), ", ".join(self._names))


def load(*paths):
    """Opens dumps, moments of recordings ("x.recording@peak"), values files and recordings. Column `dump` numbers them."""
    if not paths:
        raise TypeError("load() needs a path")
    return Dump(paths)
