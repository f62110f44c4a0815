import os
import random
import tempfile
import time

size, buffer = 1_000_000, int(os.environ["BUFFER"])
content = random.Random(int(os.environ.get("SEED", "0"))).randbytes(size)
with tempfile.TemporaryFile(buffering=0) as source, tempfile.TemporaryFile(buffering=0) as copy:
    source.write(content)
    source.seek(0)
    start_s = time.perf_counter()
    while block := source.read(buffer):
        copy.write(block)
    took_s = time.perf_counter() - start_s
print(f"rate={size / took_s / 1e6:.2f}")
