"""Runs a program of this folder on the CPU, with and without a remedy in turn, each twice (or "rounds" times), and says what a step took and what the losses
were: one line of JSON, [without, with]. Started by prices.py. Processor time of one thread: other programs of the machine do not count."""
import gc
import json
import sys
import time

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

import one_run


class Clock:
    """When backward began and optimizers stepped, and the losses."""

    def __init__(self):
        self.events, self.losses = [], []
        backward = torch.Tensor.backward

        def timed(loss, *arguments, **named):
            self.losses.append(loss.item())
            self.events.append(("backward", time.process_time()))
            result = backward(loss, *arguments, **named)
            self.events.append(("done", time.process_time()))
            return result

        torch.Tensor.backward = timed
        register_optimizer_step_post_hook(lambda *_: self.events.append(("done", time.process_time())))

    def started(self):
        self.events, self.losses = [("begin", time.process_time())], []

    def result(self, applied):
        """A step is from one backward to the next: its own, the optimizer, the next forward pass."""
        end = time.process_time()
        begun = [at for what, at in self.events if what == "backward"]
        forward = [at - before for (_, before), (what, at) in zip(self.events[1:], self.events[2:]) if what == "backward"]
        if len(begun) < 2:
            return {"step": end - self.events[0][1], "forward": 0, "losses": self.losses, "applied": applied}
        return {"step": (begun[-1] - begun[0]) / (len(begun) - 1), "forward": min(forward),
                "losses": self.losses, "applied": applied}


def ran(trials, asked, clock, kind):
    gc.collect()
    torch.manual_seed(0)
    trial = trials.Trial("cpu", kind, asked["subject"] if kind else "")
    clock.started()
    trials.PROGRAMS[asked["program"]].function(trial)
    return clock.result(trial.applied)


def main():
    asked = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    trials = one_run.import_program(asked)
    clock = Clock()
    runs = [[ran(trials, asked, clock, kind) for kind in ("", asked["kind"])] for _ in range(asked.get("rounds", 2))]
    best = []
    for pair in zip(*runs):
        best.append(min(pair, key=lambda one: one["step"]))
        best[-1]["forward"] = min(one["forward"] for one in pair)
    print(json.dumps(best))


if __name__ == "__main__":
    main()
