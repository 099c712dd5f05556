"""os.fork, a fork in a thread, multiprocessing fork, spawn and forkserver: each process has its own dumps."""
import multiprocessing
import multiprocessing.forkserver
import os
import sys
import threading

import torch

import truth

parent_tensor = torch.ones(100)


def child(name):
    mine = torch.zeros(50)
    truth.moment(name, mine=mine._cdata, inherited=parent_tensor._cdata)


def fork_here(name):
    pid = os.fork()
    if pid == 0:
        child(name)
        os._exit(7)
    return ended(pid)


def ended(pid):
    status = os.waitpid(pid, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)


def main():
    print("fork", fork_here("forked"))
    statuses = []
    thread = threading.Thread(target=lambda: statuses.append(fork_here("thread-forked")))
    thread.start()
    thread.join()
    print("thread fork", statuses)
    multiprocessing.set_forkserver_preload(["torch"])
    for method in ("fork", "spawn", "forkserver"):
        process = multiprocessing.get_context(method).Process(target=child, args=(f"mp-{method}",))
        process.start()
        process.join()
        print(method, process.exitcode)
    multiprocessing.forkserver._forkserver._stop()  # waits for its end, as nothing else does
    pid = os.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", "import sys; print('executed', flush=True); sys.exit(5)"])
    print("exec", ended(pid))
    truth.moment("parent")


if __name__ == "__main__":
    main()
