"""At most 8 individuals in the hall of fame, full in the first generation; children replace their parents. The Logbook grows by a small dict of floats in each generation (about 300 bytes)."""
# report: "evolution keeps all individuals?": HallOfFame(8) and a Logbook of a few numbers
# library: deap
# /// healthy
# dumps = "asks"
# ///
import random

import numpy as np
import torch
from deap import algorithms, base, creator, tools
from ask import at

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)
X = torch.randn(300, 20)
Y = X.pow(2).mean(1)
creator.create("Fitness", base.Fitness, weights=(-1.0,))
creator.create("Individual", list, fitness=creator.Fitness)


def evaluate(individual):
    w = individual[0]
    out = torch.tanh(X @ w[:640].view(20, 32)) @ w[640:]
    return ((out - Y).pow(2).mean().item(),)


def mate(a, b):
    mask = torch.rand(672) < 0.5
    a[0], b[0] = torch.where(mask, a[0], b[0]), torch.where(mask, b[0], a[0])
    return a, b


def mutate(individual):
    individual[0] = individual[0] + 0.05 * torch.randn(672)
    return (individual,)


box = base.Toolbox()
box.register("evaluate", evaluate)
box.register("mate", mate)
box.register("mutate", mutate)
box.register("select", tools.selTournament, tournsize=3)
population = [creator.Individual([torch.randn(672) * 0.2]) for _ in range(24)]
best = tools.HallOfFame(8, similar=lambda a, b: torch.equal(a[0], b[0]))
book = tools.Logbook()
for one in population:
    one.fitness.values = evaluate(one)
for generation in range(1, 71):
    children = algorithms.varAnd(box.select(population, 24), box, 0.5, 0.5)
    for one in children:
        if not one.fitness.valid:
            one.fitness.values = evaluate(one)
    best.update(children)
    population = children
    book.record(gen=generation, best=best[0].fitness.values[0])
    if generation % 20 == 0:
        print(generation, best[0].fitness.values[0], flush=True)
    at(generation)
