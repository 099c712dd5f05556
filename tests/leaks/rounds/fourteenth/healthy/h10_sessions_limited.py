"""Serving with falcon; hidden states by session in an OrderedDict that drops the oldest over 10: full at step 10. Every step adds a new session and drops one."""
# library: falcon
# /// healthy
# dumps = "asks"
# ///
import uuid
from collections import OrderedDict
import falcon
import falcon.testing
import torch
from torch import nn
from ask import at

torch.manual_seed(0)


class Generate:
    def __init__(self):
        self.rnn = nn.GRU(32, 128, num_layers=2, batch_first=True)
        self.sessions = OrderedDict()

    def on_post(self, req, resp):
        body = req.media
        x = torch.tensor(body["inputs"]).view(1, -1, 32)
        with torch.no_grad():
            out, state = self.rnn(x, self.sessions.get(body["session"]))
        self.sessions[body["session"]] = state
        self.sessions.move_to_end(body["session"])
        while len(self.sessions) > 10:
            self.sessions.popitem(last=False)
        resp.media = {"mean": out.mean().item()}


app = falcon.App()
generate = Generate()
app.add_route("/generate", generate)
client = falcon.testing.TestClient(app)
for i in range(1, 101):
    session = str(uuid.uuid4())
    for _ in range(2):
        client.simulate_post("/generate", json={"session": session, "inputs": torch.randn(24 * 32).tolist()})
    at(i)
print(len(generate.sessions))
