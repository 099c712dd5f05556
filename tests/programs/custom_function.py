"""A custom autograd function that saves tensors and keeps one on its context."""
import torch

import truth


class Square(torch.autograd.Function):
    @staticmethod
    def forward(context, data):
        context.save_for_backward(data)
        context.extra = torch.ones(3, 3)
        return data * data

    @staticmethod
    def backward(context, gradient):
        (data,) = context.saved_tensors
        return 2 * data * gradient


data = torch.randn(10, requires_grad=True)
result = Square.apply(data).sum()
truth.moment("before")
result.backward()
truth.moment("after")
