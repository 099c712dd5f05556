"""Tensors made in comprehensions, generator expressions and lambdas: the program's own, and a library's.

The numbers of elements tell the tensors apart; comments name the lines for the test.
"""

import pathlib
import sys

import torch

packages = pathlib.Path(sys.argv[1]) / "site-packages"
packages.mkdir()
(packages / "shelves.py").write_text(
    "import torch\n"
    "def make(size):\n"
    "    return [torch.zeros(size + i) for i in range(2)]\n"
    "def apply(function, size):\n"
    "    return [function(size + i) for i in range(2)]\n")
sys.path.insert(0, str(packages))
import shelves


def in_list():
    return [torch.zeros(1000 + i) for i in range(2)]  # in_list


def in_dict():
    return {i: torch.zeros(2000 + i) for i in range(2)}  # in_dict


def in_set():
    return {torch.zeros(3000 + i) for i in range(2)}  # in_set


def generated():
    return list(torch.zeros(4000 + i) for i in range(2))  # generated


class Shelf:
    def rows(self):
        return [
            torch.zeros(5000 + i)  # Shelf.rows
            for i in range(2)
        ]


def nested():
    return [[torch.zeros(6000 + i) for i in range(2)] for _ in range(2)]  # nested


def by_lambda():
    make = lambda size: torch.zeros(size)  # by_lambda.<locals>.<lambda>
    return [make(7000), make(7001)]


def in_library():
    return shelves.make(8000)  # in_library


def with_library():
    return [shelves.make(9000) for _ in range(2)]  # with_library


def given_to_library():
    return shelves.apply(lambda size: torch.zeros(size), 10000)  # given_to_library.<locals>.<lambda>


kept = [in_list(), in_dict(), in_set(), generated(), Shelf().rows(), nested(), by_lambda(), in_library(), with_library(),
        given_to_library()]
top = [torch.zeros(11000 + i) for i in range(2)]  # <module>
