"""The process that writes has ended; the queue of its parent keeps all."""
# after: pytorch/pytorch, python/cpython: multiprocessing.Queue.put never blocks
# fix: multiprocessing.Queue(maxsize=8) and see that the reader lives (put with a timeout)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "results._buffer"
# lines = ["results.put(out.detach()"]
# bytes = 102400  # 100 x 128 float64 of numpy
# ///
import multiprocessing as mp
import numpy as np
import torch

torch.manual_seed(0)
torch.set_num_threads(1)


def writer(queue):
    first = queue.get()
    if first.dtype != np.float32:
        return                      # ends here, quietly
    while True:
        queue.get()


def main():
    context = mp.get_context("fork")
    results = context.Queue()
    process = context.Process(target=writer, args=(results,), daemon=True)
    process.start()
    model = torch.nn.Linear(32, 128)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(66):
        x = torch.randn(100, 32)
        out = model(x)
        loss = out.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        results.put(out.detach().numpy().astype(np.float64))
    results.cancel_join_thread()
    print("loss", round(loss.item(), 4), "writer alive:", process.is_alive())


if __name__ == "__main__":
    main()
