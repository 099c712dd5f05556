"""weakref.finalize gets a bound method of the object that it waits for: no engine ever goes, and with it no cache."""
# vllm-project/vllm#52124: [Renderer] Shutdown the renderer properly.
# /// leak
# dumps = "requests"
# kinds = ["container", "module-cache"]
# holder = "finalize"
# lines = ["self.processor_cache ="]
# bytes = 36864  # 96 x 96 floats
# ///
import sys
import weakref

import torch


class Renderer:
    def __init__(self):
        self.processor_cache = torch.rand(96, 96)
        self._finalizer = weakref.finalize(self, self.shutdown)

    def shutdown(self):
        self.processor_cache = None

    def render(self, prompt):
        return (self.processor_cache @ prompt).mean().item()


for line in sys.stdin:
    print(Renderer().render(torch.rand(96)), flush=True)
