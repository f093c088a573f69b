"""Is the GPU faster at multiplying matrices? Times the product of two n x n matrices of standard normal draws by hand."""

import argparse
import time

import torch

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("n", type=int, nargs="?", default=10_000, help="rows and columns of each matrix")
n = parser.parse_args().n

torch.manual_seed(0)
a = torch.randn(n, n)
b = torch.randn(n, n)

start = time.time()
c = a @ b
print(f"CPU:                       {time.time() - start:10.5f} s")

a_gpu = a.to("cuda")
b_gpu = b.to("cuda")

start = time.time()
c_gpu = a_gpu @ b_gpu
print(f"GPU, not synchronised:     {time.time() - start:10.5f} s")

torch.cuda.synchronize()
start = time.time()
c_gpu = a_gpu @ b_gpu
torch.cuda.synchronize()
print(f"GPU, synchronised:         {time.time() - start:10.5f} s")

start = time.time()
c_back = (a.to("cuda") @ b.to("cuda")).to("cpu")
print(f"GPU, with both copies:     {time.time() - start:10.5f} s")

print(f"largest difference: {(c_back - c).abs().max().item():.2e}")
