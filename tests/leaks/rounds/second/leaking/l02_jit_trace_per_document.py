"""Every trace has the mask that it closed over in its graph, and traces are cached by document."""
# after: pytorch/pytorch: torch.jit.trace of a closure for each input
# fix: pass the mask as an argument, one trace for all documents
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache", "cpp-only"]
# holder = "traces"
# lines = ["mask = torch.tril(", "return torch.jit.trace("]
# bytes = 65536  # 128 x 128 floats, a constant of the traced graph; some KiB of the graph outside tensors
# ///
import torch
from ask import at

torch.manual_seed(0)
N, D = 128, 32
traces = {}
weight = torch.randn(D, D) / D ** 0.5


def specialise(n):
    mask = torch.tril(torch.ones(n, n))

    def attend(q):
        k = q @ weight
        scores = (q @ k.t()) * mask
        return torch.softmax(scores, -1) @ q

    return torch.jit.trace(attend, (torch.zeros(n, D),), check_trace=False)


def run_document(document, q):
    if document not in traces:
        traces[document] = specialise(q.shape[0])
    return traces[document](q)


total = 0.0
for step in range(1, 67):
    q = torch.randn(N, D)
    out = run_document(f"doc-{step}", q)
    total += out.mean().item()
    del q, out
    at(step)
print("mean", total / 66, "traces", len(traces))
