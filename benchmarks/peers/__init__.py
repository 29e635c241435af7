"""Parts of benchmarks/peers.py: the server with its own timings, our readers, the foreign tools, the tables."""
