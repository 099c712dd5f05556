"""Recurrent networks, custom autograd Functions, graphs of several parts."""
import torch
from torch import nn
from torch.nn import functional

from remedy_trial import program




class Tagger(nn.Module):
    def __init__(self, width=256, layers=2, words=8000):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True, bidirectional=True)
        self.output = nn.Linear(2 * width, words)

    def forward(self, ids):
        return self.output(self.lstm(self.embedding(ids))[0])


def train(trial, model, optimizer, batch, length, words, steps=2):
    for _ in range(steps):
        ids = torch.randint(0, words, (batch, length), device=trial.device)
        with trial.autocast():
            loss = functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@program()
def lstm_tagger(trial):
    """a bidirectional LSTM with a large output, Adam"""
    torch.backends.cudnn.enabled = False  # the double has no recurrent networks of cuDNN's
    model = trial.ready(Tagger().to(trial.device))
    optimizer = trial.optimizer(torch.optim.Adam, model.parameters())
    train(trial, model, optimizer, trial.batch(16), 64, 8000)


class CharacterModel(nn.Module):
    def __init__(self, width=512):
        super().__init__()
        self.embedding, self.output = nn.Embedding(128, width), nn.Linear(width, 128)
        self.cells = nn.ModuleList([nn.GRUCell(width, width) for _ in range(2)])

    def forward(self, ids):
        states = [ids.new_zeros(len(ids), 512, dtype=torch.float) for _ in self.cells]
        outputs = []
        for x in self.embedding(ids).unbind(1):
            for number, cell in enumerate(self.cells):
                x = states[number] = cell(x, states[number])
            outputs.append(x)
        return self.output(torch.stack(outputs, 1))


@program()
def unrolled_gru(trial):
    """GRU cells unrolled in Python, RMSprop"""
    model = trial.ready(CharacterModel().to(trial.device))
    optimizer = trial.optimizer(torch.optim.RMSprop, model.parameters())
    train(trial, model, optimizer, trial.batch(64), 40, 128)


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        gate = torch.sigmoid(scale * x)
        ctx.save_for_backward(x, gate, scale)
        return x * gate

    @staticmethod
    def backward(ctx, gradient):
        x, gate, scale = ctx.saved_tensors
        inner = gate * (1 - gate)
        return gradient * (gate + scale * x * inner), (gradient * x * x * inner).sum()


class SwishBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down, self.norm = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.LayerNorm(width)
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x):
        return x + self.down(Swish.apply(self.up(self.norm(x)), self.scale))


@program()
def custom_function(trial):
    """blocks with a torch.autograd.Function that saves three tensors, AdamW"""
    model = trial.ready(nn.Sequential(*[SwishBlock(384) for _ in range(8)]).to(trial.device))
    optimizer = trial.optimizer(torch.optim.AdamW, model.parameters())
    for _ in range(2):
        x = torch.rand(trial.batch(4096), 384, device=trial.device)
        with trial.autocast():
            loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


class Generator(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.start = nn.Linear(100, 4 * width * 16)
        self.ups = nn.ModuleList([nn.Sequential(nn.ConvTranspose2d(a * width, b * width, 4, 2, 1), nn.BatchNorm2d(b * width), nn.ReLU())
                                  for a, b in ((4, 2), (2, 1), (1, 1))])
        self.end = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, z):
        x = self.start(z).unflatten(1, (256, 4, 4))
        for up in self.ups:
            x = up(x)
        return torch.tanh(self.end(x))


class Critic(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(nn.Conv2d(a, b, 4, 2, 1), nn.LeakyReLU(0.2))
                                     for a, b in ((3, width), (width, 2 * width), (2 * width, 4 * width))])
        self.end = nn.Linear(4 * width * 16, 1)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.end(x.flatten(1))


@program()
def gan_training(trial):
    """a GAN with a gradient penalty (backward of backward), two optimizers"""
    generator, critic = Generator().to(trial.device), trial.ready(Critic().to(trial.device))
    generator_optimizer = trial.optimizer(torch.optim.Adam, generator.parameters())
    critic_optimizer = trial.optimizer(torch.optim.Adam, critic.parameters())
    for _ in range(2):
        size = trial.batch(128)
        real = torch.rand(size, 3, 32, 32, device=trial.device)
        fake = generator(torch.randn(size, 100, device=trial.device))
        between = (0.5 * real + 0.5 * fake.detach()).requires_grad_()
        slope = torch.autograd.grad(critic(between).sum(), between, create_graph=True)[0]
        loss = critic(fake.detach()).mean() - critic(real).mean() + 10 * (slope.flatten(1).norm(dim=1) - 1).square().mean()
        loss.backward()
        critic_optimizer.step()
        critic_optimizer.zero_grad()
        (-critic(fake).mean()).backward()
        generator_optimizer.step()
        generator_optimizer.zero_grad()
        critic_optimizer.zero_grad()


@program()
def accumulated_gradients(trial):
    """an MLP mixer, gradients accumulated over four parts of a batch"""
    class Mixer(nn.Module):
        def __init__(self, tokens=196, width=256):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.tokens = nn.Sequential(nn.Linear(tokens, 128), nn.GELU(), nn.Linear(128, tokens))
            self.channels = nn.Sequential(nn.Linear(width, 1024), nn.GELU(), nn.Linear(1024, width))

        def forward(self, x):
            x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
            return x + self.channels(self.norm2(x))

    model = trial.ready(nn.Sequential(*[Mixer() for _ in range(6)]).to(trial.device))
    optimizer = trial.optimizer(torch.optim.NAdam, model.parameters())
    for _ in range(2):
        for _ in range(4):
            x = torch.rand(trial.batch(32), 196, 256, device=trial.device)
            with trial.autocast():
                loss = model(x).square().mean() / 4
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
