"""OrderedDict with at most 8 sessions, full after step 8; every request opens a new session."""
# report: "FastAPI serving: is my session store leaking?": KV caches by session id in app.state, the oldest is evicted above 8
# library: fastapi
# /// healthy
# dumps = "asks"
# ///
import asyncio
from collections import OrderedDict

import torch
import torch.nn as nn
from fastapi import FastAPI, Request
from ask import at

app = FastAPI()
app.state.sessions = OrderedDict()
torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(32, 2, 64, batch_first=True).eval()


@app.get("/chat/{session}")
async def chat(session: str, request: Request):
    sessions = request.app.state.sessions
    with torch.inference_mode():
        past = sessions.pop(session, torch.zeros(1, 0, 32))
        states = layer(torch.randn(1, 300, 32))
        sessions[session] = torch.cat([past, states], 1)[:, -400:]
    while len(sessions) > 8:
        sessions.popitem(last=False)
    return {"session": session, "length": sessions[session].shape[1]}


async def call(path):
    sent = []
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "path": path, "raw_path": path.encode(),
             "query_string": b"", "headers": [], "client": ("127.0.0.1", 1), "server": ("test", 80), "scheme": "http", "root_path": ""}

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    return sent[-1]["body"]


async def main():
    for i in range(1, 71):
        body = await call(f"/chat/s{i}")
        body = await call(f"/chat/s{i}")
        if i % 20 == 0:
            print(i, body, len(app.state.sessions), flush=True)
        at(i)


asyncio.run(main())
