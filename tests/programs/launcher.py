"""A launcher as torchrun is one: it loads torch, makes no tensor of its own, and starts programs that do.

Arguments: how many, and the file at whose appearance all end.
"""

import os
import subprocess
import sys
import time

import torch.distributed


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "waiter.py")
    children = []
    for rank in range(int(sys.argv[1])):
        environment = {**os.environ, "RANK": str(rank)}
        child = subprocess.Popen([sys.executable, program, sys.argv[2]], env=environment, stdout=subprocess.PIPE, text=True)
        children.append(child)
    for child in children:
        while "ready" not in child.stdout.readline():
            pass
    print("ready", *[child.pid for child in children], flush=True)
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.01)
    for child in children:
        child.wait()


main()
