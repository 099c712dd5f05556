"""One leak beside healthy holders of the same name: variables `seen` of threads, of recursion, of generators, coroutines,
asynchronous generators, asyncio tasks and closures; lists in a list, in a dict whose keys are written alike, in members of a
set. One of each kind grows, the others keep what they had."""

import asyncio
import ctypes
import queue
import threading

import libtensorscope as ts
import torch

KEPT = 4  # entries of those that do not grow
STEPS = 40


def entry():
    return torch.ones(2048)  # 8 KiB


def worker(jobs, done):
    seen = [entry() for _ in range(KEPT)]
    while (grow := jobs.get()) is not None:
        if grow:
            seen.append(entry())
        done.put(len(seen))


def producer():
    seen = [entry() for _ in range(KEPT)]
    while True:
        if (yield len(seen)):
            seen.append(entry())


async def task(grow, begin, end):
    seen = [entry() for _ in range(KEPT)]
    while True:
        await begin.get()
        if grow:
            seen.append(entry())
        end.put_nowait(len(seen))


async def stream():
    seen = [entry() for _ in range(KEPT)]
    while True:
        if (yield len(seen)):
            seen.append(entry())


def counter():
    seen = [entry() for _ in range(KEPT)]

    def count(grow):
        if grow:
            seen.append(entry())
        return len(seen)

    return count


class Held:
    pass


class Bag:
    def __init__(self):
        self.items = [entry() for _ in range(KEPT)]


def only_c_code_holds(thing):
    """A reference that nothing in Python explains, as an extension has it."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    return id(thing)


def thing_at(address):
    return ctypes.cast(address, ctypes.py_object).value


async def steps(held):
    loop_queues = [(asyncio.Queue(), asyncio.Queue()) for _ in range(2)]
    tasks = [asyncio.create_task(task(i == 0, *pair)) for i, pair in enumerate(loop_queues)]
    held.streams = {Held(): stream(), Held(): stream()}  # keys that are written alike: streams[Held]
    streams = list(held.streams.values())
    for each in streams:
        await each.asend(None)
    for step in range(STEPS):
        for i in range(2):
            jobs, done = held.threads[i]
            jobs.put(i == 0)
            done.get()
            held.generators[i].send(i == 0)
            (held.other_counter if i else held.counter)(i == 0)
            thing_at(held.in_c[i])(i == 0)
            if i == 0:
                thing_at(held.lists_in_c[i]).append(entry())
                held.counters[0].items.append(entry())
                next(iter(held.cache.values())).append(entry())
                next(iter(held.bags)).items.append(entry())
            loop_queues[i][0].put_nowait(None)
            await loop_queues[i][1].get()
            await streams[i].asend(i == 0)
        if step % (STEPS // 3) == 5:
            print(ts.dump(), flush=True)
    for each in tasks:
        each.cancel()


def recurse(left, held):
    seen = [entry() for _ in range(KEPT)]
    if left:
        return recurse(left - 1, held)
    held.recursion = seen
    del held.recursion
    return asyncio.run(steps(held))


def main():
    held = Held()
    held.threads = [(queue.Queue(), queue.Queue()) for _ in range(2)]
    threads = [threading.Thread(target=worker, args=pair, name=f"reader-{i}") for i, pair in enumerate(held.threads)]
    for each in threads:
        each.start()
    held.generators = {"first": producer(), "second": producer()}
    held.generators = list(held.generators.values())
    held.counter, held.other_counter = counter(), counter()
    held.counters = [Bag(), Bag()]
    held.cache = {Held(): [entry() for _ in range(KEPT)], Held(): [entry() for _ in range(KEPT)]}
    held.bags = {Bag(), Bag()}
    held.in_c = [only_c_code_holds(counter()) for _ in range(2)]
    held.lists_in_c = [only_c_code_holds([entry() for _ in range(KEPT)]) for _ in range(2)]
    for each in held.generators:
        next(each)
    recurse(1, held)
    for jobs, _ in held.threads:
        jobs.put(None)


main()
