"""concurrent.futures.Future in a list of an object."""
# after: futures of a thread pool are kept, so are their results
# fix: self.submitted = [f for f in self.submitted if not f.done()] (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "service.submitted"
# lines = ["return model(signal)"]
# bytes = 96000  # 96,000 (2x8x1500x4, result; the input is dropped when it ran); malloc 97,400
# ///
import os
from concurrent.futures import ThreadPoolExecutor
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
model = nn.Sequential(nn.Conv1d(4, 16, 5, padding=2), nn.ReLU(), nn.Conv1d(16, 8, 5, padding=2)).eval()


class Service:
    def __init__(self):
        self.pool = ThreadPoolExecutor(2)
        self.submitted = []
        self.served = 0

    def infer(self, signal):
        with torch.no_grad():
            return model(signal)

    def request(self, signal):
        future = self.pool.submit(self.infer, signal)
        self.submitted.append(future)
        out = future.result(timeout=30)
        self.served += 1
        if os.environ.get("FIX"):
            self.submitted = [f for f in self.submitted if not f.done()]
        return out.amax()


service = Service()
for i in range(1, 801):
    service.request(torch.randn(2, 4, 1500))
    at(i)
service.pool.shutdown()
print(service.served)
