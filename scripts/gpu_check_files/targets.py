# SPDX-License-Identifier: Apache-2.0
"""Small programs on a CUDA device that scripts/gpu-check runs under the preload, each with one purpose. They need PyTorch and nothing
else, and print one line of JSON: the dump they took, and what they or torch know of that moment.

    python targets.py NAME [ARGUMENT ...]
"""
import ctypes
import gc
import json
import os
import sys
import time

import torch
from torch import nn

try:
    import libtensorscope
except ImportError:
    libtensorscope = None

MEBIBYTE = 1 << 20


def runtime():
    return ctypes.CDLL(f"libcudart.so.{torch.version.cuda.split('.')[0]}")


def is_double():
    """tests/fake_cuda stands in for NVIDIA's libraries."""
    try:
        return bool(runtime().fake_cuda_fail)
    except (OSError, AttributeError):
        return False


def moment(**facts):
    """Takes a dump and prints what torch says at the same moment."""
    gc.collect()
    torch.cuda.synchronize()
    facts["dump"] = libtensorscope.dump() if libtensorscope else None
    facts["devices"] = {}
    for device in range(torch.cuda.device_count()):
        row = facts["devices"][f"cuda:{device}"] = {"reserved": torch.cuda.memory_reserved(device),
                                                    "allocated": torch.cuda.memory_allocated(device)}
        row["free"], row["total"] = torch.cuda.mem_get_info(device)
        row["name"] = torch.cuda.get_device_name(device)
    try:
        facts["segments"] = [{"device": s["device"], "address": s["address"], "size": s["total_size"], "stream": s["stream"],
                              "pool": list(s.get("segment_pool_id", (0, 0))), "expandable": s.get("is_expandable", False),
                              "blocks": [[b["address"], b["size"], b["state"]] for b in s["blocks"]]}
                             for s in torch.cuda.memory_snapshot()]
    except RuntimeError as error:  # the cudaMallocAsync backend has none
        facts["no_segments"] = str(error).splitlines()[0]
    print(json.dumps(facts), flush=True)


def network(width=64):
    return nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.LayerNorm(4 * width), nn.Linear(4 * width, width))


def train(steps=5, model=None):
    """Some steps of a training loop; what is alive then."""
    torch.manual_seed(0)
    model = (model or network()).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(torch.randn(32, 64, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return model, optimizer, losses, model(torch.randn(32, 64, device="cuda"))


def target_about():
    properties = torch.cuda.get_device_properties(0)
    print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda, "devices": torch.cuda.device_count(),
                      "name": torch.cuda.get_device_name(0), "capability": [properties.major, properties.minor],
                      "double": is_double()}))


def target_train():
    kept = train()
    moment(weight=kept[0][0].weight._cdata)


def target_numbers():
    """The same whether or not the profiler is there."""
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    torch.use_deterministic_algorithms(True)
    kept = train(20)
    stats = torch.cuda.memory_stats()
    print(json.dumps({"losses": [] if is_double() else [loss.item() for loss in kept[2]],
                      "allocations": stats["allocation.all.allocated"], "peak": stats["allocated_bytes.all.peak"]}))


def ask_for_too_much():
    return torch.empty(torch.cuda.mem_get_info()[1] * 2, dtype=torch.uint8, device="cuda")


class AsksInBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return ask_for_too_much()


def target_out_of_memory(where):
    kept = train()
    try:
        if where == "backward":
            AsksInBackward.apply(torch.ones(1000, device="cuda", requires_grad=True)).sum().backward()
        else:
            ask_for_too_much()
    except torch.OutOfMemoryError as error:
        after = torch.ones(1000, device="cuda").sum()  # the program goes on
        print(json.dumps({"error": type(error).__name__, "text": str(error).splitlines()[0], "after": str(after.device),
                          "asked": torch.cuda.mem_get_info()[1] * 2, "kept": len(kept)}), flush=True)
    if where == "backward":
        # Torch's worker drops the exception some time later, and where Python has ended by then it aborts the program (seen
        # with torch 2.14 without the preload, too).
        os._exit(0)


def target_pinned():
    kept = [torch.empty(3 * MEBIBYTE, dtype=torch.uint8, pin_memory=True), torch.ones(1000, device="cuda")]
    moment(pointer=kept[0].data_ptr(), nbytes=3 * MEBIBYTE)


def target_outside():
    """Memory that torch does not know of, by the function that any other library of the process would be bound to."""
    torch.ones(1, device="cuda")
    pointer = ctypes.c_void_p()
    everybody = ctypes.CDLL(None)
    library = everybody if hasattr(everybody, "cudaMalloc") else runtime()
    assert library.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(64 * MEBIBYTE)) == 0
    moment(pointer=pointer.value, nbytes=64 * MEBIBYTE)


def target_graph():
    kept = network().cuda()
    x = torch.randn(32, 64, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), torch.no_grad():
        kept(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        y = kept(x)
    graph.replay()
    moment(output=y.data_ptr())


def target_streams():
    other = torch.cuda.Stream()
    kept = torch.ones(MEBIBYTE, device="cuda")
    lent = torch.ones(8 * MEBIBYTE, device="cuda")
    with torch.cuda.stream(other):
        (torch.cuda._sleep(2_000_000_000) if not is_double() else None)
        lent.record_stream(other)
        own = torch.ones(MEBIBYTE, device="cuda")
    address = lent.data_ptr()
    del lent  # its block waits for the other stream
    gc.collect()
    dump = libtensorscope.dump() if libtensorscope else None
    states = {b["address"]: b["state"] for s in torch.cuda.memory_snapshot() for b in s["blocks"]}
    print(json.dumps({"dump": dump, "lent": address, "lent_state": states.get(address), "own": own.data_ptr(),
                      "own_stream": other.cuda_stream, "kept": kept.data_ptr()}))


def target_profiled():
    """Under torch's own profiler."""
    model = network().cuda()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as profile:
        model(torch.randn(32, 64, device="cuda")).sum().backward()
        torch.cuda.synchronize()
    kernels = sum(1 for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA)
    moment(kernels=kernels)


def target_distributed():
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")
    store = torch.distributed.TCPStore("127.0.0.1", 0, 1, True)
    torch.distributed.init_process_group("nccl", store=store, rank=0, world_size=1)
    kept = train(model=nn.parallel.DistributedDataParallel(network().cuda(), device_ids=[0]))
    moment(kept=len(kept))
    torch.distributed.destroy_process_group()


def target_compiled():
    import triton  # noqa: F401
    model = network().cuda()
    kept = train(model=torch.compile(model))
    moment(kept=len(kept))


def target_watched():
    """What torch itself says of what a module returned in three passes."""
    global model
    torch.manual_seed(0)
    model = nn.Linear(64, 32).cuda()
    said = []
    for scale in (1, 1000, 1e-6):
        y = model(scale * torch.randn(1024, 64, device="cuda")).double()
        said.append({"min": y.min().item(), "max": y.max().item(), "mean": y.mean().item(), "l2": y.norm().item(),
                     "std": y.std(unbiased=False).item()})
    torch.cuda.synchronize()
    print(json.dumps({"outputs": said}))


class Quotient(nn.Module):
    def forward(self, x):
        return x / x


def target_nan():
    """0 / 0 in the third step."""
    layers = nn.Sequential(nn.Linear(8, 8, bias=False), Quotient(), nn.Linear(8, 1)).cuda()
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.01)
    for step in range(4):
        optimizer.zero_grad()
        layers(torch.full((4, 8), float(step != 2), device="cuda")).sum().backward()
        optimizer.step()
    torch.cuda.synchronize()
    print(json.dumps({}))


def target_scratch(length):
    """A convolution whose backward pass cuDNN gives memory of its own if there is enough: the least with which it runs."""
    torch.manual_seed(0)
    convolution = nn.Conv1d(64, 64, 3, padding=1).cuda()
    x = torch.randn(32, 64, int(length), device="cuda", requires_grad=True)

    def peak():
        x.grad = convolution.weight.grad = convolution.bias.grad = None
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        convolution(x).sum().backward()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()

    plenty, reserved = peak()
    total = torch.cuda.get_device_properties(0).total_memory
    least = None
    for percent in range(30, 101, 5):
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(reserved * percent / 100 / total)
        try:
            least = peak()[0]
            break
        except RuntimeError:
            torch.cuda.empty_cache()
    print(json.dumps({"plenty": plenty, "least": least, "limit": reserved * percent // 100}))


def target_loop(seconds):
    """Nanoseconds a step."""
    global model
    model = network(256).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(64, 256, device="cuda")

    def step():
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    for _ in range(20):
        step()
    torch.cuda.synchronize()
    begin, steps = time.perf_counter(), 0
    while time.perf_counter() - begin < float(seconds):
        step()
        steps += 1
    torch.cuda.synchronize()
    print(json.dumps({"ns": (time.perf_counter() - begin) / steps * 1e9}))


if __name__ == "__main__":
    globals()["target_" + sys.argv[1]](*sys.argv[2:])
