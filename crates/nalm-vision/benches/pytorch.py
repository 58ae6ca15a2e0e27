"""The same training steps in PyTorch eager, for comparison. usage: pytorch.py THREADS"""
import sys, time
import torch
from torch import nn

torch.set_num_threads(int(sys.argv[1]))

class Expected(nn.Module):
    def forward(self, x):
        return (torch.softmax(x, 1) * torch.arange(10.0)).sum(1, keepdim=True)

def classifier():
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(),
                         nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10), Expected())

def regressor():
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 1))

for name, net, samples in [("isolated, 256 images", classifier(), 256), ("sequential, 128 images", regressor(), 128)]:
    x = torch.rand(samples, 1, 28, 28) * 3.2 - 0.42
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
