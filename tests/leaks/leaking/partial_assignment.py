"""Features of some nodes are written into one tensor in place, again and again: its chain of slices grows."""
# dmlc/dgl#698: CUDA memory leak for pytorch nn.Parameter
# dmlc/dgl#1269: memory leak in `DGLHeteroGraph.send_and_recv()` when used along with Node UDF
# /// leak
# dumps = "requests"
# kinds = ["state-not-detached", "graph-nodes", "accumulated-graph"]
# holder = "y"
# lines = ["frame[\"y\"][rows] = ", "rows = "]
# bytes = [0, 40000]  # the index of 1000 numbers of 8 bytes is saved each time
# ///
import sys

import torch

weight = torch.nn.Parameter(torch.randn(2000, 16))
frame = {"x": weight * 1.0, "y": torch.zeros(2000, 16)}
for line in sys.stdin:
    rows = torch.randperm(2000)[:1000]
    frame["y"][rows] = frame["x"][rows]
    print(frame["y"].sum().item(), flush=True)
