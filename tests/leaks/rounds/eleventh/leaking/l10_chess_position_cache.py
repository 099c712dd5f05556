"""Transposition table, dict of strings -> tensors, with python-chess."""
# after: "self-play runs out of RAM": a table of evaluated positions by FEN without a limit
# fix: clear the table at the start of each game: player.table.clear()
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "player.table"  # player.table (dict FEN -> (value, policy features))
# lines = ["features = self.trunk(planes(board)[None])[0].relu()"]
# bytes = [15600, 16000]  # 15600 to 16000 (each move evaluates one position: features 32x64 float32 = 8192 B and value 4 B; 2 moves a step. Some positions repeat)
# ///
import os
import random

import chess
import torch
import torch.nn as nn
from ask import at

torch.manual_seed(0)
random.seed(0)


def planes(board):
    x = torch.zeros(12, 64)
    for square, piece in board.piece_map().items():
        x[piece.piece_type - 1 + (0 if piece.color else 6), square] = 1
    return x


class Player:
    def __init__(self):
        self.trunk = nn.Sequential(nn.Conv1d(12, 32, 3, padding=1), nn.ReLU(), nn.Conv1d(32, 32, 3, padding=1))
        self.value = nn.Linear(32 * 64, 1)
        self.table = {}

    @torch.no_grad()
    def evaluate(self, board):
        fen = board.fen()
        if fen not in self.table:
            features = self.trunk(planes(board)[None])[0].relu()
            self.table[fen] = (torch.tanh(self.value(features.flatten())), features)
        return self.table[fen]

    def choose(self, board):
        value, features = self.evaluate(board)
        moves = list(board.legal_moves)
        weights = [1.0 + float(features[:, m.to_square].mean()) for m in moves]
        return random.choices(moves, weights)[0]


player, board, games = Player(), chess.Board(), 0
for step in range(1, 141):
    for _ in range(2):
        if board.is_game_over() or board.fullmove_number > 15:
            board.reset()
            games += 1
            if os.environ.get("FIX"):
                player.table.clear()
        board.push(player.choose(board))
    at(step)
print("positions", len(player.table), "games", games)
