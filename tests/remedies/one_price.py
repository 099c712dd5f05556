"""Runs a program of this folder on the CPU, as it is and with each of some remedies in turn, and says what a step took and what the losses were:
one line of JSON, first of the program as it is. Started by prices.py. Processor time of one thread: other programs of the machine do not count.

All are run twice ("rounds"), and the lower time counts. Where the second backward of the program as it is begins later than LONG, each run ends
there (a step is what lies between two), and there is one round."""
import gc
import json
import sys
import time
import traceback

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

import one_run

LONG = 5  # seconds


class EndOfRun(BaseException):
    """No library that runs the loop takes it for a failure."""


class Clock:
    """When backward began and optimizers stepped, the losses, and the time in modules that checkpointing was put around."""

    def __init__(self):
        self.short, self.in_backward = False, False
        self.started()
        backward = torch.Tensor.backward

        def timed(loss, *arguments, **named):
            self.losses.append(loss.item())
            self.events.append(("backward", time.process_time()))
            if len(self.losses) == 2:
                self.short = self.short or self.events[-1][1] - self.events[0][1] > LONG
                if self.short:
                    raise EndOfRun
            self.in_backward = True
            try:
                return backward(loss, *arguments, **named)
            finally:
                self.in_backward = False
                self.events.append(("done", time.process_time()))

        torch.Tensor.backward = timed
        register_optimizer_step_post_hook(lambda *_: self.events.append(("done", time.process_time())))

    def started(self):
        self.events, self.losses = [("begin", time.process_time())], []
        self.modules = 0

    def timing(self, recompute):
        """What puts checkpointing around a module, and counts the time of its forward passes but those of backward."""
        def wrapped(module):
            forward = module.forward

            def timed(*arguments, **named):
                begun = time.process_time()
                try:
                    return forward(*arguments, **named)
                finally:
                    if not self.in_backward:
                        self.modules += time.process_time() - begun

            module.forward = timed
            recompute(module)

        return wrapped

    def result(self, applied):
        """A step is from one backward to the next: its own, the optimizer, the next forward pass."""
        end = time.process_time()
        begun = [at for what, at in self.events if what == "backward"]
        forward = [at - before for (_, before), (what, at) in zip(self.events[1:], self.events[2:]) if what == "backward"]
        result = {"losses": self.losses, "applied": applied, "modules": self.modules / max(1, len(begun))}
        if len(begun) < 2:
            return result | {"step": end - self.events[0][1], "forward": 0}
        return result | {"step": (begun[-1] - begun[0]) / (len(begun) - 1), "forward": min(forward)}


def ran(trials, asked, clock, kind, subject):
    gc.collect()
    torch.manual_seed(0)
    trial = trials.Trial("cpu", kind, subject, asked.get("part", 1))
    clock.started()
    returned = None
    try:
        returned = trials.PROGRAMS[asked["program"]].function(trial)
    except EndOfRun:
        pass
    except Exception:
        return {"error": traceback.format_exc().strip().splitlines()[-1], "step": float("inf")}
    result = clock.result(trial.applied)
    if torch.is_tensor(returned):
        result["losses"] += returned.flatten().tolist()
    return result


def main():
    asked = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    trials = one_run.import_program(asked)
    clock = Clock()
    trials.recompute = clock.timing(trials.recompute)
    tried, runs = [("", "")] + asked["remedies"], []
    while len(runs) < (1 if clock.short else asked.get("rounds", 2)):
        runs.append([ran(trials, asked, clock, *one) for one in tried])
    best = []
    for same in zip(*runs):
        best.append(min(same, key=lambda one: one["step"]) | {part: min(one.get(part, 0) for one in same) for part in ("forward", "modules")})
    print(json.dumps(best))


if __name__ == "__main__":
    main()
