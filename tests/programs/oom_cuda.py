"""Memory of a CUDA device runs out at the places that the arguments name; what a program can see of it is printed."""
import ctypes
import sys
import threading
import time

import torch

MEBIBYTE = 1 << 20
double = ctypes.CDLL(f"libcudart.so.{torch.version.cuda.split('.')[0]}")
double.fake_cuda_fail.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64]
CALLS = (b"cudaMalloc", b"cuMemCreate", b"cudaMallocAsync", b"cudaHostAlloc")
kept = [torch.ones(1000, device="cuda") for _ in range(10)]


def from_now_on(count):
    """That many calls of the runtime that allocate fail, each kind counted by itself."""
    for call in CALLS:
        double.fake_cuda_fail(call, 1 if count else 0, count)


def fails(x):
    temporary = x + 1
    return torch.empty(1 << 40, dtype=torch.uint8, device=x.device), temporary


def fails_with_the_gil(x):
    temporary = x + 1
    return torch.UntypedStorage(1 << 40, device=x.device), temporary


class FailsInBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return fails(gradient)


def plain():
    fails(kept[0])


def with_the_gil():
    fails_with_the_gil(kept[0])


def second_device():
    fails(torch.ones(1000, device="cuda:1"))


def python_backward():
    FailsInBackward.apply(torch.ones(1000, device="cuda", requires_grad=True)).sum().backward()


def forward(weight):
    return weight.cumsum(0)


def native_backward():
    loss = forward(torch.ones(3 * MEBIBYTE, device="cuda", requires_grad=True)).sum()
    gradient = torch.ones_like(loss)
    torch.cuda.empty_cache()
    from_now_on(1000)
    loss.backward(gradient)


def pinned():
    from_now_on(1)
    torch.empty(MEBIBYTE, pin_memory=True)


def pin_memory_thread():
    rows = torch.ones(64, 1000)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(rows), batch_size=32, num_workers=1, pin_memory=True)
    from_now_on(1000)
    batches = iter(loader)
    try:
        for _ in batches:
            print("a batch")
    finally:
        batches._shutdown_workers()  # or its thread meets the interpreter's end, and it is luck what it still says


def compiled():
    def grow(x, times):
        temporary = x + 1
        return temporary.repeat(times)

    quick = torch.compile(grow, backend="aot_eager")
    quick(kept[0], 2), quick(kept[0], 3)
    quick(kept[0], 1 << 28)


def at_once(works):
    together = threading.Barrier(len(works))

    def work(one):
        together.wait()
        caught(one)

    threads = [threading.Thread(target=work, args=(one,)) for one in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def two_threads():
    at_once([lambda: fails(kept[0]), lambda: fails_with_the_gil(kept[1])])


def four_threads_often():
    def work(place):
        for _ in range(25):
            try:
                place(kept[0])
            except torch.OutOfMemoryError:
                pass

    at_once([lambda: work(fails), lambda: work(fails_with_the_gil)] * 2)


def during_a_dump():
    """Dumps that others ask for are written all the while."""
    try:
        import libtensorscope
    except ImportError:
        libtensorscope = None
    done = threading.Event()

    def ask():
        while libtensorscope and not done.is_set():
            libtensorscope.dump()

    asking = threading.Thread(target=ask)
    asking.start()
    for _ in range(5):
        caught(plain)
        caught(with_the_gil)
    done.set()
    asking.join()


def thousand():
    for _ in range(1000):
        try:
            fails(kept[0])
        except torch.OutOfMemoryError:
            pass
    print("a thousand")


def retry():
    batch = 1 << 34
    while True:
        try:
            rows = torch.empty(batch, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError:
            batch //= 2
            continue
        print(batch, rows.numel())
        return


def uncaught():
    fails(kept[0])


def caught(place):
    try:
        place()
    except RuntimeError as error:
        # What follows counts memory that another thread may just be giving back.
        said = str(error).splitlines()[0].split(". GPU")[0]
        print(f"{type(error).__name__}: {said}\n", end="", flush=True)
    finally:
        from_now_on(0)


def settled():
    """What the program holds, once the engine's threads have given back what they had."""
    for _ in range(1000):
        if torch.cuda.memory_allocated() == len(kept) * 4096:
            break
        time.sleep(0.01)
    return torch.cuda.memory_allocated()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        place = globals()[name]
        if place in (two_threads, four_threads_often, during_a_dump, thousand, retry, uncaught):
            place()
        else:
            caught(place)
        print("goes on", settled(), flush=True)
