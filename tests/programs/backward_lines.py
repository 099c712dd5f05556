"""Graphs that are kept after their backward, each freed at a line of its own: comments name the lines for the test. Argument: a device."""

import sys

import torch
from torch.utils.checkpoint import checkpoint

weight = torch.ones(64, 64, requires_grad=True, device=(sys.argv + ["cpu"])[1])


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return (grad * 2 + x * 0).clone()


def forward():
    return ((weight @ weight).exp() * weight).sum()


def one_step():
    loss = forward()
    loss.backward()  # one_step
    return loss


def another_step():
    loss = forward()
    torch.autograd.backward([loss])  # another_step
    return loss


def by_grad():
    loss = forward()
    torch.autograd.grad(loss, weight)  # by_grad
    return loss


def twice():
    loss = forward()
    loss.backward(retain_graph=True)
    weight.grad = None
    loss.backward()  # twice
    return loss


def custom():
    loss = Scaled.apply(forward()).exp().sum()
    loss.backward()  # custom
    return loss


def checkpointed():
    loss = checkpoint(forward, use_reentrant=False).exp()
    loss.backward()  # checkpointed
    return loss


def retained():
    loss = forward()
    loss.backward(retain_graph=True)
    return loss


first, second, third, fourth = one_step(), another_step(), by_grad(), twice()
fifth, sixth, seventh = custom(), checkpointed(), retained()
