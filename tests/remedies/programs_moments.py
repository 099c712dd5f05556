"""Programs that ask for a dump themselves, before anything has failed."""
import ctypes
import os
import signal
import time

import torch

from remedy_trial import program

MEBIBYTE = 1 << 20


@program(asks=True)
def a_full_cache(trial):
    """blocks that were freed, and are cached"""
    kept = [torch.empty(30 * MEBIBYTE, dtype=torch.uint8, device=trial.device) for _ in range(6)]
    del kept[1::2]
    trial.moment()
    before = torch.cuda.mem_get_info()[0]
    if trial.tries("empty-cache"):
        torch.cuda.empty_cache()
    if trial.tries("drop-holder"):
        before += torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
        kept.clear()
        torch.cuda.empty_cache()
    trial.freed(torch.cuda.mem_get_info()[0] - before)


def resident(what="RssAnon"):
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith(what))


@program(device="cpu", asks=True)
def small_tensors(trial):
    """many small tensors on the CPU, most of them freed: malloc keeps their memory"""
    tensors = [torch.zeros(2048) for _ in range(30000)]
    last = tensors[-1]
    tensors.clear()
    trial.moment()
    before = resident()
    if trial.tries("malloc-trim"):
        ctypes.CDLL(None).malloc_trim(0)
    trial.freed(before - resident())
    return last


def worker(numbers):
    data = torch.ones(50 * MEBIBYTE // 4)
    os.write(numbers, b"r")
    time.sleep(600)
    return data


@program(device="cpu", asks=True)
def loading_workers(trial):
    """three child processes, as a DataLoader has them"""
    reader, writer = os.pipe()
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            worker(writer)
            os._exit(0)
        children.append(child)
    for _ in children:
        os.read(reader, 1)
    trial.moment()
    freed = 0
    for child in children:
        lines = open(f"/proc/{child}/smaps_rollup").read().splitlines()
        freed += sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("Private_Dirty:", "Private_Clean:")))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if trial.tries("child-processes"):
        trial.freed(freed)
