"""A pool of 6 blocks of 128 KiB; torch.frombuffer views of them; closed and unlinked at the end."""
# report: "shared memory for frames grows": six slots, made in the first six steps, then used again
# looks like: mapped memory that is touched for the first time in the first steps
# library: standard library (multiprocessing.shared_memory)
# /// healthy
# dumps = "asks"
# ///
import torch
from multiprocessing import shared_memory
from ask import at

torch.manual_seed(0)
slots = []


def slot(step):
    if len(slots) < 6:
        slots.append(shared_memory.SharedMemory(create=True, size=128 * 1024))
    return slots[step % len(slots)]


def main():
    total = 0.0
    net = torch.nn.Linear(256, 16)
    for step in range(1, 71):
        frame = torch.frombuffer(slot(step).buf, dtype=torch.float32, count=128 * 256).view(128, 256)
        frame.copy_(torch.rand(128, 256))
        with torch.inference_mode():
            total += net(frame).mean().item()
        del frame
        at(step)
    print(total)


main()
for block in slots:
    block.close()
    block.unlink()
