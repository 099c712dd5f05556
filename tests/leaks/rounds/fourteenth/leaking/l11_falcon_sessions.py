"""Dict attribute of a falcon resource."""
# after: serving: recurrent state per session, clients never say goodbye
# fix: client.simulate_delete / drop idle sessions (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "generate.sessions"
# lines = ["out, state = self.rnn(x, state[\"hidden\"] if state else None)"]
# bytes = 13312  # 13,312 measured: out 1x24x128x4 = 12,288 + state 2x1x128x4 = 1,024; malloc 14,900
# ///
import os
import uuid
import falcon
import falcon.testing
import torch
from torch import nn
from ask import at

torch.manual_seed(0)


class Generate:
    def __init__(self):
        self.rnn = nn.GRU(32, 128, num_layers=2, batch_first=True)
        self.sessions = {}

    def on_post(self, req, resp):
        body = req.media
        state = self.sessions.get(body["session"])
        x = torch.tensor(body["inputs"]).view(1, -1, 32)
        with torch.no_grad():
            out, state = self.rnn(x, state["hidden"] if state else None)
        self.sessions[body["session"]] = {"hidden": state, "context": out}
        resp.media = {"mean": out.mean().item()}

    def on_delete(self, req, resp, session):
        self.sessions.pop(session, None)
        resp.status = falcon.HTTP_204


app = falcon.App()
generate = Generate()
app.add_route("/generate", generate)
app.add_route("/sessions/{session}", generate)
client = falcon.testing.TestClient(app)
for i in range(1, 101):
    session = str(uuid.uuid4())
    for _ in range(2):
        reply = client.simulate_post("/generate", json={"session": session, "inputs": torch.randn(24 * 32).tolist()})
        assert reply.status_code == 200
    if os.environ.get("FIX"):
        client.simulate_delete(f"/sessions/{session}")
    at(i)
print(len(generate.sessions))
