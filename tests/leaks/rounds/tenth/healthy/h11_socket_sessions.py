"""`sessions.pop` in finally; connections are closed before the next step; at most one is alive. What closed connections leave are cycles, so malloc's memory goes up some 20 KiB a step (20 to 100) until the collector runs its oldest generation; with gc.collect() in each step: +0.2 KiB."""
# about: A server of websockets: each client's request opens a session with tensors, which ends with the connection.
# report: "websockets server memory: sessions dict" (done right: popped in finally)
# kind: asyncio tasks and connections that come and go; dict of sessions; bounded queues of frames
# library: websockets
# /// healthy
# dumps = "asks"
# ///
import asyncio
import itertools

import torch
from torch import nn
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve

from ask import at

torch.set_num_threads(1)
sessions = {}
ids = itertools.count()


async def main():
    torch.manual_seed(0)
    net = nn.GRU(32, 64, batch_first=True).eval()

    async def handler(ws):
        key = next(ids)
        sessions[key] = {"state": torch.zeros(1, 16, 64), "outputs": []}
        try:
            async for message in ws:
                x = torch.frombuffer(bytearray(message), dtype=torch.float32).view(16, -1, 32)
                with torch.no_grad():
                    y, sessions[key]["state"] = net(x, sessions[key]["state"])
                sessions[key]["outputs"].append(y)
                await ws.send(str(float(y.mean())))
        finally:
            sessions.pop(key)

    async with serve(handler, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        for i in range(1, 101):
            async with connect("ws://127.0.0.1:%d" % port) as ws:
                for _ in range(4):
                    await ws.send(torch.randn(16, 8, 32).numpy().tobytes())
                    await ws.recv()
            await asyncio.sleep(0.01)
            at(i)
        print("open", len(sessions))


if __name__ == "__main__":
    asyncio.run(main())
