"""The same training steps in PyTorch, for comparison: eager, with channels last, and compiled. Images are ready-made in all of them.
`scripts/speed.py` runs them in turn with ours.

usage: pytorch.py NAME THREADS; prints a line of JSON, milliseconds a step
"""
import json, sys, time
import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(int(sys.argv[2]))

class Expected(nn.Module):
    def forward(self, x):
        return (torch.softmax(x, 1) * torch.arange(10.0)).sum(1, keepdim=True)

def classifier(inputs=1, features=9216):
    return nn.Sequential(nn.Conv2d(inputs, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(),
                         nn.Linear(features, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10), Expected())

def regressor():
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 1))

class Colour(nn.Module):
    """Two localisation nets, control points to coordinates by one matrix, sampler, classifier, product. The matrix is random: timing only."""
    def __init__(self):
        super().__init__()
        def locator():
            return nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(2, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 20, 5), nn.ReLU(), nn.Flatten(),
                                 nn.Linear(320, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh())
        self.locators, self.classifier = nn.ModuleList([locator(), locator()]), classifier(2, 4096)
        self.register_buffer("matrix", torch.rand(1764, 16) / 16)
    def forward(self, x):
        grids = [(self.matrix @ locator(x).reshape(-1, 16, 2)).reshape(-1, 42, 42, 2) for locator in self.locators]
        seen = torch.cat([F.grid_sample(x, grid, align_corners=False) for grid in grids])
        first, second = self.classifier(F.avg_pool2d(seen, 2)).chunk(2)
        return first * second

STEPS = {"isolated": (classifier, (256, 1, 28, 28)), "halved": (lambda: classifier(1, 1600), (256, 1, 14, 14)),
         "sequential": (regressor, (128, 1, 28, 28)), "colour": (Colour, (256, 2, 42, 42))}

def clock(net, x):
    adam = torch.optim.Adam(net.parameters(), lr=1e-3)
    times = []
    for _ in range(15):
        start = time.perf_counter()
        adam.zero_grad()
        loss = ((net(x) - 4.0) ** 2).mean()
        loss.backward()
        adam.step()
        times.append(1e3 * (time.perf_counter() - start))
    return times[3:]

make, shape = STEPS[sys.argv[1]]
x = torch.rand(*shape) * 3.2 - 0.42
found = {"version": "PyTorch " + torch.__version__.split("+")[0], "eager": clock(make(), x),
         "channels last": clock(make().to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last))}
try:
    found["compiled"] = clock(torch.compile(make()), x)
except Exception as error:
    # The compiler needs tools that not every machine has; the table then says so.
    print(f"torch.compile: {error}".splitlines()[0], file=sys.stderr)
print(json.dumps(found))
