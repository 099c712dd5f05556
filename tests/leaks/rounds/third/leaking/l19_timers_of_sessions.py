"""A timer of an hour for each session, never cancelled."""
# after: tornadoweb/tornado, asyncio: handles of call_later keep their arguments until they fire
# fix: loop.remove_timeout(self.timer) in close()
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "asyncio_loop._scheduled"
# lines = ["y, self.state = gru(", "self.state = torch.zeros("]
# bytes = 65536  # 2 x 32 x 256 floats
# ///
import torch
from tornado.ioloop import IOLoop
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)

gru = torch.nn.GRU(16, 256, num_layers=2).requires_grad_(False)
sessions = {}


class Session:
    def __init__(self, key):
        self.key = key
        self.state = torch.zeros(2, 32, 256)
        self.timer = IOLoop.current().call_later(3600, self.expire)
        sessions[key] = self

    def run(self, x):
        y, self.state = gru(x, self.state)
        return y[-1].mean().item()

    def expire(self):
        sessions.pop(self.key, None)
        self.state = None

    def close(self):
        sessions.pop(self.key)


async def main():
    total = 0.0
    for step in range(1, 67):
        s = Session(step)
        total += s.run(torch.randn(2, 32, 16))
        s.close()
        at(step)
    print(round(total, 4), len(sessions))


IOLoop.current().run_sync(main)
