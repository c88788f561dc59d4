"""Many games at once: the batch, its options and kernels, on the CPU and on CUDA."""
