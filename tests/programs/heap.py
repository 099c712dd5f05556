"""What the bridge's probe (first argument) says of Python's heap, beside what sys._debugmallocstats() prints; before and
after a million objects. Needs no torch."""
import sys

import bridge
import python_heap

probe = bridge.attached(sys.argv[1])
kept = []
for number in (0, 1_000_000):
    kept.extend((i,) for i in range(number))
    arenas, in_use, detail = bridge.heap(probe)
    known_arenas, known_in_use = python_heap.own_words() or (0, 0)
    print(arenas, in_use, known_arenas, known_in_use, detail)
