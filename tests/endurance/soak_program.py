"""A training program that does, over and over, what training programs do: the target of soak.py.

A round: steps of a small GPT-2 on texts of varied length, errors in forward and backward that are caught, allocations that
fail, threads that come and go and leave tensors behind, a DataLoader's worker processes, evaluation, a generation with a cache,
a recording that begins and ends, values that are watched for a while. At a round's end everything it made is freed, and a row
is written to SOAK_DIR/rounds.csv. A thread writes a row every few seconds to SOAK_DIR/samples.csv.

Arguments: seconds to run, steps of a round.
"""

import csv
import ctypes
import gc
import os
import pathlib
import queue
import random
import sys
import threading
import time

import torch
import transformers
from torch import nn
from torch.utils.data import DataLoader, Dataset

import libtensorscope
import truth

FOLDER = pathlib.Path(os.environ["SOAK_DIR"])
SECONDS, STEPS = float(sys.argv[1]), int(sys.argv[2])
SAMPLE_SECONDS = 5
VOCABULARY = 256
COLUMNS = ["seconds", "round", "step", "recording", "own_mapped", "own_resident", "own_heap", "own_ranges", "library", "stacks",
           "own", "process", "threads"]


class OwnMemory(ctypes.Structure):
    _fields_ = [("mapped", ctypes.c_uint64), ("resident", ctypes.c_uint64), ("ranges", ctypes.c_uint64),
                ("lost_ranges", ctypes.c_uint64), ("heap", ctypes.c_int64)]


def own_memory():
    """The profiler's own memory, in bytes: pages and heap blocks as own_memory.c has them, what is written in the library's own
    segments, and the stacks of its threads."""
    counted = OwnMemory()
    ctypes.CDLL(None).own_memory(ctypes.byref(counted))
    assert counted.lost_ranges == 0, "own_memory.c has too little room for ranges"
    pointers, library, resident_stacks, inside = stack_pointers(), 0, 0, False
    for line in pathlib.Path("/proc/self/smaps").read_text(errors="replace").splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            begin, end = (int(part, 16) for part in words[0].split("-"))
            inside = line.endswith("libtensorscope.so")
            resident_stacks += sum(resident(begin, min(end, (at | 0xffff) + 1)) for at in pointers if begin <= at < end)
        elif inside and words[0] == "Anonymous:":
            library += int(words[1]) * 1024
    return {"own_mapped": counted.mapped, "own_resident": counted.resident, "own_heap": counted.heap,
            "own_ranges": counted.ranges, "library": library, "stacks": resident_stacks,
            "own": counted.resident + counted.heap + library + resident_stacks}


def resident(begin, end):
    """Of these pages, in bytes. A thread that waits is at the beginning of its stack: what lies far above is not its own."""
    present = (ctypes.c_ubyte * ((end - begin) // 4096))()
    if ctypes.CDLL(None).mincore(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), present) != 0:
        return 0
    return sum(page & 1 for page in present) * 4096


def stack_pointers():
    found = []
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            if (task / "comm").read_text().startswith("tensorscope"):
                found.append(int((task / "syscall").read_text().split()[-2], 16))
        except (OSError, IndexError):  # it has ended, or runs just now
            pass
    return found


def process_memory():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096


class Rows:
    def __init__(self, name, columns):
        self.file = open(FOLDER / name, "w", newline="")
        self.writer = csv.DictWriter(self.file, columns)
        self.writer.writeheader()

    def add(self, **row):
        self.writer.writerow(row)
        self.file.flush()


STATE = {"round": 0, "step": 0, "recording": 0}
BEGUN = []  # once it is loaded


def row_now():
    return {"seconds": round(time.monotonic() - BEGUN[0], 1), **STATE, **own_memory(), "process": process_memory(),
            "threads": threading.active_count()}


def sample(stop):
    rows = Rows("samples.csv", COLUMNS)
    while not stop.wait(SAMPLE_SECONDS):
        rows.add(**row_now())


class Texts(Dataset):
    def __init__(self, count, generator):
        self.lengths = [generator.randint(4, 48) for _ in range(count)]

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, index):
        return torch.randint(0, VOCABULARY, (self.lengths[index],))


def padded(texts):
    return nn.utils.rnn.pad_sequence(texts, batch_first=True)


class Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.exp())
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        torch.ones(64, 64).add_(gradient.sum())
        raise ValueError("backward fails")


class Trainer:
    def __init__(self):
        config = transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=64, n_embd=48, n_layer=2, n_head=4, bos_token_id=0,
                                         eos_token_id=0)
        self.model = transformers.GPT2LMHeadModel(config)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.failures = 0

    def step(self, batch, fails=""):
        self.optimizer.zero_grad(set_to_none=True)
        output = self.model(batch, labels=batch)
        loss = output.loss
        if fails == "forward":
            scores = output.logits.softmax(-1)
            raise RuntimeError(f"forward fails with {scores.shape}")
        if fails == "backward":
            loss = Failing.apply(output.logits).mean()
        if fails == "memory":
            output.logits.new_empty(1 << 46)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()

    def guarded_step(self, batch, fails):
        try:
            self.step(batch, fails)
        except (RuntimeError, ValueError):
            self.failures += 1
            if not fails:
                raise

    def evaluate(self, batch):
        self.model.eval()
        with torch.no_grad():
            self.model(batch)
            self.model.generate(batch[:1, :4], max_new_tokens=8, do_sample=False, pad_token_id=0)
        self.model.train()


def leave_tensors(trainer, left, seed):
    generator = random.Random(seed)
    for _ in range(8):
        with torch.no_grad():
            logits = trainer.model(torch.randint(0, VOCABULARY, (1, generator.randint(4, 32)))).logits
        left.put(logits)
        left.put(logits[0])
    (torch.ones(generator.randint(1, 64), requires_grad=True).exp().sum()).backward()


def threads_come_and_go(trainer, number):
    left = queue.Queue()
    threads = [threading.Thread(target=leave_tensors, args=(trainer, left, number * 4 + i), name=f"work-{i}") for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while not left.empty():
        left.get()


FAILURES = {7: "forward", 13: "backward", 23: "memory"}


def train_round(trainer, number, generator):
    texts = Texts(4 * STEPS, generator)
    batches = [texts[i] for i in range(len(texts))]
    for step in range(STEPS):
        STATE["step"] += 1
        size = generator.randint(1, 4)
        trainer.guarded_step(padded(batches[4 * step:4 * step + size]), FAILURES.get(step % 31, ""))
        if step % 50 == 10:
            threads_come_and_go(trainer, number * STEPS + step)
        if step % 50 == 20:
            trainer.evaluate(padded(batches[4 * step:4 * step + 2]))
        if step % 20 == 0:
            libtensorscope.save("round", float(number))
        if step == STEPS // 4:
            STATE["recording"] = 1
            libtensorscope.start_recording()
        if step == STEPS // 2:
            libtensorscope.stop_recording()
            STATE["recording"] = 0
            libtensorscope.start_values()
        if step == STEPS // 2 + 10:
            libtensorscope.stop_values()
    for batch in DataLoader(Texts(16, generator), batch_size=4, num_workers=2, collate_fn=padded):
        trainer.guarded_step(batch, "")
    trainer.optimizer.zero_grad(set_to_none=True)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.multiprocessing.set_sharing_strategy("file_system")
    libtensorscope.stop_values()
    generator = random.Random(0)
    trainer = Trainer()
    rounds = Rows("rounds.csv", COLUMNS)
    BEGUN.append(time.monotonic())
    stop = threading.Event()
    sampler = threading.Thread(target=sample, args=(stop,), name="sampler", daemon=True)
    sampler.start()
    print("ready", flush=True)
    while time.monotonic() - BEGUN[0] < SECONDS:
        STATE["round"] += 1
        train_round(trainer, STATE["round"], generator)
        gc.collect()
        (FOLDER / "resting").touch()  # the driver asks for no dump meanwhile
        libtensorscope.dump()  # waits for those that were asked for
        time.sleep(3)
        rounds.add(**row_now())
        if STATE["round"] == 3:
            truth.moment("early")
        (FOLDER / "resting").unlink()
    (FOLDER / "resting").touch()
    stop.set()
    sampler.join()
    gc.collect()
    truth.moment("end", rounds=STATE["round"], steps=STATE["step"], failures=trainer.failures)
    print(f"{STATE['round']} rounds, {STATE['step']} steps, {trainer.failures} failures caught", flush=True)


main()
