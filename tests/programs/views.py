"""Views and aliases: a 4 KiB view of a 4 MiB tensor, a detached alias, a transposed view; and a reused address."""
import torch

import truth

base = torch.zeros(1024, 1024)
row = base[7]
alias = base.detach()
turned = base.t()
scalar = torch.tensor(3.0)
empty = torch.empty(0)
big = torch.zeros(3, 5, 7, 2, 2, 2, 2)
before = truth.moment("before", base=base._cdata, row=row._cdata, base_nbytes=truth.storage(base).nbytes())
del row
row2 = base[9]
truth.moment("after", row2=row2._cdata)
