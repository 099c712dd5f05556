"""Tensors that are held by what the garbage collector does not know, and tensors with several names."""
import contextvars
import functools
import json
import os

import libtensorscope
import numpy
import torch

known = {}  # tag: [address, id] of the tensor


def note(tag, tensor):
    known[tag] = [tensor._cdata, id(tensor)]
    return tensor


def array(tag, *shape):
    made = torch.ones(*(shape or (5,))).numpy()
    note(tag, made.base)  # a tensor of its own, with the same storage
    return made


preds = [array("list 0"), array("list 1")]
by_key = {"a": array("dict"), "b": 3}
nested = ({"x": (array("nested"),)},)
view = array("view", 4, 4)[1:, ::2]
objects = numpy.empty((2, 3), dtype=object)
objects[1, 2] = note("object array", torch.ones(6))
objects[0, 1] = [note("list in an object array", torch.ones(7))]
fortran = numpy.empty((2, 3), dtype=object, order="F")
fortran[0, 2] = note("fortran", torch.ones(6))
looked = memoryview(array("memoryview"))
frombuffer = numpy.frombuffer(looked, dtype=numpy.float32)


class Matrix(numpy.ndarray):
    pass


subclass = array("subclass").view(Matrix)
subclass.extra = note("attribute of an array", torch.ones(3))


class Keeper:
    def __init__(self):
        self.out = array("attribute")


keeper = Keeper()
large = {i: i for i in range(100)}
large["x"] = array("large dict")
request = contextvars.ContextVar("request")
request.set([note("context variable", torch.ones(3))])
other = contextvars.ContextVar("other")
other.set(array("array in a context variable"))

twice = {"first": note("two keys", torch.ones(3))}
twice["second"] = twice["first"]
repeated = [note("repeated", torch.ones(3))] * 3
labelled = torch.ones(3)
note("__name__", labelled).__name__ = "temperature"


@functools.lru_cache(maxsize=8)
def encode(text, width=3):
    return note(f"lru {text}", torch.ones(width))


@functools.cache
def unbounded(text):
    return [note(f"unbounded {text}", torch.ones(3))]


@functools.lru_cache(maxsize=8)
def squared(tensor):
    return tensor.shape


encode("a"), encode("b", 4), unbounded("c"), squared(note("key", torch.ones(9)))


def running():
    local = array("local")
    chunk = [array("in a local")]
    path = libtensorscope.dump()
    return path, local, chunk


path = running()[0]
with open(os.path.join(os.environ["TRUTH_DIR"], "names.json"), "w") as file:
    json.dump({"dump": path, "known": known}, file)
