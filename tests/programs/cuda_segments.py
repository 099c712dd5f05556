"""Memory of CUDA devices in each way in which torch's allocator manages it: common and private pools, a second stream, a graph,
blocks that wait for a stream, pinned memory; on each device."""
import torch

import cuda_truth

MEBIBYTE = 1 << 20


def made(mebibytes):
    return torch.empty(mebibytes * MEBIBYTE, dtype=torch.uint8, device="cuda")


def all_kinds():
    small, large, gap, after = torch.empty(1000, device="cuda"), made(30), made(3), made(2)
    other = torch.cuda.Stream()
    with torch.cuda.stream(other):
        on_other = torch.empty(5000, device="cuda")
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        pooled = made(4)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = small * 2
    del gap
    return [small, large, after, on_other, pooled, captured, pool, graph, other]


kept = []
for device in range(torch.cuda.device_count()):
    with torch.cuda.device(device):
        kept.append(all_kinds())
pinned = torch.empty(5000).pin_memory()
kept_stream = kept[0][-1]
lent = made(12)
lent.record_stream(kept_stream)
del lent  # its block stays busy until the other stream's work is done: nothing is allocated from here on
cuda_truth.moment(segments=torch.cuda.memory_snapshot(), pinned=pinned.data_ptr(), pooled=kept[0][4].data_ptr(),
                  captured=kept[0][5].data_ptr(), on_other=kept[0][3].data_ptr(),
                  info=[torch.cuda.mem_get_info(device) for device in range(torch.cuda.device_count())])
