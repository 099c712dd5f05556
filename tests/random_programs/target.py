#!/usr/bin/env python3
"""Runs random programs in one process. What each knows of its tensors goes to FOLDER/truth.jsonl, a line for each look.

    target.py FOLDER SEED...           # those of statements.py
    target.py FOLDER --files FILE...   # those in files, a statement a line

A look is a dump, or a moment of the recording. What is alive is what Python's garbage collector knows, and what hangs on that without a
Python object of its own: gradients, bases of views, parts of sparse tensors.
"""

import copy
import gc
import json
import os
import pathlib
import pickle
import re
import signal
import sys
import threading
import time
import traceback
import warnings
import weakref

import numpy
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import statements

try:
    import libtensorscope
except ImportError:
    libtensorscope = None  # without the preload: to see whether a program ends by itself

CHURN = 1009  # the first size of tensors that other threads make and free while the program looks
SETTLE_S = 0.003  # so far a moment of the recording is from the events before and after it


class Plain(torch.Tensor):
    pass


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
        raise NotImplementedError(str(function))


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.held = x.detach() * 2
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class Cycle:
    def __init__(self, tensor):
        self.me, self.tensor = self, tensor


def fail(tensor):
    more = tensor[0:1]
    raise ValueError(f"on purpose, with {more.ndim} dimensions in a variable")


def error_of(call):
    try:
        call()
    except Exception as error:
        return error


def paused(tensor):
    def generator():
        inner = tensor.detach()
        yield 1
        yield inner
    made = generator()
    next(made)
    return made


def in_thread(call):
    result = []

    def body():
        try:
            result.append(call())
        except Exception:
            pass
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    return result.pop()


def inference(call):
    with torch.inference_mode():
        return call()


def vmapped(tensor):
    return torch.vmap(lambda x: x * 2)(tensor)


def fake(shape):
    with FakeTensorMode():
        return torch.empty(shape)


class Program:
    """One program: its variables, what it knows of memory that is not torch's, and its looks."""

    def __init__(self, seed, folder, out):
        self.seed, self.folder, self.out = seed, folder, out
        self.foreign = {}  # data pointer: number of living arrays there
        self.lives = []  # of each tensor its address, what it was from which statement on, and after which it was gone
        self.living = {}  # address: number of its life
        self.awaited = None  # the look of a dump that is being written while the program goes on
        self.threads, self.churners, self.stop = [], [], threading.Event()
        self.step = 0
        self.variables = {
            "torch": torch, "gc": gc, "copy": copy, "pickle": pickle, "weakref": weakref, "kept": [], "Plain": Plain, "Wrapper": Wrapper, "Twice": Twice,
            "fail": fail, "error_of": error_of, "paused": paused, "in_thread": in_thread, "inference": inference, "vmapped": vmapped, "fake": fake,
            "in_cycle": Cycle, "file_name": self.file_name, "from_numpy": self.from_numpy, "from_buffer": self.from_buffer,
            "through_numpy": self.through_numpy, "same_array_twice": self.same_array_twice, "saved_and_loaded": self.saved_and_loaded, "waiting_thread": self.waiting_thread,
            "churn": self.churn, "look": self.look}

    def file_name(self):
        path = self.folder / "mapped"
        path.unlink(missing_ok=True)  # what has mapped the one before keeps it
        path.write_bytes(bytes(4096))
        return str(path)

    def remember(self, owner, pointer):
        """Memory at `pointer` is `owner`'s as long as that lives."""
        self.foreign[pointer] = self.foreign.get(pointer, 0) + 1

        def forget():
            self.foreign[pointer] -= 1
        weakref.finalize(owner, forget)

    def from_numpy(self, shape):
        array = numpy.zeros(shape, dtype=numpy.float32)
        self.remember(array, array.ctypes.data)
        return torch.from_numpy(array)

    def through_numpy(self, tensor):
        """An array over memory of torch's; of a functional tensor numpy would make a copy of its own."""
        if torch._is_functional_tensor(tensor):
            raise TypeError("numpy copies it")
        return torch.from_numpy(tensor.detach().clone().numpy())

    def same_array_twice(self, size):
        array = numpy.zeros(size)
        self.remember(array, array.ctypes.data)
        self.variables["kept"].append(torch.from_numpy(array[:1]))
        return torch.from_numpy(array)

    def from_buffer(self, size):
        array = numpy.zeros(size, dtype=numpy.uint8)
        self.remember(array, array.ctypes.data)
        return torch.frombuffer(memoryview(array), dtype=torch.float32)

    def saved_and_loaded(self, tensor):
        path = self.folder / "saved.pt"
        torch.save(tensor, path)
        return torch.load(path, weights_only=False)

    def waiting_thread(self, tensor):
        """A thread that holds a tensor until the program ends."""
        ready = threading.Event()

        def body(held):
            ready.set()
            self.stop.wait()
        thread = threading.Thread(target=body, args=(tensor.detach(),))
        thread.start()
        ready.wait()
        self.threads.append(thread)
        return thread.name

    def churn(self, count):
        """Threads that make and free tensors all the time; without an argument of more than 0 they end."""
        if self.churners:
            self.quiet.set()
            for thread in self.churners:
                thread.join()
            self.churners = []
        self.quiet = threading.Event()

        def body(quiet):
            while not quiet.is_set():
                one = torch.ones(CHURN, 2)
                two = one[:, 0]
                two.resize_(CHURN)
                del one, two
                time.sleep(0.0005)
        self.churners = [threading.Thread(target=body, args=(self.quiet,)) for _ in range(count)]
        for thread in self.churners:
            thread.start()

    def run(self, lines):
        for self.step, line in enumerate(lines):
            try:
                self.refuse_what_torch_does_not_check(line)
                exec(line, self.variables)
            except Exception as error:
                if os.environ.get("SHOW_ERRORS"):
                    print(f"{line}\n    {type(error).__name__}: {error}", file=sys.stderr)
                error.__traceback__ = None
                error = None
            self.see_states()
            self.take_what_was_awaited()
        self.step = len(lines)
        self.end()

    def refuse_what_torch_does_not_check(self, line):
        """Torch reads where a tensor says that its elements are, also where a smaller storage has none: the program would end, with or without us."""
        living = list(tensors())
        fits = all(map(has_its_memory, living))
        if not fits and not re.search(r"resize_|set_\(|\.data =|^del|= None|pop|clear|look|collect", line):
            raise MemoryError("a tensor without its memory is there")
        if re.search(r"resize_|set_\(", line) and any(tensor.layout is not torch.strided or tensor.is_nested or tensor.grad_fn is not None for tensor in living):
            raise MemoryError("a graph or a tensor of others may read this memory")

    def end(self):
        """Everything is freed, and the last look finds nothing."""
        self.churn(0)
        self.stop.set()
        for thread in self.threads:
            thread.join()
        for name in [name for name in self.variables if name.startswith("v") and name[1:].isdigit()] + ["kept", "i"]:
            self.variables.pop(name, None)
        gc.collect()
        self.look("call", last=True)
        self.write({"program": self.seed, "kind": "lives", "lives": self.lives})

    def see_states(self):
        living = {}
        for tensor in tensors():
            number = self.living.get(tensor._cdata, len(self.lives))
            living[tensor._cdata] = number
            state = state_of(tensor)
            if number == len(self.lives):
                self.lives.append({"address": tensor._cdata, "states": [], "gone": None})
            states = self.lives[number]["states"]
            if not states or states[-1][1] != state:
                states.append([self.step, state])
        for address in self.living.keys() - living.keys():
            self.lives[self.living[address]]["gone"] = self.step
        self.living = living

    def look(self, kind, last=False):
        if libtensorscope is None:
            return
        self.take_what_was_awaited(wait=True)
        self.see_states()
        here = list(tensors())
        known = [{"address": tensor._cdata, "python": type(tensor).__name__, "life": self.living[tensor._cdata], **state_of(tensor)} for tensor in here]
        del here
        row = {"program": self.seed, "pid": os.getpid(), "step": self.step, "kind": kind, "last": last, "churn": len(self.churners), "tensors": known, "storages": storages(),
               "foreign": [pointer for pointer, count in self.foreign.items() if count > 0]}
        if kind == "child" and not self.churners and not self.threads:
            child = os.fork()
            if child == 0:
                row["dump"], row["pid"] = libtensorscope.dump(), os.getpid()
                self.write(row)
                os._exit(0)
            os.waitpid(child, 0)
            return
        if kind == "meanwhile":
            self.awaited = {**row, "tensors": [], "storages": []}, self.dumps()
            os.kill(os.getpid(), signal.SIGUSR1)
            return
        if kind == "signal":
            row["dump"] = self.by_signal()
        elif kind == "recording":
            time.sleep(SETTLE_S)
            row["dump"], row["time"] = None, time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            time.sleep(SETTLE_S)
        else:
            row["dump"] = libtensorscope.dump()
        self.write(row)

    def dumps(self):
        return set(self.folder.glob("*.tscope"))

    def by_signal(self):
        before = self.dumps()
        os.kill(os.getpid(), signal.SIGUSR1)
        while self.dumps() == before:
            time.sleep(0.002)
        return str((self.dumps() - before).pop())

    def take_what_was_awaited(self, wait=False):
        """Writes the look of a dump for which nobody waited, once that is there."""
        while self.awaited is not None:
            row, before = self.awaited
            new = self.dumps() - before
            if new:
                self.write({**row, "dump": str(new.pop()), "until": self.step})
                self.awaited = None
            elif wait:
                time.sleep(0.002)
            else:
                return

    def write(self, row):
        self.out.write(json.dumps(row) + "\n")
        self.out.flush()


def parts_of(tensor):
    """What hangs on a tensor."""
    for read in (lambda: tensor.grad, lambda: tensor._base):
        try:
            part = read()
        except Exception:  # not every kind of tensor has these
            continue
        if isinstance(part, torch.Tensor):
            yield part


def tensors():
    """All living tensors that Python can tell, each once; churning threads' left out."""
    found, todo = {}, [thing for thing in gc.get_objects() if issubclass(type(thing), torch.Tensor)]
    while todo:
        tensor = todo.pop()
        if tensor._cdata in found:
            continue
        found[tensor._cdata] = tensor
        todo += parts_of(tensor)
    return [tensor for tensor in found.values() if not is_churned(tensor)]


def is_churned(tensor):
    try:
        return tensor.dim() > 0 and tensor.shape[0] == CHURN
    except Exception:
        return False


def has_its_memory(tensor):
    try:
        if tensor.layout is not torch.strided or tensor.numel() == 0 or str(tensor.device) != "cpu" or tensor.is_nested:
            return True
        last = tensor.storage_offset() + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
        return (last + 1) * tensor.element_size() <= tensor.untyped_storage().nbytes()
    except Exception:  # it has no storage
        return True


def storages():
    """Of each storage that Python has an object for: where its memory is, and how much."""
    found = []
    for storage in [thing for thing in gc.get_objects() if type(thing) is torch.UntypedStorage]:
        try:
            found.append([storage.data_ptr(), storage.nbytes()])
        except RuntimeError:  # that of a tensor without memory
            pass
    return found


def state_of(tensor):
    """What a dump has to say of it. Exotic kinds refuse some of that."""
    state = {}

    def put(name, read):
        try:
            state[name] = read()
        except Exception:
            pass

    put("requires_grad", lambda: tensor.requires_grad)
    put("is_leaf", lambda: tensor.is_leaf)
    if isinstance(tensor, (Wrapper, torch._subclasses.FakeTensor)) or torch._is_functional_tensor(tensor):
        return state  # what Python says of such a tensor is not what its C++ object holds
    put("dtype", lambda: str(tensor.dtype).split(".")[-1])
    put("layout", lambda: str(tensor.layout).split(".")[-1].lstrip("_"))
    put("device", lambda: str(tensor.device))
    if not tensor.is_nested:
        put("shape", lambda: list(tensor.shape))
    put("version", lambda: tensor._version)
    put("grad_address", lambda: tensor.grad._cdata if tensor.grad is not None else None)
    if tensor.layout is torch.strided:
        if not tensor.is_nested:
            put("strides", lambda: list(tensor.stride()))
            put("storage_offset", lambda: tensor.storage_offset())
        put("is_view", lambda: tensor._is_view())
        if str(tensor.device) == "cpu":
            put("storage", lambda: [tensor.untyped_storage().data_ptr(), tensor.untyped_storage().nbytes()])
    return state


def load_all_of_torch():
    """What torch imports late is many objects, and what it keeps for ever is nobody's leak: both before the first program."""
    fake((2,))
    vmapped(torch.ones(2, 2))
    copy.deepcopy(torch.ones(1))
    torch.nested.nested_tensor([torch.zeros(1)])
    torch.autograd.grad(torch.ones(1, requires_grad=True).exp().sum(), [torch.ones(1, requires_grad=True)], allow_unused=True)
    torch.eye(2).to_sparse().to_dense()
    torch._to_functional_tensor(torch.ones(1))


def main():
    folder = pathlib.Path(sys.argv[1])
    if sys.argv[2] == "--files":
        programs = [(name, pathlib.Path(name).read_text().splitlines()) for name in sys.argv[3:]]
    else:
        programs = [(int(seed), statements.Generator(int(seed)).program()) for seed in sys.argv[2:]]
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    load_all_of_torch()
    gc.collect()
    gc.freeze()  # what was there before is not looked at again and again
    with open(folder / "truth.jsonl", "w") as out:
        Program("begin", folder, out).look("call")
        for seed, lines in programs:
            (folder / "running").write_text(json.dumps(seed))
            Program(seed, folder, out).run(lines)


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        sys.exit(1)
