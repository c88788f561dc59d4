"""Several trainings: seeds, sweeps, comparisons, benchmarks, best responses."""
