"""Each request starts a task that waits for a broker that never becomes ready; tasks are kept as asyncio's pages say."""
# after: encode/starlette: background tasks that wait
# fix: a timeout (asyncio.wait_for) in publish, or a bounded queue to one publisher
# /// leak
# dumps = "asks"
# kinds = ["unfinished-calls"]
# holders = ["emb", "background"]
# lines = ["emb = encoder(x)"]
# bytes = 131072  # 64 x 512 floats: `emb` of the suspended publish()
# ///
import asyncio
import torch
from torch import nn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
import ask

torch.manual_seed(0)
encoder = nn.Linear(32, 512).requires_grad_(False)
background = set()
broker_ready = asyncio.Event()


async def publish(emb):
    await broker_ready.wait()
    print("published", emb.mean().item())


async def embed(request):
    x = torch.randn(64, 32)
    emb = encoder(x)
    task = asyncio.create_task(publish(emb))
    background.add(task)
    task.add_done_callback(background.discard)
    return PlainTextResponse(str(emb.norm().item()))


app = Starlette(routes=[Route("/embed", embed)])


async def call(path):
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message["type"])

    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"", "headers": [], "root_path": ""}
    await app(scope, receive, send)
    return sent


async def main():
    for request in range(1, 67):
        await call("/embed")
        await asyncio.sleep(0.01)
        ask.at(request)
    print("pending", len(background))


asyncio.run(main())
