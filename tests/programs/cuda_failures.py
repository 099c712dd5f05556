"""Memory of a CUDA device runs out in all the places where a program may catch it: each is caught, and what was caught is printed."""
import ctypes
import threading

import torch

MEBIBYTE = 1 << 20
double = ctypes.CDLL(f"libcudart.so.{torch.version.cuda.split('.')[0]}")
double.fake_cuda_fail.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64]
kept = [torch.empty(20 * MEBIBYTE, dtype=torch.uint8, device="cuda") for _ in range(10)]


def too_much():
    return torch.empty(100 * MEBIBYTE, dtype=torch.uint8, device="cuda")


class AsksInBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return too_much()


def python_backward():
    AsksInBackward.apply(torch.ones(1000, device="cuda", requires_grad=True)).sum().backward()


def native_backward():
    loss = torch.ones(3 * MEBIBYTE, device="cuda", requires_grad=True).cumsum(0).sum()
    torch.cuda.empty_cache()
    for call in (b"cudaMalloc", b"cuMemCreate", b"cudaMallocAsync"):
        double.fake_cuda_fail(call, 1, 1000)
    try:
        loss.backward()
    finally:
        for call in (b"cudaMalloc", b"cuMemCreate", b"cudaMallocAsync"):
            double.fake_cuda_fail(call, 0, 0)


def two_threads():
    threads = [threading.Thread(target=caught, args=(too_much,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def pinned_memory():
    double.fake_cuda_fail(b"cudaHostAlloc", 1, 1)
    return torch.empty(MEBIBYTE, pin_memory=True)


def caught(place):
    try:
        place()
    except RuntimeError as error:
        print(f"{place.__name__}: {type(error).__name__}: {str(error).splitlines()[0]}\n", end="", flush=True)


for place in (too_much, python_backward, native_backward, two_threads, pinned_memory):
    caught(place)
