"""A video predictor keeps the outputs of the last seven frames, in a dictionary by number."""
# /// healthy
# dumps = "requests"
# ///
import sys

import torch
from torch import nn

encoder, mask = nn.Conv2d(3, 16, 2, 2), nn.Conv2d(3, 1, 1)
state = {"output_dict": {"cond_frame_outputs": {}, "non_cond_frame_outputs": {}}}
outputs = state["output_dict"]["non_cond_frame_outputs"]
for number, line in enumerate(sys.stdin):
    frame = torch.randn(3, 32, 32)
    with torch.no_grad():
        features = encoder(frame) + sum(0.1 * out["maskmem_features"] for out in outputs.values())
        outputs[number] = {"maskmem_features": features, "pred_masks": mask(frame)}
    outputs.pop(number - 7, None)
    print((outputs[number]["pred_masks"] > 0).sum().item(), flush=True)
