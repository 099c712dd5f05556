"""What a program of this folder is told: which remedy to apply, if any. The remedies that need no knowledge of a program (checkpoint, half
the batch, lower precision, what an optimizer does) are applied here, to whatever the advice named; the others are a branch of the program."""
import contextlib
import os
import pathlib
import sys

import torch
from torch.utils.checkpoint import checkpoint

PROGRAMS = {}


class Program:
    def __init__(self, function, device, capacity, asks):
        self.function, self.name, self.device, self.capacity, self.asks = function, function.__name__, device, capacity, asks


def program(device="cuda", settings=None, capacity=None, asks=False, imports=()):
    """`settings`: environment of every run (read by try_remedies.py). `capacity`: bytes of the device's memory with which the program
    fails; none: they are searched for. `asks`: it does not fail, but calls trial.moment(). `imports`: modules that take long to import."""
    def register(function):
        PROGRAMS[function.__name__] = Program(function, device, capacity, asks)
        return function
    return register


class Trial:
    """`kind`: of the remedy that is tried, "" for none; `subject`: what the advice named; `part`: by what each batch is divided."""

    def __init__(self, device, kind="", subject="", part=1):
        self.device, self.kind, self.subject, self.part = device, kind, subject, part
        self.applied = 0  # to how many places of the program
        self.dump = None
        self.given = None  # bytes, where the program itself measures what came back

    def tries(self, *kinds):
        """Whether the program is to do what one of these advises."""
        if self.kind in kinds:
            self.applied += 1
        return self.kind in kinds

    def moment(self):
        """A dump, under the profiler."""
        if "libtensorscope" in os.environ.get("LD_PRELOAD", ""):
            sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "include" / "tensorscope"))
            import libtensorscope
            self.dump = libtensorscope.dump()

    def freed(self, nbytes):
        self.given = nbytes

    def batch(self, size):
        size //= self.part
        assert size % 2 == 0
        return size // 2 if self.tries("smaller-batch") else size

    def autocast(self):
        return torch.autocast(self.device, dtype=torch.bfloat16) if self.tries("lower-precision") else contextlib.nullcontext()

    def optimizer(self, kind, parameters, **options):
        """What the advice says of the optimizer. On a CPU torch steps all parameters at once only where that is asked for."""
        parameters = list(parameters)
        if self.tries("less-state"):
            return torch.optim.SGD(parameters, 1e-3)
        if self.tries("step-in-backward"):
            return StepInBackward(kind, parameters, options)
        if self.tries("sharded-state"):
            from torch.distributed.optim import ZeroRedundancyOptimizer
            return ZeroRedundancyOptimizer(parameters, optimizer_class=kind, **options)
        if self.tries("fused-step"):
            options["fused"] = True
        elif self.tries("optimizer-step"):
            options["foreach"] = False
        elif self.device == "cpu":
            options["foreach"] = True
        return kind(parameters, **options)

    def ready(self, model):
        """The model, with torch.utils.checkpoint around each module that the advice named ("model.layers.*"), or in bfloat16."""
        if self.tries("half-model"):
            model.register_forward_pre_hook(in_half)
            return model.to(torch.bfloat16)
        if self.kind != "checkpoint":
            return model
        # Before it come the names of the model and of what it is wrapped in: "model.module.layers.*".
        endings = {starred(name) for name, _ in model.named_modules() if name and f".{self.subject}".endswith(f".{starred(name)}")}
        pattern = max(endings, key=len, default=None)
        for name, module in model.named_modules():
            if name and starred(name) == pattern:
                recompute(module)
                self.applied += 1
        return model


class StepInBackward:
    """An optimizer for each parameter, stepped as soon as its gradient is there."""

    def __init__(self, kind, parameters, options):
        for parameter in parameters:
            parameter.register_post_accumulate_grad_hook(stepping(kind([parameter], **options | {"foreach": False})))

    def step(self):
        """Done."""

    def zero_grad(self):
        """Done."""


def stepping(optimizer):
    def step(_):
        optimizer.step()
        optimizer.zero_grad()
    return step


def in_half(_, inputs):
    return tuple(one.to(torch.bfloat16) if torch.is_tensor(one) and one.is_floating_point() else one for one in inputs)


def starred(path):
    return ".".join("*" if part.isdigit() else part for part in path.split("."))


def recompute(module):
    forward = module.forward
    module.forward = lambda *arguments, **named: checkpoint(forward, *arguments, use_reentrant=False, **named)
