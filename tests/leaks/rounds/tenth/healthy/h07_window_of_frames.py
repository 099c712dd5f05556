"""The window has 12 frames (full at step 12), the partition collects 5 and gives them away: 0 to 4 frames, so 20, 40, 60 see the same."""
# about: A stream of frames with a sliding window and a partition: both keep frames, both are bounded.
# report: "streamz sliding_window holds references"
# kind: streams of data, window and partition
# library: streamz
# /// healthy
# dumps = "asks"
# ///
import torch
from streamz import Stream
from torch import nn

from ask import at


def main():
    torch.manual_seed(0)
    net = nn.Conv1d(12, 4, 5).eval()
    source = Stream()
    scores = []

    def score(window):
        with torch.no_grad():
            scores.append(float(net(torch.stack(window)[None]).mean()))
        del scores[:-50]

    totals = []
    source.sliding_window(12, return_partial=False).sink(score)
    source.partition(5).map(lambda frames: torch.stack(frames).amax(0)).sink(lambda m: totals.__setitem__(slice(None), [m]))
    g = torch.Generator().manual_seed(0)
    for i in range(1, 121):
        source.emit(torch.randn(16000, generator=g))
        at(i)
    print(scores[-1], totals[0].mean().item())


if __name__ == "__main__":
    main()
