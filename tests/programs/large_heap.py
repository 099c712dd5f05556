"""A hundred large tensors in a list and many small ones in a long chain of objects. Takes a dump while another thread counts, and
prints what the process grew by meanwhile (bytes), how far the thread counted, how many tensors there are, and the large ones."""

import json
import re
import sys
import threading

import libtensorscope
import torch


class Node:
    def __init__(self, tensor, following):
        self.tensor = tensor
        self.following = following


def kept(field):
    with open("/proc/self/status") as status:
        return int(re.search(rf"{field}:\s+(\d+) kB", status.read())[1]) * 1024


def count_on():
    global counted
    while not done.is_set():
        counted += 1


torch.set_num_threads(1)
large = [torch.empty(10_000 + i) for i in range(100)]
chain = None
for _ in range(int(sys.argv[1])):
    chain = Node(torch.empty(2), chain)
counted = 0
done = threading.Event()
counter = threading.Thread(target=count_on)
counter.start()
with open("/proc/self/clear_refs", "w") as forget:
    forget.write("5")  # VmHWM begins anew
resident, before = kept("VmRSS"), counted
libtensorscope.dump()
grown, after = kept("VmHWM") - resident, counted
done.set()
counter.join()
print(json.dumps({"grown": grown, "counted": after - before, "tensors": len(large) + int(sys.argv[1]),
                  "large": [tensor._cdata for tensor in large]}))
