"""Result backend of a task queue in memory, bytes outside of tensors, with celery."""
# after: "celery result backend cache+memory:// grows for ever, results are not forgotten" (celery issues)
# fix: result.forget() after result.get()
# /// leak
# dumps = "asks"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "backend.client.cache"  # app.backend.client.cache (DummyClient; dict of task ids to encoded results; the same as celery.backends.cache._DUMMY_CLIENT_CACHE)
# lines = []
# bytes = 22118  # 64*16 numbers as text, about 20 KiB of bytes a step, encoded once more as JSON; measured KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 22.4, 22.2 (with FIX: 0.0, 0.0; 1.1, 0.5); correction: 21.6 KiB go when it is cleared
# ///
import os
import torch
from torch import nn
from celery import Celery
from ask import at

torch.manual_seed(0)
app = Celery("serving", broker="memory://", backend="cache+memory://")
app.conf.update(task_always_eager=True, task_store_eager_result=True)
model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 16), nn.Softmax(-1)).eval()


@app.task
def predict(rows):
    with torch.no_grad():
        return model(torch.tensor(rows)).tolist()


for request in range(1, 91):
    rows = torch.randn(64, 128).tolist()
    result = predict.delay(rows)
    scores = result.get()
    stored = app.AsyncResult(result.id)
    if os.environ.get("FIX"):
        stored.forget()
    if request % 30 == 0:
        print(request, len(scores), round(scores[0][0], 4), flush=True)
    at(request)
