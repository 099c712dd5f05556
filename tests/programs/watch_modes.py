"""One kind of program for each way in which torch runs modules that is not plain: MODE names it. Prints everything that a recorder could change: results, the
state of the random numbers, version counters, the graph, who is still alive."""

import gc
import os
import sys
import tempfile
import threading
import warnings

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.drop = nn.Linear(8, 8), nn.Dropout(0.25)

    def forward(self, x):
        return x + self.drop(torch.relu(self.fc(x)))


class Model(nn.Module):
    def __init__(self, around=lambda block, x: block(x)):
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(8, 2)
        self.around = around

    def forward(self, x):
        for layer in self.layers:
            x = self.around(layer, x)
        return self.head(x)


def graph(tensor):
    """The classes of the nodes, as the backward pass finds them."""
    names, seen, waiting = [], set(), [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            names.append(type(node).__name__)
            waiting += [following for following, _ in node.next_functions]
    return names


def state(model, *others):
    return ([(parameter.sum().item(), parameter._version, parameter.grad is not None and parameter.grad.sum().item()) for parameter in model.parameters()],
            torch.get_rng_state().sum().item(), torch.rand(2).tolist(), *others)


def train(model, runs=None, steps=2):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        out = (runs or model)(torch.randn(4, 8))
        loss = out.float().square().mean()
        found += [out._version, out.stride(), graph(loss), loss.item()]
        loss.backward()
        optimizer.step()
    return state(model, found)


def inference():
    model = Model().eval()
    with torch.inference_mode():
        x = torch.ones(2, 8)
        out = model(x)
        out.add_(model(x))
    return state(model, out.tolist(), out.is_inference())


def no_grad():
    model = Model()
    with torch.no_grad():
        out = model(torch.ones(2, 8))
    return state(model, out.tolist(), out.requires_grad, out._version)


def autocast():
    model = Model()
    with torch.autocast("cpu", torch.bfloat16):
        return train(model)


def vmap():
    model = Model().eval()
    x = torch.randn(5, 8)
    values = dict(model.named_parameters())
    single = lambda values, x: torch.func.functional_call(model, values, (x,)).sum()
    gradients = torch.func.vmap(torch.func.grad(single), in_dims=(None, 0))({name: value.detach() for name, value in values.items()}, x)
    return state(model, torch.func.vmap(model)(x).tolist(), {name: value.sum().item() for name, value in gradients.items()},
                 torch.func.jacrev(lambda x: torch.func.functional_call(model, values, (x,)))(x[0]).sum().item())


def reentrant():
    return train(Model(lambda block, x: checkpoint(block, x.requires_grad_() if x.is_leaf else x, use_reentrant=True)))


def checkpointed():
    return train(Model(lambda block, x: checkpoint(block, x, use_reentrant=False)))


def alone(work):
    """In a process group of one."""
    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=0, world_size=1)
        try:
            return work()
        finally:
            torch.distributed.destroy_process_group()


def ddp():
    def work():
        model = Model()
        return train(model, nn.parallel.DistributedDataParallel(model))
    return alone(work)


def fsdp():
    from torch.distributed.fsdp import FullyShardedDataParallel

    def work():
        model = FullyShardedDataParallel(Model(), device_id=torch.device("cpu"), use_orig_params=True)
        return train(model)
    return alone(work)


def fully_shard():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    def work():
        model = Model()
        mesh = init_device_mesh("cpu", (1,))
        for layer in model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        for _ in range(2):
            loss = model(torch.randn(4, 8)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, torch.get_rng_state().sum().item(), torch.rand(2).tolist()
    return alone(work)


def compiled():
    model = Model()
    model.layers[1] = torch.compile(model.layers[1], backend="eager")
    return train(model)


class Numbers(torch.utils.data.Dataset):
    """Runs a module within the worker."""

    def __init__(self):
        self.embed = nn.Linear(2, 8)

    def __len__(self):
        return 8

    def __getitem__(self, i):
        with torch.no_grad():
            return self.embed(torch.tensor([float(i), 1.0])) + torch.rand(8)


def workers():
    numbers = Numbers()
    model = Model()
    loader = torch.utils.data.DataLoader(numbers, batch_size=4, num_workers=2, shuffle=True)
    return state(model, [model(batch).sum().item() for _ in range(2) for batch in loader])


def threads():
    model = Model().eval()
    results = [None] * 4

    def work(number):
        for step in range(20):
            out = model(torch.full((2, 8), number + step / 10.0))
            out.sum().backward(inputs=[out])
        results[number] = out.tolist()

    running = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return state(model, results)


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    os.environ.pop("RANK", None)
    result = globals()[sys.argv[1]]()
    gc.collect()
    alive = sum(type(each) is torch.Tensor for each in gc.get_objects())
    print(repr((result, alive)))


if __name__ == "__main__":
    main()
