"""no_grad holds for one thread only: the thread that generates carries its state on with the graph of every frame."""
# kyutai-labs/pocket-tts#16: Fix memory leak by using no_grad in all threads
# /// leak
# dumps = "requests"
# kinds = ["state-not-detached"]
# holder = "state"
# lines = ["state = torch.tanh("]
# bytes = [16384, 49152]  # states of 32 x 128 floats, sums and products of that size, frames
# ///
import queue
import sys
import threading

import torch
from torch import nn


class FlowModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(128, 128), nn.Linear(128, 128)

    def generate(self, texts, frames):
        state = torch.zeros(32, 128)
        while (text := texts.get()) is not None:
            state = torch.tanh(self.inner(state) + self.outer(text))
            frames.put(state.mean().item())


@torch.no_grad()
def serve():
    texts, frames = queue.Queue(), queue.Queue()
    thread = threading.Thread(target=FlowModel().generate, args=(texts, frames))
    thread.start()
    for line in sys.stdin:
        texts.put(torch.randn(32, 128))
        print(frames.get(), flush=True)
    texts.put(None)
    thread.join()


serve()
