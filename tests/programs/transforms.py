"""vmap, grad and inference mode."""
import torch

import truth

if truth.VERSION >= (2, 0):
    from torch.func import grad, vmap
else:
    from functorch import grad, vmap

data = torch.arange(12.0).reshape(3, 4)
mapped = vmap(lambda row: row * 2)(data)
gradient = grad(lambda value: (value ** 2).sum())(data)
with torch.inference_mode():
    inferred = data + 1
    truth.moment("inside", inferred=inferred._cdata)
print(mapped.sum().item(), gradient.sum().item(), inferred.sum().item())
truth.moment("outside")
