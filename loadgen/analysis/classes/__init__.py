"""Classes of work in a mix: what each of them did, and how variants compare for it."""
