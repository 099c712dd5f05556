"""Host memory runs out under RLIMIT_AS, at the places that the arguments name; what a program can see of it is printed."""
import ctypes
import os
import resource
import sys
import threading

import torch

TOO_MUCH = 64 << 30
kept = [torch.ones(1000) for _ in range(10)]


def leave(nbytes):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + nbytes, resource.RLIM_INFINITY))


def fails(x):
    temporary = x + 1
    return torch.empty(TOO_MUCH, dtype=torch.uint8), temporary


class FailsInBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return fails(gradient)


def plain():
    fails(kept[0])


def custom_backward():
    FailsInBackward.apply(torch.ones(1000, requires_grad=True)).sum().backward()


def compiled():
    def grow(x, times):
        temporary = x + 1
        return temporary.repeat(times)

    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))  # compile() imports a lot
    quick = torch.compile(grow, backend=os.environ.get("OOM_BACKEND", "aot_eager"))
    assert quick(kept[0], 2).numel() == quick(kept[0], 3)[:2000].numel()
    leave(1 << 30)
    quick(kept[0], TOO_MUCH // 4000)


def two_threads():
    together = threading.Barrier(2)

    def work(place):
        together.wait()
        caught(place)

    threads = [threading.Thread(target=work, args=(place,)) for place in (
        lambda: fails(kept[0]),
        lambda: fails(kept[1]))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def thousand():
    for _ in range(1000):
        caught(plain, say=False)
    print("a thousand")


def retry():
    """As a trainer does that makes its batch smaller until it fits."""
    batch = 1 << 34
    while True:
        try:
            rows = torch.zeros(batch, 2)
        except RuntimeError:
            batch //= 1 << 12
            continue
        print(batch, float(rows.sum()))
        return


def same_name():
    """An exception of a class of the same name that is not torch's, thrown and caught in a library of the program."""
    first, second = (ctypes.CDLL(path) for path in os.environ["OOM_SAME_NAME"].split(":"))
    print("same name", first.throws_a_namesake(), second.throws_a_namesake_with_a_base(), second.throws_often(1000))


def uncaught():
    fails(kept[0])


def in_a_child():
    caught(plain)
    child = os.fork()
    if child == 0:
        caught(lambda: fails(kept[2]))
        sys.stdout.flush()
        os._exit(0)
    print(os.waitpid(child, 0)[1])


def caught(place, say=True):
    try:
        place()
    except RuntimeError as error:
        if say:
            print(f"{type(error).__name__}: {str(error).splitlines()[0]}\n", end="", flush=True)


if __name__ == "__main__":
    leave(int(os.environ.get("OOM_LEAVE", 256 << 20)))
    for name in sys.argv[1:]:
        place = globals()[name]
        if place in (thousand, two_threads, retry, same_name, in_a_child, uncaught):
            place()
        else:
            caught(place)
        print("goes on", float(kept[0].sum()), flush=True)
