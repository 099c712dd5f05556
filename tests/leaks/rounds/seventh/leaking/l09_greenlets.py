"""List of finished jobs, with gevent."""
# after: gevent questions "joinall(jobs) with an ever growing list": finished greenlets keep their value
# fix: take get() and drop the job from the list
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "server.jobs"  # server.jobs (list of gevent.Greenlet; each keeps its result in Greenlet.value)
# lines = ["mask = logits.softmax(1)"]
# bytes = 65536  # 4 x 64 x 64 float32; storages
# ///
import os

import gevent
import torch
import torch.nn as nn
from ask import at


class Server:
    def __init__(self):
        self.model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 3, padding=1)).eval()
        self.jobs = []

    def submit(self, image):
        self.jobs.append(gevent.spawn(self.predict, image))

    @torch.no_grad()
    def predict(self, image):
        logits = self.model(image)
        mask = logits.softmax(1)
        gevent.sleep(0)
        return mask


torch.manual_seed(0)
server = Server()
for request in range(1, 71):
    server.submit(torch.rand(1, 3, 64, 64))
    gevent.joinall(server.jobs)
    last = server.jobs[-1].get()
    if os.environ.get("FIX"):
        server.jobs.clear()
    if request % 20 == 0:
        print(request, last.mean().item(), flush=True)
    at(request)
