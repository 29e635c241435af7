"""Tokentrail: measurements of llama.cpp with a trail behind every number."""
