"""Programs that fail because of how memory is cut up or shared: pieces, streams, pools, limits, other processes."""
import torch

from remedy_trial import program

MEBIBYTE = 1 << 20


def block(trial, mebibytes):
    return torch.empty(mebibytes * MEBIBYTE, dtype=torch.uint8, device=trial.device)


@program()
def growing_sequences(trial):
    """results of growing sizes between blocks that stay"""
    kept = []
    for length in range(10, 60, 3):
        work = block(trial, length)
        kept.append(block(trial, 4))
        del work
    return block(trial, 200)


@program()
def pieces(trial):
    """what is freed of each segment is too small for the next request"""
    fences = []
    for _ in range(10):
        piece = block(trial, 30)
        del piece
        fences.append(block(trial, 16))
    return block(trial, 100)


@program(settings={"TENSORSCOPE_FAKE_CUDA_OTHERS": str(300 * MEBIBYTE)})
def beside_another(trial):
    """another process holds 300 MiB of the device"""
    weights = [block(trial, 50) for _ in range(6)]
    return weights, block(trial, 200)


@program(capacity=1 << 30)
def memory_fraction(trial):
    """set_per_process_memory_fraction(0.25) on a device with room"""
    torch.cuda.set_per_process_memory_fraction(1.0 if trial.tries("process-limit") else 0.25)
    history = [block(trial, 60) for _ in range(2)]
    result = block(trial, 200)
    trial.freed(200 * MEBIBYTE + torch.cuda.mem_get_info()[0])  # that could be had now
    return history, result


@program(capacity=1 << 30)
def two_streams(trial):
    """free memory that another stream used"""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        work, fence = block(trial, 600), block(trial, 4)
        piece = block(trial, 19)
        small = block(trial, 1)
        del work
        work = block(trial, 300)  # a piece of the 600: what is left cannot go back to the driver
    kept = block(trial, 250)
    with torch.cuda.stream(side if trial.tries("other-stream") else torch.cuda.current_stream()):
        result = block(trial, 280), block(trial, 20), block(trial, 16)
    trial.freed(316 * MEBIBYTE)
    return fence, piece, small, work, kept, result


@program(capacity=1 << 30)
def memory_pool(trial):
    """free memory in a MemPool"""
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        pooled = [block(trial, 200) for _ in range(4)]
    del pooled[2:]
    if trial.tries("private-pool"):
        with torch.cuda.use_mem_pool(pool):
            result = [block(trial, 200), block(trial, 200)]
        trial.freed(torch.cuda.memory_allocated() - 400 * MEBIBYTE)
        return pooled, result
    if trial.tries("drop-holder"):
        before = torch.cuda.memory_allocated()
        pooled.clear()
        trial.freed(before - torch.cuda.memory_allocated())
    return pooled, block(trial, 200), block(trial, 100)
