"""Modules that return structures of all kinds; needs TENSORSCOPE_MODULE_OUTPUTS=1. Writes which tensor came out of which call in
which place to $TRUTH_DIR/outputs.json."""
import collections
import dataclasses
import json
import os
import weakref

import libtensorscope
import module_calls_seen
import torch
from torch import nn

module_calls_seen.wait()

Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Hidden:
    last: torch.Tensor
    states: tuple


@dataclasses.dataclass
class Slotted:
    __slots__ = ("only",)
    only: torch.Tensor


class ModelOutput(collections.OrderedDict):
    """As that of transformers: a dict whose methods are not to be called."""

    def __getitem__(self, key):
        raise RuntimeError("looked at")

    __iter__ = items = keys = values = __len__ = __getattribute__ = __getitem__


@dataclasses.dataclass
class Fields(collections.OrderedDict):
    """The same with fields, as they are now."""
    logits: torch.Tensor = None


class Layer:
    def __init__(self, x):
        self.keys, self.values = x + 1, x + 2


class Cache:
    def __init__(self, x):
        self.layers = [Layer(x), Layer(x)]
        self.seen, self.module = 3, nn.Linear(2, 2)


class Opaque:
    def __init__(self, tensor):
        self.tensor = tensor


class Returns(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, x):
        return self.make(x)


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.weight = nn.Parameter(torch.ones(4))
        self.inner = Returns(lambda x: {"logits": x + 1, "hidden": [x + 2, (x + 3,)], 7: x + 4})

    def forward(self, x):
        return self.layers(x), self.inner(x), None, 3


def model_output(x):
    made = ModelOutput()
    collections.OrderedDict.__setitem__(made, "logits", x * 2)
    return made


def deep(x):
    for _ in range(20):
        x = [x]
    return x


known = {}


def returned(tensor, *names):
    known[tensor._cdata] = list(names)


x = torch.ones(4)
outer = Outer()
kept = outer(x)
returned(kept[0], "outer.out[0]", "outer.layers.out", "outer.layers.1.out")
returned(kept[1]["logits"], "outer.out[1]['logits']", "outer.inner.out['logits']")
returned(kept[1]["hidden"][0], "outer.out[1]['hidden'][0]", "outer.inner.out['hidden'][0]")
returned(kept[1]["hidden"][1][0], "outer.out[1]['hidden'][1][0]", "outer.inner.out['hidden'][1][0]")
returned(kept[1][7], "outer.out[1][7]", "outer.inner.out[7]")
pairs = Returns(lambda x: Pair(x + 1, [x + 2]))
pair = pairs(x)
returned(pair.left, "pairs.out.left")
returned(pair.right[0], "pairs.out.right[0]")
classes = Returns(lambda x: Hidden(x + 1, (x + 2,)))
hidden = classes(x)
returned(hidden.last, "classes.out.last")
returned(hidden.states[0], "classes.out.states[0]")
slots = Returns(lambda x: Slotted(x + 1))
slotted = slots(x)
returned(slotted.only, "slots.out.only")
library = Returns(model_output)
output = library(x)
returned(collections.OrderedDict.__getitem__(output, "logits"), "library.out['logits']")
opaque = Returns(Opaque)
nothing = opaque(x + 1)
returned(nothing.tensor, "opaque.out.tensor")
def with_entry(x):
    made = Fields(logits=x * 2)
    made["logits"] = made.logits
    return made


with_fields = Returns(with_entry)
fields = with_fields(x)
returned(fields.logits, "with_fields.out.logits")
cached = Returns(lambda x: {"past": Cache(x)})
cache = cached(x)
returned(cache["past"].layers[1].keys, "cached.out['past'].layers[1].keys")
returned(cache["past"].layers[0].values, "cached.out['past'].layers[0].values")
returned(cache["past"].module.weight)
sunk = Returns(deep)
bottom = sunk(x + 1)
inside = bottom
while isinstance(inside, list):
    (inside,) = inside
returned(inside)
weights = Returns(lambda _: outer.weight)
for _ in range(5000):  # the same tensor each time, and others that do not stay
    weights(x)
    sunk(x)
    outer.layers(x)
returned(outer.weight, "weights.out")
gone = Returns(lambda x: x + 1)
left_behind = gone(x)
returned(left_behind)
alive = weakref.ref(gone), weakref.ref(gone(x))
del gone
assert [reference() for reference in alive] == [None, None]
for _ in range(100):  # in the place of the one that is gone
    nn.Identity()
many = Returns(lambda x: [x + i for i in range(300)])
crowd = many(x)
returned(crowd[0], "many.out[0]")
returned(crowd[-1])

with open(os.path.join(os.environ["TRUTH_DIR"], "outputs.json"), "w") as file:
    json.dump({"outputs": known, "dumps": [libtensorscope.dump(), libtensorscope.dump()]}, file)
