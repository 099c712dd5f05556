"""A server with Quart keeps the state of each conversation for ever."""
# kind: dict of a web application, tensors, with quart
# after: "memory of my async inference server grows with each client" (session store without expiry)
# fix: app.sessions.pop(sid) after the last answer (here: when the client says bye) (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "app.sessions"  # app.sessions (attribute of the application: dict id -> state)
# lines = ["out, h = cell(e.unsqueeze(1), h)", "e = embed(tokens)"]  # h, prompt
# bytes = 16384  # h 2x1x1024x4 = 8192, and the prompt's embedding 8x256x4 = 8192: 16384; measured, bytes a step in 20..40, 40..60: tensors that gc sees 16384,16384, malloc in use 17588,17410, rss 24985,26624; with FIX: malloc 412,260, rss 819,2457
# ///
import asyncio
import logging
import os
import torch
from torch import nn
from quart import Quart, request
from ask import at

logging.disable(logging.WARNING)
torch.manual_seed(0)
app = Quart(__name__)
app.sessions = {}
embed, cell = nn.Embedding(100, 256), nn.GRU(256, 1024, num_layers=2)


def advance(tokens, h):
    with torch.no_grad():
        e = embed(tokens)
        out, h = cell(e.unsqueeze(1), h)
    return e, h


@app.post("/say/<sid>")
async def say(sid):
    body = await request.get_json()
    state = app.sessions.get(sid)
    e, h = advance(torch.tensor(body["tokens"]), state["h"] if state else None)
    app.sessions[sid] = {"h": h, "prompt": e}
    if body.get("bye") and os.environ.get("FIX"):
        del app.sessions[sid]
    return {"mean": float(h.mean())}


async def main():
    client = app.test_client()
    for i in range(1, 71):
        for bye in (False, True):
            reply = await client.post(f"/say/client{i}", json={"tokens": [i % 100] * 8, "bye": bye})
            assert reply.status_code == 200
        if i % 20 == 0:
            print(i, (await reply.get_json())["mean"], "sessions", len(app.sessions))
        at(i)


asyncio.run(main())
