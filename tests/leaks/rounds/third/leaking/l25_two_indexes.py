"""Results are in two indexes, by class and by time; cutting one frees nothing."""
# after: pytorch's forum: pattern of two indexes
# fix: both: drop old results from timeline and from by_label[label] together (one owner, the other with ids)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holders = ["index.by_label", "index.timeline"]
# lines = ["index.add(Result(step, step % 7, projector(x)))"]
# bytes = 65536  # 64 x 256 floats
# ///
from collections import defaultdict
import attrs
import torch
from einops import rearrange
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)


@attrs.define
class Result:
    step: int
    label: int
    embedding: torch.Tensor


@attrs.define
class Index:
    by_label: dict = attrs.field(factory=lambda: defaultdict(list))
    timeline: list = attrs.field(factory=list)

    def add(self, result):
        self.by_label[result.label].append(result)
        self.timeline.append(result)

    def latest(self, label):
        return self.by_label[label][-1].embedding


projector = torch.nn.Linear(16, 256).requires_grad_(False)
index = Index()
s = 0.0
for step in range(1, 67):
    x = rearrange(torch.randn(8, 16, 8), "b c t -> (b t) c")
    index.add(Result(step, step % 7, projector(x)))
    s += index.latest(step % 7).mean().item()
    at(step)
print(len(index.timeline), round(s, 4))
