"""History of a library, outside tensors (numpy individuals), with deap."""
# after: DEAP group "tools.History eats all memory": every individual ever made is kept for the genealogy graph
# fix: do not decorate with history.decorator
# /// leak
# dumps = "asks"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "history.genealogy_history"  # history.genealogy_history (dict index -> individual)
# lines = []
# bytes = 169700  # 158,720 (20 x 992 float64 in numpy; malloc in use 159,500 to 161,900 and 160 small Python objects); correction: 169,700 with the Python objects around the arrays; the user's lines are 51 and 49
# ///
import os
import random

import numpy as np
import torch
from deap import base, creator, tools
from ask import at

random.seed(0)
torch.manual_seed(0)
X = torch.randn(200, 30)
Y = torch.sin(X.sum(1))
SIZE = 30 * 32 + 32

creator.create("Fitness", base.Fitness, weights=(-1.0,))
creator.create("Individual", np.ndarray, fitness=creator.Fitness)


def evaluate(individual):
    w = torch.from_numpy(np.asarray(individual))
    hidden = torch.tanh(X @ w[:960].view(30, 32).float())
    return (torch.mean((hidden @ w[960:].float() - Y) ** 2).item(),)


def mutate(individual, sigma):
    individual += np.random.normal(0, sigma, individual.shape)
    return (individual,)


box = base.Toolbox()
box.register("individual", lambda: creator.Individual(np.random.normal(0, 0.3, SIZE)))
box.register("mutate", mutate, sigma=0.05)
box.register("select", tools.selTournament, tournsize=3)
history = tools.History()
if not os.environ.get("FIX"):
    box.decorate("mutate", history.decorator)
population = [box.individual() for _ in range(20)]
for generation in range(1, 71):
    for one in population:
        one.fitness.values = evaluate(one)
    parents = box.select(population, len(population))
    children = [box.clone(p) for p in parents]
    for child in children:
        box.mutate(child)
        del child.fitness.values
    best = min(p.fitness.values[0] for p in population)
    population = children
    if generation % 20 == 0:
        print(generation, best, flush=True)
    at(generation)
