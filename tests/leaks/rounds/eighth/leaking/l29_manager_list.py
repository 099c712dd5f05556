"""Child process keeps pickled results, with multiprocessing.Manager."""
# after: Stack Overflow "multiprocessing.Manager().list() of results: the manager process grows"
# fix: del results[:] every 10 steps (FIX)
# /// leak
# dumps = "steps"
# kinds = ["child-processes", "process-memory", "container", "module-cache"]
# holder = "results"  # `results` (ListProxy; the list lies in the manager's process, a child)
# lines = []
# bytes = 51200  # 100 x 128 x 4 = 51200 bytes of numpy a step in the child; measured rss of the child +52.0..52.2 KB a step; 51,610 to 52,019 resident in the child under the profiler
# ///
import multiprocessing
import os
import torch


def main():
    torch.manual_seed(0)
    manager = multiprocessing.get_context("fork").Manager()
    results = manager.list()
    net = torch.nn.Linear(128, 100)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(70):
        x = torch.randn(100, 128)
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        results.append({"step": step, "inputs": x.numpy(), "loss": loss.item()})
        if os.environ.get("FIX") and step % 10 == 9:
            del results[:]
    print(len(results))


if __name__ == "__main__":
    main()
