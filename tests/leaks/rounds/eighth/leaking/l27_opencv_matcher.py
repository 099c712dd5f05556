"""C++ object keeps buffers, with opencv-python-headless."""
# after: issue "BFMatcher.add in a loop: memory grows" (train descriptors are kept in C++ until clear())
# fix: matcher.clear() every 10 steps (FIX)
# /// leak
# dumps = "asks"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "matcher"  # `matcher` (cv2.BFMatcher, its train descriptors)
# lines = []
# bytes = 32768  # 64 x 128 x 4 = 32768 a step; outside tensors; measured malloc in use +33.5..34.1 KB a step
# ///
import os
import cv2
import torch
from ask import at

torch.manual_seed(0)
cv2.setNumThreads(1)
describe = torch.nn.Linear(32, 128)
matcher = cv2.BFMatcher(cv2.NORM_L2)


def main():
    for step in range(1, 71):
        with torch.inference_mode():
            descriptors = describe(torch.randn(64, 32))
        matcher.add([descriptors.numpy().copy()])
        if os.environ.get("FIX") and step % 10 == 0:
            matcher.clear()
        at(step)
    print(len(matcher.getTrainDescriptors()))


main()
