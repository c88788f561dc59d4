"""Further algorithms of the literature as trainers, one file each: R-NaD, PSRO, ESCHER."""
