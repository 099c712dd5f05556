"""Cycles that were garbage already become permanent with gc.freeze(): the collector never looks at them again."""
# after: python/cpython, vllm-project/vllm: gc.freeze() after each request
# fix: Answer.request = weakref.ref(request) (no cycle: freed at once); or gc.freeze() once after the start only (then the collector frees the cycles when it is due;
#      gc.unfreeze() and gc.collect() free those that were frozen)
# /// leak
# dumps = "asks"
# kinds = ["reference-cycle"]
# holders = ["cycle", "GraphRequest", "Answer"]
# lines = ["self.x = torch.randn(128, 128)"]
# bytes = 81920  # 128 x 128 floats of nodes (65,536), 4,096 of edges; nothing from outside holds the cycle
# ///
import gc
import torch
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)


class Answer:
    def __init__(self, request, score):
        self.request, self.score = request, score


class GraphRequest:
    def __init__(self):
        self.x = torch.randn(128, 128)
        self.edge_weight = torch.rand(4096)
        self.edges = torch.randint(0, 128, (2, 1)).expand(2, 4096)
        self.answer = None

    @torch.no_grad()
    def run(self):
        adj = torch.zeros(128, 128)
        adj[self.edges[0, :1], self.edges[1, :1]] = self.edge_weight.sum()
        self.answer = Answer(self, (adj @ self.x).mean().item())
        return self.answer.score


def serve():
    score = GraphRequest().run()
    gc.freeze()                      # "keeps the pauses of gc short"
    return score


total = 0.0
for step in range(1, 67):
    total += serve()
    at(step)
print(round(total, 3), gc.get_freeze_count() > 0)
