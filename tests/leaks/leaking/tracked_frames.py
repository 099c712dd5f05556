"""A video predictor keeps the outputs of every frame that it tracked, though it attends to the last few only."""
# facebookresearch/sam2#264: SAM2 for segmenting a 2 hour video?
# /// leak
# dumps = "requests"
# kinds = ["container"]
# holder = "non_cond_frame_outputs"
# lines = ["features = "]
# bytes = 20736  # 16 x 16 x 16 floats of memory, a mask of 32 x 32, a pointer of 64
# ///
import sys

import torch
from torch import nn


class VideoPredictor(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.mask, self.pointer = nn.Conv2d(3, 16, 2, 2), nn.Conv2d(3, 1, 1), nn.Linear(16, 64)

    def init_state(self):
        return {"output_dict": {"cond_frame_outputs": {}, "non_cond_frame_outputs": {}}, "num_frames": 0}

    def track_step(self, frame, earlier):
        features = self.encoder(frame)
        for out in earlier:
            features = features + 0.1 * out["maskmem_features"]
        return {"maskmem_features": features, "pred_masks": self.mask(frame), "obj_ptr": self.pointer(features.mean((1, 2)))}

    @torch.no_grad()
    def propagate(self, state, frame):
        outputs = state["output_dict"]["non_cond_frame_outputs"]
        number = state["num_frames"]
        outputs[number] = self.track_step(frame, [outputs[i] for i in range(max(0, number - 6), number)])
        state["num_frames"] += 1
        return outputs[number]["pred_masks"]


predictor = VideoPredictor()
inference_state = predictor.init_state()
for line in sys.stdin:
    print((predictor.propagate(inference_state, torch.randn(3, 32, 32)) > 0).sum().item(), flush=True)
