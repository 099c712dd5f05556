"""The replies of all nodes are kept by round, with the weights that each node sent."""
# fedbiomed/fedbiomed#1101: Researcher component needs better memory management
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "training_replies"
# lines = ["return {name: parameter.detach().clone()"]
# bytes = 49664  # two nodes: 96 x 64 floats and 64
# ///
import copy

import torch
from torch import nn


class Node:
    def train(self, model, x):
        local = copy.deepcopy(model)
        loss = local(x).square().mean()
        gradients = torch.autograd.grad(loss, list(local.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(local.parameters(), gradients):
                parameter -= 0.01 * gradient
        return {name: parameter.detach().clone() for name, parameter in local.named_parameters()}


class Experiment:
    def __init__(self):
        self.model = nn.Linear(96, 64)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1.0)
        self.nodes = {"hospital": Node(), "clinic": Node()}
        self.training_replies = {}

    def run_once(self, number):
        self.training_replies[number] = {}
        for name, node in self.nodes.items():
            self.training_replies[number][name] = {"params": node.train(self.model, torch.randn(32, 96)), "success": True}
        replies = self.training_replies[number].values()
        for name, parameter in self.model.named_parameters():
            parameter.grad = parameter.detach() - sum(reply["params"][name] for reply in replies) / len(replies)
        self.optimizer.step()


experiment = Experiment()
for number in range(60):
    experiment.run_once(number)
