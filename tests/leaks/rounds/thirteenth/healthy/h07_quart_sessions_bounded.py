"""OrderedDict with popitem above 10: full at step 10."""
# about: Sessions of a Quart server, at most 10, the oldest go.
# kind: server with bounded sessions
# looks like: dict of sessions with states of a GRU
# library: quart
# measured: bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 266,317, rss 3072,-409
# /// healthy
# dumps = "asks"
# ///
import asyncio
from collections import OrderedDict
import torch
from torch import nn
from quart import Quart
from ask import at

torch.manual_seed(0)
app = Quart(__name__)
sessions = OrderedDict()
cell = nn.GRUCell(64, 2048)


@app.post("/say/<sid>")
async def say(sid):
    with torch.no_grad():
        sessions[sid] = cell(torch.randn(1, 64), sessions.get(sid))
    sessions.move_to_end(sid)
    while len(sessions) > 10:
        sessions.popitem(last=False)
    return {"mean": float(sessions[sid].mean())}


async def main():
    client = app.test_client()
    for i in range(1, 71):
        for k in (i, max(1, i - 1)):
            reply = await client.post(f"/say/c{k}")
        if i % 20 == 0:
            print(i, await reply.get_json(), len(sessions))
        at(i)


asyncio.run(main())
