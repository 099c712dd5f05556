"""Tensors that are made before, between and after libtensorscope.stop() and start(). Arguments: where it is stopped from
("inside": by the module; else a folder with files that say what happened and are waited for).

Writes TRUTH_DIR/{1,2,3}.json: what torch says is alive, at each moment.
"""

import pathlib
import sys
import time

import libtensorscope
import torch

import truth

KEPT = []


def made_before():
    return [torch.ones(100 + i) for i in range(20)]


def made_meanwhile():
    return [torch.ones(200 + i, requires_grad=True).exp() for i in range(20)]


def made_after():
    return [torch.ones(300 + i) for i in range(20)]


def switch(name):
    if sys.argv[1] == "inside":
        getattr(libtensorscope, name)()
        return
    print(name, flush=True)
    done = pathlib.Path(sys.argv[1], name)
    while not done.exists():
        time.sleep(0.01)


def main():
    before = made_before()
    truth.moment("1")
    switch("stop")
    meanwhile = made_meanwhile()
    del before[:10]  # these die unseen by no table
    truth.moment("2")
    switch("start")
    after = made_after()
    del meanwhile[:5]
    truth.moment("3")
    KEPT.extend([before, meanwhile, after])


main()
