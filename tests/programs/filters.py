"""Memory that several tensors share, tensors that grow, move and get a gradient, and a stray leaf: what filters and diff
are asked about. Between the dumps only `old` is freed, which shares all its memory."""
import numpy
import torch

import truth

array = numpy.zeros(64, dtype=numpy.float32)
old = torch.from_numpy(array)
part = torch.from_numpy(array[1:])  # another storage over the same memory
kept = torch.empty(0).set_(old)  # another tensor on the same storage
tup = (torch.zeros(10), torch.zeros(20))
moved, grown = torch.zeros(64), torch.zeros(64)
layer = torch.nn.Linear(4, 4)
stray = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD(layer.parameters())
truth.moment("first")

del old
moved.data = torch.zeros(64)
grown.resize_(128)
new = torch.zeros(16)
(layer(torch.ones(4)).sum() + stray.sum()).backward()
truth.moment("second", python_id=id(new))
