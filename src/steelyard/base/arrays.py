"""Names for the few array types that Steelyard computes with."""

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Vectors = npt.NDArray[np.float32]
Hashes = npt.NDArray[np.uint64]
