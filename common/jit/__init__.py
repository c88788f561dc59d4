"""numba: the decorator, the compiler's cache, and the linker."""
