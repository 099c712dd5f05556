"""Beam search: hypotheses refer to those that they extend, each with a state of its own; all go with the answer."""
# /// healthy
# dumps = "requests"
# ///
import sys

import torch
from torch import nn


class Hypothesis:
    def __init__(self, parent, token, score, state):
        self.parent, self.token, self.score, self.state = parent, token, score, state

    def tokens(self):
        node, tokens = self, []
        while node is not None:
            tokens.append(node.token)
            node = node.parent
        return tokens[::-1]


cell, head = nn.GRUCell(32, 512), nn.Linear(512, 32)


@torch.no_grad()
def generate(prompt, width=4, length=8):
    beams, finished = [Hypothesis(None, prompt, 0.0, torch.zeros(1, 512))], []
    for _ in range(length):
        grown = []
        for beam in beams:
            state = cell(nn.functional.one_hot(torch.tensor([beam.token]), 32).float(), beam.state)
            scores, tokens = head(state).log_softmax(1).topk(width)
            grown += [Hypothesis(beam, token, beam.score + score, state) for score, token in zip(scores[0].tolist(), tokens[0].tolist())]
        beams = sorted(grown, key=lambda beam: -beam.score)[:width]
        finished += [beam for beam in beams if beam.token == 0]
    return max(finished + beams, key=lambda beam: beam.score)


best = None
for line in sys.stdin:
    answer = generate(int(line) % 32)
    if best is None or answer.score > best.score:
        best = answer
    print(answer.tokens(), best.score, flush=True)
