"""Thread pool of two workers, results of a step are temporary; nothing is kept but 10 floats per step."""
# report: "joblib.Parallel in the training loop grows": results are reduced and dropped
# looks like: delayed calls with tensors in every step, callbacks and queues of the pool
# library: joblib
# /// healthy
# dumps = "asks"
# ///
import torch
from joblib import Parallel, delayed
from ask import at

torch.manual_seed(0)
weights = torch.randn(256, 256) / 16


def score(seed):
    g = torch.Generator().manual_seed(seed)
    with torch.inference_mode():
        return (torch.randn(128, 256, generator=g) @ weights).relu()


def main():
    means = []
    with Parallel(n_jobs=2, backend="threading") as pool:
        for step in range(1, 71):
            outs = pool(delayed(score)(8 * step + i) for i in range(8))
            means.append(sum(o.mean().item() for o in outs))
            del outs
            at(step)
    print(sum(means) / len(means))


main()
