"""Storages that torch's allocator did not make: numpy, DLPack, frombuffer, a mapped file, shared memory."""
import os
import tempfile

import numpy
import torch

import truth

array = numpy.zeros(1000, dtype=numpy.float32)
kinds = {"numpy": torch.from_numpy(array), "numpy_tail": torch.from_numpy(array[500:]),
         "dlpack": torch.utils.dlpack.from_dlpack(numpy.zeros(77)),
         "buffer": torch.frombuffer(bytearray(400), dtype=torch.float32)}
handle, path = tempfile.mkstemp()
os.write(handle, bytes(8192))
os.close(handle)
kinds["mapped"] = torch.from_file(path, shared=True, size=2048)
kinds["shared"] = torch.zeros(500).share_memory_()
truth.moment(**{name: tensor._cdata for name, tensor in kinds.items()})
os.unlink(path)
