"""One of each exotic kind: nested, jagged, functional, fake, meta, quantized, subclass, symbolic shapes, mkldnn, conj.

torch 1.13 has no jagged layout and no symbolic fake tensors.
"""
import warnings

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import truth

warnings.simplefilter("ignore")


class Wrapper(torch.Tensor):
    """A wrapper subclass whose sizes and strides Python computes."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype,
                                                   dispatch_sizes_strides_policy="sizes")

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
        if function in (torch.ops.aten.sym_size.default, torch.ops.aten.size.default):
            return tuple(arguments[0].inner.shape)
        if function in (torch.ops.aten.sym_stride.default, torch.ops.aten.stride.default):
            return tuple(arguments[0].inner.stride())
        if function in (torch.ops.aten.sym_numel.default, torch.ops.aten.numel.default):
            return arguments[0].inner.numel()
        raise NotImplementedError(str(function))


class Plain(torch.Tensor):
    pass


kinds = {}
kinds["nested"] = torch.nested.nested_tensor([torch.zeros(2, 3), torch.zeros(4, 3)])
if truth.VERSION >= (2, 2):
    kinds["jagged"] = torch.nested.nested_tensor([torch.zeros(2, 3), torch.zeros(4, 3)], layout=torch.jagged)
kinds["functional"] = torch._to_functional_tensor(torch.zeros(3, 3))
kinds["meta"] = torch.zeros(1000, 1000, device="meta")
kinds["quantized"] = torch.quantize_per_tensor(torch.zeros(6, 6), 0.1, 0, torch.qint8)
kinds["wrapper"] = Wrapper(torch.zeros(2, 2))
kinds["plain_subclass"] = torch.zeros(5, 5).as_subclass(Plain)
kinds["mkldnn"] = torch.zeros(4, 4).to_mkldnn()
kinds["conj"] = torch.zeros(4, 4, dtype=torch.complex64).conj()
with FakeTensorMode():
    kinds["fake"] = torch.empty(11, 13)
if truth.VERSION >= (2, 2):
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    mode = FakeTensorMode(shape_env=ShapeEnv())
    kinds["symbolic"] = mode.from_tensor(torch.nn.Parameter(torch.zeros(17, 19), requires_grad=False))
truth.moment(**{name: tensor._cdata for name, tensor in kinds.items()})
print("done")
