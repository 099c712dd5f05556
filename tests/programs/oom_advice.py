"""Runs out of memory for a reason that the argument names, with the cause alive. OOM_DEVICE: cpu (the default) or cuda. The CPU's address
space is limited to what is used and a little. OOM_TRIED=1: does what the advice says; prints what torch has allocated on the GPU."""
import dataclasses
import mmap
import os
import resource
import sys

import torch
from torch import nn

DEVICE = os.environ.get("OOM_DEVICE", "cpu")
TRIED = "OOM_TRIED" in os.environ
MEBIBYTE = 1 << 20


def kept(value):
    return value.detach() if TRIED else value


def tensor(mebibytes, **options):
    return torch.zeros(int(mebibytes * MEBIBYTE) // 4, device=DEVICE, **options)


def limit(left):
    used = int(open("/proc/self/statm").read().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (used + left, resource.getrlimit(resource.RLIMIT_AS)[1]))


def run_out(mebibytes=None):
    """Asks for 16 MiB more than is left."""
    if DEVICE == "cpu":
        limit(96 * MEBIBYTE)
    if DEVICE == "cuda":
        print("allocated", torch.cuda.memory_allocated())
    mebibytes = mebibytes or (96 if DEVICE == "cpu" else torch.cuda.mem_get_info()[0] // MEBIBYTE) + 16
    return torch.empty(mebibytes * MEBIBYTE, dtype=torch.uint8, device=DEVICE)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(64, 512), nn.Linear(512, 64)

    def forward(self, x):
        return self.down(torch.tanh(self.up(x)))


def batch():
    return torch.zeros(2048, 64, device=DEVICE)


def running_sum():
    """Each loss leads to the activations of its pass."""
    model, total = Model().to(DEVICE), 0
    for _ in range(8):
        loss = model(batch()).square().mean()
        total += kept(loss)
    run_out()


class Meter:
    total = None


def running_sum_in_an_attribute():
    model, meter = Model().to(DEVICE), Meter()
    meter.total = torch.zeros((), device=DEVICE)
    for _ in range(8):
        meter.total = meter.total + kept(model(batch()).square().mean())
    run_out()


def carried_state():
    cell = nn.Linear(512, 512).to(DEVICE)
    state = torch.zeros(2048, 512, device=DEVICE)
    for _ in range(10):
        state = torch.tanh(cell(kept(state)))
        loss = state.mean()
    run_out()


class Session:
    state = None


def carried_state_in_an_attribute():
    cell, session = nn.Linear(512, 512).to(DEVICE), Session()
    session.state = torch.zeros(2048, 512, device=DEVICE)
    for _ in range(10):
        session.state = torch.tanh(cell(kept(session.state)))
    run_out()


def two_lists():
    model, history, recent = Model().to(DEVICE), [], []
    for _ in range(8):
        loss = model(batch()).square().mean()
        history.append(kept(loss))
        recent.append(kept(loss))
    del loss
    run_out()


@dataclasses.dataclass
class Record:
    step: int
    logits: torch.Tensor
    loss: torch.Tensor


def dataclasses_in_a_list():
    model, records = Model().to(DEVICE), []
    for step in range(8):
        logits = model(batch())
        records.append(Record(step, kept(logits), kept(logits.square().mean())))
    del logits
    run_out()


def train(model, optimizer):
    model(batch()).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def evaluate(model):
    with torch.set_grad_enabled(not TRIED):
        outputs = None
        for _ in range(2):
            others = outputs  # as it is while the next one is computed
            outputs = model(batch())
        run_out()
    return outputs, others


def validation():
    model = nn.Sequential(*[Model() for _ in range(3)]).to(DEVICE)
    train(model, torch.optim.SGD(model.parameters(), 0.1))
    evaluate(model)


def logits():
    model, outputs = Model().to(DEVICE), []
    for _ in range(8):
        outputs.append(kept(model(batch())))
    run_out()


def garbage():
    import gc
    gc.disable()
    for _ in range(4):
        cycle = Meter()
        cycle.itself = cycle
        cycle.tensor = tensor(128)
    del cycle
    run_out()


def graph_cycles():
    """Each tensor and its gradient refer to each other through the graph."""
    for _ in range(4):
        points = tensor(32, requires_grad=True)
        points.tanh().sum().backward(create_graph=True)
        if TRIED:
            points.grad = None
    del points
    torch.cuda.empty_cache()
    run_out()


def gradients_with_graphs():
    """The model's gradients keep the graph of their pass until they are set to None."""
    model = Model().to(DEVICE)
    model(batch()).square().mean().backward(create_graph=True)
    if TRIED:
        model.zero_grad(set_to_none=True)
    torch.cuda.empty_cache()
    run_out()


def too_large():
    def scores(query, key):
        return torch.einsum("bqd,bkd->bqk", query, key)

    query, key = torch.zeros(64, 1 << 18, 4, device=DEVICE), torch.zeros(64, 1 << 18, 4, device=DEVICE)
    scores(query, key)


def optimizer_step():
    model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(8)]).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.zeros(4, 1024, device=DEVICE)).sum().backward()
    if DEVICE == "cpu":
        limit(8 * MEBIBYTE)
    optimizer.step()


def optimizer_foreach():
    """OOM_LEFT: MiB that are left for the step. OOM_FIRST: it is the first one, which makes the state, too."""
    parameters = [nn.Parameter(tensor(4)) for _ in range(16)]
    optimizer = torch.optim.Adam(parameters, foreach=not TRIED)
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    if "OOM_FIRST" not in os.environ:
        optimizer.step()
    torch.cuda.empty_cache()
    left = int(os.environ["OOM_LEFT"]) * MEBIBYTE
    filler = torch.empty(torch.cuda.mem_get_info()[0] - left, dtype=torch.uint8, device=DEVICE)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    optimizer.step()
    print("took", torch.cuda.max_memory_allocated() - before)


def activations():
    """A forward pass whose outputs are nearly all that is alive; OOM_TRIED: under autocast."""
    model = nn.Sequential(*[layer for _ in range(8) for layer in (nn.Linear(256, 256), nn.ReLU())]).to(DEVICE)
    batch = torch.ones(32768, 256, device=DEVICE)
    before = torch.cuda.memory_allocated()
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=TRIED):
        output = model(batch)
    print("kept", torch.cuda.memory_allocated() - before)
    if not TRIED:
        torch.cuda.empty_cache()
        run_out()


def forward(weight):
    return torch.log_softmax(weight, 0)


def in_backward():
    weight = torch.ones(3 * MEBIBYTE, device=DEVICE, requires_grad=True)
    loss = forward(weight).sum()
    torch.cuda.empty_cache()
    filler = [torch.empty(torch.cuda.mem_get_info()[0] - 8 * MEBIBYTE, dtype=torch.uint8, device=DEVICE)]
    loss.backward()


def workspace():
    x = torch.ones(256, 256, device=DEVICE)
    y = x @ x
    run_out(2000)


def private_pool():
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        pooled = [tensor(100) for _ in range(4)]
    del pooled[2:]
    run_out()


def pieces_of_14(count):
    """What is freed of each segment is too small for the next one."""
    fences = []
    for _ in range(count):
        piece = torch.empty(30 * MEBIBYTE, dtype=torch.uint8, device=DEVICE)
        del piece
        fences.append(torch.empty(16 * MEBIBYTE, dtype=torch.uint8, device=DEVICE))
    return fences


def fill_and_ask(left, request):
    """OOM_FILL: as many bytes as without the advice, where they left `left` MiB."""
    fill = int(os.environ.get("OOM_FILL") or torch.cuda.mem_get_info()[0] - left * MEBIBYTE)
    print("filled", fill)
    filler = torch.empty(fill, dtype=torch.uint8, device=DEVICE)
    page = 20 * MEBIBYTE  # of expandable segments
    pages = torch.cuda.mem_get_info()[0] // page * page
    print("unused", pages + torch.cuda.memory_reserved() - torch.cuda.memory_allocated())
    torch.empty(request * MEBIBYTE, dtype=torch.uint8, device=DEVICE)
    print("passed")
    return filler


def fragmented():
    fences = pieces_of_14(10)
    fill_and_ask(20, 100)
    return fences


def fragmented_on_streams():
    """Memory in pieces, and a tensor on each of many streams, which would take a page of 20 MiB each."""
    fences, others = pieces_of_14(2), []
    for _ in range(20):
        with torch.cuda.stream(torch.cuda.Stream()):
            others.append(torch.empty(12 * MEBIBYTE, dtype=torch.uint8, device=DEVICE))
    fill_and_ask(20, 40)
    return fences, others


def memory_fraction():
    torch.cuda.set_per_process_memory_fraction(0.25)
    history = [tensor(60) for _ in range(2)]
    run_out(200)


if __name__ == "__main__":
    try:
        globals()[sys.argv[1]]()
    except RuntimeError as error:
        print(type(error).__name__)
    sys.stdout.flush()
    os._exit(0)  # torch 2.14 sometimes aborts at exit after an autograd worker's exception, with and without the preload
