"""Tensors that only objects of pyarrow keep, which hold their owner in C++. With "extension" as argument: beside a type that the
program itself has defined."""
import json
import os
import sys

import libtensorscope
import numpy
import pyarrow
import torch

known = {}  # tag: address of the tensor
touched = []  # filled by what must not run


def array(tag):
    made = torch.ones(100).numpy()
    known[tag] = made.base._cdata
    return made


def of_a_type_of_its_own():
    class Celsius(pyarrow.ExtensionType):
        def __init__(self):
            super().__init__(pyarrow.float32(), "test.celsius")

        def __arrow_ext_serialize__(self):
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage, serialized):
            touched.append("deserialize")
            return cls()

        def __arrow_ext_class__(self):
            touched.append("class")
            return Degrees

    class Degrees(pyarrow.ExtensionArray):
        def buffers(self):
            touched.append("buffers")
            raise RuntimeError("looked at")

    return Degrees.from_storage(Celsius(), pyarrow.array(array("extension")))


class Keeper:
    pass


buffers = [pyarrow.py_buffer(array("buffer 0")), pyarrow.py_buffer(array("buffer 1"))]
alone = pyarrow.array(array("array"))
rows = torch.ones(4, 100)
by_row = {}
for i in range(4):  # views of one storage
    made = rows[i].numpy()
    known[f"row {i}"] = made.base._cdata
    by_row[i] = pyarrow.array(made)
del made
keeper = Keeper()
keeper.slice = pyarrow.array(array("slice"))[10:20]
through_memoryview = pyarrow.py_buffer(memoryview(array("memoryview")))
with_variable = array("with a variable")
beside = pyarrow.py_buffer(with_variable)
copied = pyarrow.array(numpy.arange(100.0))  # no tensor's
if "extension" in sys.argv:
    degrees = of_a_type_of_its_own()
    table = pyarrow.table({"x": degrees})
else:
    table = pyarrow.table({"a": array("table"), "b": pyarrow.chunked_array([array("chunk 0")])})
    chunked = pyarrow.chunked_array([array("chunk 1"), array("chunk 2")])
    batch = pyarrow.record_batch({"x": array("batch")})


def running():
    local = pyarrow.py_buffer(array("local"))
    return libtensorscope.dump(), local


touched.clear()
path = running()[0]
assert touched == [], touched
with open(os.path.join(os.environ["TRUTH_DIR"], "arrow.json"), "w") as file:
    json.dump({"dump": path, "known": known}, file)
