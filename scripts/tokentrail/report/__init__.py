"""The pages: a run's story told by its own numbers, each of them a door to its trail."""
