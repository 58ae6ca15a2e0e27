"""The same training steps in PyTorch eager, for comparison; images are ready-made in all of them. usage: pytorch.py THREADS [NAME]"""
import sys, time
import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(int(sys.argv[1]))
only = sys.argv[2] if len(sys.argv) > 2 else ""

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

for name, make, shape in [("isolated, 256 images", classifier, (256, 1, 28, 28)), ("halved, 256 images", lambda: classifier(1, 1600), (256, 1, 14, 14)),
                          ("sequential, 128 images", regressor, (128, 1, 28, 28)), ("colour, 256 samples", Colour, (256, 2, 42, 42))]:
    if not name.startswith(only):
        continue
    net = make()
    x = torch.rand(*shape) * 3.2 - 0.42
    adam = torch.optim.Adam(net.parameters(), lr=1e-3)
    times = []
    for _ in range(12):
        start = time.perf_counter()
        adam.zero_grad()
        loss = ((net(x) - 4.0) ** 2).mean()
        loss.backward()
        adam.step()
        times.append(1e3 * (time.perf_counter() - start))
    times.sort()
    print(f"{name:24} PyTorch   {sys.argv[1]} threads  {times[len(times) // 2]:7.2f} ms ({times[0]:.2f})")
