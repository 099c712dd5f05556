"""A tree whose new root still points to its parent, so that the played part of the tree and all siblings stay, with anytree."""
# after: "MCTS agent: memory grows during the game although only the current root is kept" (AlphaZero repositories)
# fix: root.parent = None after a move
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holders = ["root._NodeMixin__parent", "child._NodeMixin__parent"]  # root.parent (anytree's NodeMixin keeps it as _NodeMixin__parent), and from there the children lists; both: root.parent and the loop variable child (a sibling of root, its parent is the old root, too)
# lines = ["board = board.clone()"]
# bytes = 98304  # 6 children a move, each with a state of 64*64*4 = 16 KiB: 96 KiB of tensors a step; measured KiB a step (20 to 40, 40 to 60): storages of tensors 96.0, 96.0; all malloc'd 102.7, 102.7 (with FIX: 0.0, 0.0; 0.8, 0.1)
# ///
import os
import torch
from torch import nn
from anytree import Node
from ask import at

torch.manual_seed(0)
net = nn.Sequential(nn.Flatten(), nn.Linear(64 * 64, 32), nn.Tanh(), nn.Linear(32, 1))


def play(board, move):
    board = board.clone()
    board[move] += 1.0
    board[:, move] -= 0.5
    return board


def expand(node):
    for move in range(6):
        child = Node(f"m{move}", parent=node)
        child.board = play(node.board, move)
        with torch.no_grad():
            child.value = net(child.board[None]).item()


root = Node("start")
root.board = torch.zeros(64, 64)
for turn in range(1, 101):
    expand(root)
    with torch.no_grad():  # some rollouts from every child
        for child in root.children:
            for _ in range(10):
                child.value += 0.01 * net(child.board[None] + torch.randn(64, 64)).item()
    root = max(root.children, key=lambda n: n.value)
    if os.environ.get("FIX"):
        root.parent = None
    if turn % 25 == 0:
        print("turn", turn, root.name, round(root.value, 3), flush=True)
    at(turn)
