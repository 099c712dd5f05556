"""Four threads that make tensors, some of them freed by another thread; named threads."""
import threading

import torch

import truth

torch.set_num_threads(1)
kept = []
lock = threading.Lock()


def work(number):
    for step in range(200):
        tensor = torch.full((number + 1, 10), float(step))
        with lock:
            kept.append(tensor)
            if len(kept) > 100:
                kept.pop(0)


workers = [threading.Thread(target=work, args=(number,), name=f"worker-{number}") for number in range(4)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
truth.moment(kept=len(kept))
print(len(kept))
