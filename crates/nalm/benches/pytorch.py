"""One training step in PyTorch eager on one thread, timed: batch of 128 drawn, forward, mean squared error plus sparsity penalty, backward, Adam,
clamp; the same work as `cargo bench --bench step`. `scripts/speed.py` runs both in turn.

usage: pytorch.py NAME; prints a line of JSON
"""

import json
import math
import sys
import time

import torch

torch.set_num_threads(1)
BATCH = 128


def product(x, w):
    return (x.unsqueeze(1) * w + 1 - w).prod(-1)


class Nmu(torch.nn.Module):
    low, high = 0.0, 1.0

    def __init__(self, inputs, outputs):
        super().__init__()
        self.w = torch.nn.Parameter(torch.empty(outputs, inputs).uniform_(0.25, 0.75))

    def forward(self, x):
        return product(x, self.w)

    def penalty(self):
        return torch.min(self.w.abs(), (1 - self.w).abs()).mean()


class Snmu(Nmu):
    def forward(self, x):
        n = torch.empty_like(x).uniform_(1.0, 5.0)
        return product(x * n, self.w) / product(n, self.w)


class Nau(torch.nn.Module):
    low, high = -1.0, 1.0

    def __init__(self, inputs, outputs):
        super().__init__()
        r = min(0.5, math.sqrt(6 / (inputs + outputs)))
        self.w = torch.nn.Parameter(torch.empty(outputs, inputs).uniform_(-r, r))

    def forward(self, x):
        return torch.nn.functional.linear(x, self.w)

    def penalty(self):
        size = self.w.abs()
        return torch.min(size, (1 - size).abs()).mean()


class NacMul(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.what = torch.nn.Parameter(torch.empty(outputs, inputs).uniform_(-1, 1))
        self.mhat = torch.nn.Parameter(torch.empty(outputs, inputs).uniform_(-1, 1))

    def weights(self):
        return torch.tanh(self.what) * torch.sigmoid(self.mhat)

    def forward(self, x):
        return torch.exp(torch.nn.functional.linear(torch.log(x.abs() + 1e-7), self.weights()))


class Nalu(NacMul):
    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs)
        self.gate = torch.nn.Parameter(torch.empty(outputs, inputs).uniform_(-1, 1))

    def forward(self, x):
        w = self.weights()
        linear = torch.nn.functional.linear
        g = torch.sigmoid(linear(x, self.gate))
        return g * linear(x, w) + (1 - g) * torch.exp(linear(torch.log(x.abs() + 1e-7), w))


class RealNpu(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.w = torch.nn.Parameter(torch.empty(outputs, inputs).uniform_(-1, 1))
        self.g = torch.nn.Parameter(torch.full((inputs,), 0.5))

    def forward(self, x):
        g = self.g.clamp(0, 1)
        r = g * (x.abs() + 2**-23) + (1 - g)
        k = g * math.pi * (x < 0)
        linear = torch.nn.functional.linear
        return torch.exp(linear(torch.log(r), self.w)) * torch.cos(linear(k, self.w))


def mlp(hidden):
    return torch.nn.Sequential(torch.nn.Linear(2, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 1))


def stepper(layers, inputs, target):
    model = torch.nn.Sequential(*layers)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    clamped = [layer for layer in layers if hasattr(layer, "low")]

    def step():
        x = torch.empty(BATCH, inputs).uniform_(1.0, 2.0)
        t = target(x)
        optimiser.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), t)
        for layer in clamped:
            loss = loss + 10.0 * 0.5 * layer.penalty()
        loss.backward()
        optimiser.step()
        with torch.no_grad():
            for layer in clamped:
                layer.w.clamp_(layer.low, layer.high)

    return step


def pair(x):
    return x[:, :1] * x[:, 1:]


def sums(x):
    return x[:, 10:35].sum(1, keepdim=True) * x[:, 23:48].sum(1, keepdim=True)


STEPS = {
    "nmu-2-1": lambda: stepper([Nmu(2, 1)], 2, pair),
    "snmu-2-1": lambda: stepper([Snmu(2, 1)], 2, pair),
    "nau-nmu-100-2-1": lambda: stepper([Nau(100, 2), Nmu(2, 1)], 100, sums),
    "nau-snmu-100-2-1": lambda: stepper([Nau(100, 2), Snmu(2, 1)], 100, sums),
    "nac-mul-2-1": lambda: stepper([NacMul(2, 1)], 2, pair),
    "nalu-2-1": lambda: stepper([Nalu(2, 1)], 2, pair),
    "real-npu-2-1": lambda: stepper([RealNpu(2, 1)], 2, pair),
    "mlp-100": lambda: stepper([mlp(100)], 2, pair),
}


def main():
    step = STEPS[sys.argv[1]]()
    for _ in range(30):
        step()
    times = []
    end = time.perf_counter() + 0.7
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(20):
            step()
        times.append((time.perf_counter() - start) / 20 * 1e9)
    print(json.dumps({"version": "PyTorch " + torch.__version__.split("+")[0], "eager": times}))


if __name__ == "__main__":
    main()
