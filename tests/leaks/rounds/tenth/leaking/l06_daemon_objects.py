"""An inference server that registers a result object per request with its Pyro daemon, for the client to read later."""
# kind: Registry of a server (dict by object id); tensors, no optimizer, with Pyro5.
# after: "Pyro5 daemon never releases registered objects" (forgotten `daemon.unregister`)
# fix: `daemon.unregister(result)` once it was read (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "server.daemon.objectsById"  # `server.daemon.objectsById` (dict: id -> Result; Result.logits is the tensor)
# lines = ["result = Result(self.model(request))"]
# bytes = 64000  # 64 x 250 float32 = 64000 a step; measured 62.5 KiB (64000)
# ///
import os

import Pyro5.api
import torch
from torch import nn

from ask import at


@Pyro5.api.expose
class Result:
    def __init__(self, logits):
        self.logits = logits

    def top(self, row):
        return int(self.logits[row].argmax())


class Server:
    def __init__(self):
        self.daemon = Pyro5.api.Daemon(host="127.0.0.1")
        self.model = nn.Sequential(nn.Linear(300, 300), nn.ReLU(), nn.Linear(300, 250)).eval()

    def predict(self, request):
        with torch.inference_mode():
            result = Result(self.model(request))
        self.daemon.register(result)
        return result

    def finish(self, result):
        if os.environ.get("FIX"):
            self.daemon.unregister(result)


def main():
    torch.manual_seed(0)
    server = Server()
    hits = 0
    for i in range(1, 101):
        result = server.predict(torch.randn(64, 300))
        hits += result.top(0) == 3
        server.finish(result)
        at(i)
    print(hits, "hits")
    server.daemon.close()


if __name__ == "__main__":
    main()
