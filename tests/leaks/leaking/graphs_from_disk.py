"""A dataset of graphs on disk keeps what it has read in _data_list; there are far more graphs than memory."""
# pyg-team/pytorch_geometric#10356: Potential memory leak when loading graphs from disk
# /// leak
# dumps = "requests"
# kinds = ["container"]
# holder = "_data_list"
# lines = ["\"x\": torch.randn(", "\"edge_index\": "]
# bytes = 40960  # 4 graphs: 40 x 32 floats, 2 x 320 numbers of 8 bytes
# ///
import sys

import torch


def read_graph(path):
    return {
        "x": torch.randn(40, 32),
        "edge_index": torch.randint(40, (2, 320)),
        "path": path,
    }


class GraphDataset:
    def __init__(self, count):
        self._data_list = [None] * count

    def __getitem__(self, number):
        if self._data_list[number] is None:
            self._data_list[number] = read_graph(f"graph_{number}.pt")
        return self._data_list[number]


dataset = GraphDataset(100000)
for line in sys.stdin:
    graphs = [dataset[4 * int(line) + i] for i in range(4)]
    print(sum(len(graph["x"]) for graph in graphs), flush=True)
