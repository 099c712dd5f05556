"""Outside tensors: bytes in requests_cache's memory backend (DictCache)."""
# after: cache of requests without expiry and limit (each URL is asked once)
# fix: session.cache.clear() / expire_after (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "session.cache.responses"  # session.cache.responses (and session.cache.redirects, no bytes)
# lines = []
# bytes = 21012  # 16,384 of body bytes (64x64x4); objects of the response some 1,800 more; malloc 18,200 (+ pymalloc); correction: 21,003 to 21,022 with all objects that only it reaches
# ///
import io
import os
import requests
import requests_cache
import torch
from requests.adapters import BaseAdapter
from torch import nn
from urllib3.response import HTTPResponse


class FeatureService(BaseAdapter):
    """Stands for the feature store: one raw vector per document."""

    def send(self, request, **kwargs):
        body = torch.randn(64 * 64).numpy().tobytes()
        raw = HTTPResponse(body=io.BytesIO(body), status=200, headers={"content-type": "application/octet-stream"}, preload_content=False)
        response = requests.Response()
        response.status_code, response.url, response.request, response.raw = 200, request.url, request, raw
        response.headers = raw.headers
        return response

    def close(self):
        pass


torch.manual_seed(0)
session = requests_cache.CachedSession(backend="memory")
session.mount("feat://", FeatureService())
model = nn.Linear(64, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(1, 121):
    raw = session.get(f"feat://store/document/{step}").content
    x = torch.frombuffer(bytearray(raw), dtype=torch.float32).view(64, 64)
    loss = (model(x) - x.mean(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if os.environ.get("FIX") and step % 5 == 0:
        session.cache.clear()
print("cached", len(session.cache.responses))
