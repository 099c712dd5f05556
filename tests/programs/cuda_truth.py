"""What torch's own CUDA allocator knows, next to what the program knows of its tensors."""
import gc

import torch

import truth


def statistics(device):
    stats = torch.cuda.memory_stats(device)
    return {
        "allocated": stats["allocated_bytes.all.current"],
        "peak": stats["allocated_bytes.all.peak"],
        "reserved": torch.cuda.memory_reserved(device),
        "reserved_peak": torch.cuda.max_memory_reserved(device),
        "made": stats["allocation.all.allocated"],
        "freed": stats["allocation.all.freed"],
        "bytes_made": stats["allocated_bytes.all.allocated"],
    }


def blocks(device):
    """Address and size of every allocated block, from the allocator's snapshot."""
    return sorted([block["address"], block["size"]] for segment in torch.cuda.memory_snapshot()
                  if segment["device"] == device for block in segment["blocks"] if block["state"] == "active_allocated")


def moment(name="1", **facts):
    gc.collect()
    devices = range(torch.cuda.device_count())
    facts["devices"] = {f"cuda:{device}": statistics(device) for device in devices}
    facts["blocks"] = {f"cuda:{device}": blocks(device) for device in devices}
    return truth.moment(name, **facts)


def print_statistics():
    """All that the allocator counts: equal with and without the profiler, or the profiler changed something."""
    for device in range(torch.cuda.device_count()):
        for name, value in sorted(torch.cuda.memory_stats(device).items()):
            print(device, name, value)
