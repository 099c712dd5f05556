"""Takes memory of the device by torch, from the CUDA runtime and straight from the driver, and starts counted kernels, copies and fills."""
import ctypes

import torch

import truth

KIBIBYTE = 1 << 10
DEVICE_TO_HOST = 2


def check(error):
    assert error == 0, error


def library(nbytes):
    """What a library does that does not go through the runtime."""
    pointer = ctypes.c_void_p()
    check(driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(nbytes)))
    return pointer


def of_the_runtime(nbytes):
    pointer = ctypes.c_void_p()
    check(runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(nbytes)))
    return pointer


def kernels(tensor):
    for _ in range(5):
        tensor.add_(1)


def copies(tensor):
    for _ in range(3):
        check(runtime.cudaMemcpy(host, ctypes.c_void_p(tensor.data_ptr()), ctypes.c_size_t(KIBIBYTE), DEVICE_TO_HOST))


def fills(tensor):
    for _ in range(2):
        check(runtime.cudaMemset(ctypes.c_void_p(tensor.data_ptr()), 0, ctypes.c_size_t(4 * KIBIBYTE)))


def launches_of_the_driver():
    for _ in range(4):
        check(driver.cuLaunchKernel())


kept = torch.ones(3000, 1000, device="cuda")  # from here on the driver is loaded
driver = ctypes.CDLL("libcuda.so.1")
runtime = ctypes.CDLL(f"libcudart.so.{torch.version.cuda.split('.')[0]}")
host = ctypes.create_string_buffer(KIBIBYTE)
pinned = torch.ones(1000, pin_memory=True)
mine, gone, theirs = library(3_000_000), library(5_000_000), of_the_runtime(200_000)
check(driver.cuMemFree_v2(gone))
kernels(kept)
copies(kept)
fills(kept)
launches_of_the_driver()
truth.moment("held", reserved=torch.cuda.memory_reserved(), mine=mine.value, theirs=theirs.value, gone=gone.value)
del kept
torch.cuda.empty_cache()
check(driver.cuMemFree_v2(mine))
check(runtime.cudaFree(theirs))
truth.moment("released", reserved=torch.cuda.memory_reserved())
