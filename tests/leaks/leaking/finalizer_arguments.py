"""A tracker has a finalizer for each constant that it is given, and the constant is among the finalizer's own arguments."""
# iree-org/iree-turbine#281: [aot.export] Potential Memory Leak
# llvm/torch-mlir#3912: [ROO-91] memory leak ad-hoc fix
# /// leak
# dumps = "requests"
# kinds = ["container", "module-cache"]
# holder = "_registry"
# lines = ["constant = "]
# bytes = 16384  # 64 x 64 floats
# ///
import sys
import weakref

import torch


class RefTracker:
    def __init__(self):
        self.names = {}

    def track(self, constant):
        self.names[id(constant)] = f"constant_{len(self.names)}"
        weakref.finalize(constant, self.forget, constant)

    def forget(self, constant):
        del self.names[id(constant)]


def export(tracker, seed):
    torch.manual_seed(seed)
    constant = torch.rand(64, 64)
    tracker.track(constant)
    return constant.sum().item()


tracker = RefTracker()
for line in sys.stdin:
    print(export(tracker, int(line)), flush=True)
