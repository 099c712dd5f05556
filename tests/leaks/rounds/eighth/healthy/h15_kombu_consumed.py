"""Producer two messages a step, consumer takes all of them in the next step; at most 2 wait."""
# report: "in-memory broker grows": each message is taken and acknowledged
# looks like: a queue with large bodies that is written in every step
# library: kombu (memory transport)
# /// healthy
# dumps = "asks"
# ///
import base64
import numpy as np
import torch
from kombu import Connection
from ask import at

torch.manual_seed(0)
encoder = torch.nn.Linear(64, 64)
connection = Connection("memory://")
queue = connection.SimpleQueue("embeddings")


def produce(step):
    with torch.inference_mode():
        out = encoder(torch.randn(64, 64))
    queue.put({"step": step, "data": base64.b64encode(out.numpy().tobytes()).decode()})


def consume():
    total = 0.0
    while queue.qsize():
        message = queue.get(block=False)
        data = np.frombuffer(base64.b64decode(message.payload["data"]), dtype=np.float32)
        total += float(torch.from_numpy(data.copy()).sum())
        message.ack()
    return total


def main():
    for step in range(1, 71):
        consume()
        produce(step)
        produce(step)
        at(step)
    print(queue.qsize())


main()
