"""Dumps of a training at three moments of its third step: after forward, in the middle of backward, after the optimizer's step."""

import libtensorscope

LAST = 2  # the step, from 0 on


class Moments:
    """`step()` is called at the beginning of each step; the paths of the dumps stand in `paths`."""

    def __init__(self, parameters=()):
        self.number, self.paths = -1, {}
        parameters = [parameter for parameter in parameters if parameter.requires_grad]
        if parameters:
            parameters[len(parameters) // 2].register_post_accumulate_grad_hook(lambda parameter: self.at("backward"))

    def step(self):
        self.number += 1

    def at(self, moment):
        if self.number == LAST and moment not in self.paths:
            self.paths[moment] = libtensorscope.dump()


def train(model, optimizer, loss_of, more_to_do=lambda: None):
    """The loop that most programs have."""
    moments = Moments(model.parameters())
    for _ in range(LAST + 1):
        moments.step()
        optimizer.zero_grad()
        loss = loss_of(model)
        moments.at("forward")
        loss.backward()
        optimizer.step()
        more_to_do()
        moments.at("after the step")
    return moments
