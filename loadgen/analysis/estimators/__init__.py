"""The statistics that every figure rests on: intervals, comparisons, crossovers."""
