"""What it means: every definition, computed here and nowhere else."""
