"""At most 4 futures in flight; workers keep a cache of 4 kernels; pool's call queue is bounded."""
# report: "ProcessPoolExecutor for augmentation: children grow": two workers, results used and dropped
# looks like: children that import torch and warm up in the first steps, pickled results in each step
# library: standard library (concurrent.futures)
# /// healthy
# dumps = "steps"
# ///
import collections
import concurrent.futures
import multiprocessing
import numpy as np
import torch

kernels = {}


def augment(seed):
    rng = np.random.default_rng(seed)
    size = 3 + 2 * (seed % 4)
    if size not in kernels:
        kernels[size] = np.ones(size, dtype=np.float32) / size
    x = rng.standard_normal((64, 128), dtype=np.float32)
    return np.stack([np.convolve(row, kernels[size], mode="same") for row in x])


def main():
    torch.manual_seed(0)
    net = torch.nn.Linear(128, 128)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        flight = collections.deque(pool.submit(augment, i) for i in range(4))
        for step in range(70):
            x = torch.from_numpy(flight.popleft().result())
            flight.append(pool.submit(augment, step + 4))
            loss = (net(x) - x).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(loss.item())


if __name__ == "__main__":
    main()
