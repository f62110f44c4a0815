"""Where NumPy's buffer lies: its alignment follows from the lengths of paths and variables, which lie before it in the heap."""

import numpy as np

#: Small enough for the heap; larger buffers start at the begin of a page.
buffer = np.empty(1000)
print(f"alignment={buffer.ctypes.data % 64}")
