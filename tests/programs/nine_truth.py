"""What a program of the nine kinds knows of its own memory: for each storage what it is for, written next to a dump.

Truth comes from torch alone: a model's parameters and buffers, their .grad, an optimizer's state, what the graph saved, and what
the program keeps in containers of its own.
"""
import json
import os

import torch

import libtensorscope


class Truth:
    def __init__(self, rank=""):
        self.rank = rank
        self.storages = {}  # data pointer -> [category, bytes]

    def add(self, category, tensors):
        """The first word about a storage counts."""
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor) and tensor.device.type == "cpu":
                storage = tensor.untyped_storage()
                if storage.nbytes():
                    self.storages.setdefault(storage.data_ptr(), [category, storage.nbytes()])
        return self

    def model(self, *models):
        for model in models:
            self.add("parameter", model.parameters())
            self.add("buffer", model.buffers())
            self.add("gradient", (parameter.grad for parameter in model.parameters()))
        return self

    def optimizer(self, *optimizers):
        for optimizer in optimizers:
            for entries in optimizer.state.values():
                self.add("optimizer state", entries.values())
        return self

    def dump(self, name):
        path = libtensorscope.dump()
        with open(os.path.join(os.environ["TRUTH_DIR"], f"{name}{self.rank}.json"), "w") as file:
            json.dump({"dump": path, "storages": self.storages}, file)
