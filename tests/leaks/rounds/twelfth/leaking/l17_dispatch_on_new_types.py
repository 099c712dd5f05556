"""Cache of a dispatcher with generated classes as keys, whose class attributes hold tensors, with multipledispatch."""
# after: "multipledispatch caches every type it sees; we create a config class per request" (multipledispatch / plum cache growth)
# fix: an instance attribute of one class instead of a class per request (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "apply._cache"  # `apply._cache` (keys: generated classes; class attribute `mask`). Base.__subclasses__ is weak
# lines = ["mask = (torch.rand(64, 256) > 0.5).float()"]
# bytes = 65536  # 64 x 256 x 4 = 64 KiB of tensor storages (measured); 67 KiB allocated bytes with the classes
# ///
import os

import torch
import torch.nn as nn
from multipledispatch import dispatch

from ask import at

torch.manual_seed(0)
net = nn.Linear(256, 256).eval()
namespace = {}


class Request:
    mask = None


@dispatch(Request, torch.Tensor, namespace=namespace)
def apply(request, x):
    return net(x) * request.mask


def make_request(i):
    mask = (torch.rand(64, 256) > 0.5).float()
    if os.environ.get("FIX"):
        request = Request()
        request.mask = mask
        return request
    return type(f"Request_{i}", (Request,), {"mask": mask})()


with torch.no_grad():
    for i in range(1, 71):
        out = apply(make_request(i), torch.randn(64, 256))
        at(i)
print(out.mean().item())
