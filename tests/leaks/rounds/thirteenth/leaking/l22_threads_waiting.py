"""Each request starts a thread that waits for an acknowledgement that nobody sends."""
# kind: threads that never end, frames and closures hold tensors, with torch, threading
# after: "threads never finish in my inference server, RSS climbs"
# fix: ack.set() after the response (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["unfinished-calls", "container", "module-cache"]
# holder = "wait_and_store"  # the waiting threads' frames (`wait_and_store`: answer); `acks` holds only events. Set each event and join the threads.
# lines = ["answer = model(x)"]
# bytes = 65536  # answer 64x256x4 = 65536; outside of tensors a thread's stack (touched pages, some 10-20 KiB); measured, bytes a step in 20..40, 40..60: tensors that gc sees 65536,65536, malloc in use 69300,69049, rss 90726,83558; with FIX: malloc 573,121, rss 0,614
# ///
import os
import threading
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
threading.stack_size(256 * 1024)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 256)).eval()
acks, stored = {}, []


def wait_and_store(ack, answer):
    ack.wait()
    stored.append(float(answer.mean()))
    del stored[:-5]


def request(i):
    x = torch.randn(64, 32)
    ack = acks[i] = threading.Event()
    with torch.no_grad():
        answer = model(x)
    thread = threading.Thread(target=wait_and_store, args=(ack, answer), daemon=True)
    thread.start()
    if os.environ.get("FIX"):
        ack.set()
        thread.join()
        del acks[i]
    return float(answer.amax())


for i in range(1, 71):
    top = request(i)
    if i % 20 == 0:
        print(i, top, "threads", threading.active_count())
    at(i)
