"""Suspended generators keep locals of their frames."""
# after: issue "streaming generation leaks when the client disconnects" (generators that nobody closes)
# fix: stream.close() and remove it (FIX)
# /// leak
# dumps = "asks"
# kinds = ["unfinished-calls", "container", "module-cache"]
# holder = "server.streams"  # `server.streams` (list of generators; local `state` and `hidden` of decode)
# lines = ["cache = embed(prompt)"]
# bytes = 34048  # hidden 1 x 8 x 128 x 4 = 4096 ... keys cache 64 x 128 x 4 = 32768 (local `cache`): measured 34048 by gc: cache 64x128x4 = 32768, prompt 64x8 = 512, state 512, scores 64x4 = 256
# ///
import os
import torch
from ask import at

torch.manual_seed(0)
embed = torch.nn.Embedding(256, 128)
cell = torch.nn.GRUCell(128, 128)


def decode(prompt):
    with torch.no_grad():
        cache = embed(prompt)  # LEAK
        state = cache.mean(0, keepdim=True)
    token = int(prompt[-1])
    while True:
        with torch.no_grad():
            state = cell(embed(torch.tensor([token])), state)
            scores = cache @ state[0]
            token = int(prompt[scores.argmax()])
        yield token


class Server:
    def __init__(self):
        self.streams = []

    def handle(self, prompt, n=3):
        stream = decode(prompt)
        self.streams.append(stream)
        out = [next(stream) for _ in range(n)]  # the client goes away after n tokens
        if os.environ.get("FIX"):
            stream.close()
            self.streams.remove(stream)
        return out


server = Server()
for step in range(1, 71):
    server.handle(torch.randint(0, 256, (64,)))
    at(step)
print(len(server.streams))
