"""One entry of 16 KiB of bytes a client and 8 clients, all there after step 4 (2 requests a step). Handlers and test client keep nothing else."""
# report: "litestar MemoryStore with the last state of each client"
# kind: keys of 8 clients that are overwritten, HTTP server
# library: litestar
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 2.5, 1.0
# /// healthy
# dumps = "asks"
# ///
import io
import torch
from torch import nn
from litestar import Litestar, get
from litestar.stores.memory import MemoryStore
from litestar.testing import TestClient
from ask import at

torch.manual_seed(0)
store = MemoryStore()
cell = nn.GRUCell(16, 512).eval()


@get("/step/{client:int}")
async def advance(client: int) -> dict[str, float]:
    saved = await store.get(f"state/{client}")
    hidden = torch.load(io.BytesIO(saved)) if saved else torch.zeros(8, 512)
    with torch.no_grad():
        hidden = cell(torch.randn(8, 16), hidden)
    buffer = io.BytesIO()
    torch.save(hidden, buffer)
    await store.set(f"state/{client}", buffer.getvalue(), expires_in=3600)
    return {"mean": hidden.mean().item()}


with TestClient(Litestar([advance])) as client:
    for step in range(1, 81):
        for k in range(2):
            answer = client.get(f"/step/{(2 * step + k) % 8}").json()
        if step % 20 == 0:
            print(step, answer, flush=True)
        at(step)
