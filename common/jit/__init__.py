"""numba: the decorator, the compiler's cache, and card sets as 64-bit integers."""
