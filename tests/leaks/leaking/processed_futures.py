"""Work is given to a pool of threads; the futures are kept after their results were used, and with them the results."""
# simonsobs/sotodlib#884: Delete futures as they're processed.
# python/cpython#98467: concurrent.futures.ThreadPoolExecutor does not free memory when shutdown
# /// leak
# dumps = "requests"
# kinds = ["container"]
# holder = "futures"
# lines = ["return torch.fft.rfft("]
# bytes = 32832  # 8 x 513 complex numbers
# ///
import concurrent.futures
import sys

import torch


def preprocess(number):
    return torch.fft.rfft(torch.randn(8, 1024))


def serve():
    futures = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for number, line in enumerate(sys.stdin):
            futures.append(pool.submit(preprocess, number))
            print(futures[-1].result().abs().mean().item(), flush=True)


serve()
