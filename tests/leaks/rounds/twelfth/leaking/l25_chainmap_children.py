"""Chain of mappings that gets longer, with collections.ChainMap."""
# after: "scopes of settings: new_child() per step and never .parents" (interpreter-like pipelines with ChainMap)
# fix: scope = scope.parents at the end of the step (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "scope.maps"  # `scope.maps` (list of dicts; key `features`)
# lines = ["scope[\"features\"] = scope[\"model\"](scope[\"batch\"])", "scope = scope.new_child({\"batch\": torch.randn(64, 48)})"]
# bytes = 36864  # 64 x 48 x 4 + 64 x 96 x 4 = 36 KiB of tensor storages (measured); 37.6 KiB allocated bytes
# ///
import os
from collections import ChainMap

import torch
import torch.nn as nn

from ask import at

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(48, 96), nn.ReLU()).eval()
scope = ChainMap({"model": net, "threshold": 0.3})


@torch.no_grad()
def stage(scope):
    scope["features"] = scope["model"](scope["batch"])
    scope["hits"] = int((scope["features"] > scope["threshold"]).sum())


hits = 0
for i in range(1, 71):
    scope = scope.new_child({"batch": torch.randn(64, 48)})
    stage(scope)
    hits += scope["hits"]
    if os.environ.get("FIX"):
        scope = scope.parents
    at(i)
print(hits, len(scope.maps))
