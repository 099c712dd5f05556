"""A client that stops reading leaves the generating thread blocked on a full queue, with its key-value cache."""
# oobabooga/textgen#189: New streaming method (much faster)
# /// leak
# dumps = "requests"
# kinds = ["unfinished-calls"]
# holder = "keys"
# lines = ["keys = torch.randn("]
# bytes = 32768  # 128 x 64 floats
# ///
import queue
import sys
import threading

import torch


def generate(out):
    keys = torch.randn(128, 64)
    for token in range(100):
        out.put((keys[token % 128] @ keys.T).argmax().item())


def stream():
    out = queue.Queue(maxsize=4)
    threading.Thread(target=generate, args=(out,), daemon=True).start()
    while True:
        yield out.get()


for line in sys.stdin:
    tokens = stream()
    print([next(tokens) for _ in range(3)], flush=True)
