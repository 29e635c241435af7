"""Parsers of what the tools print: pure functions, text in, plain dicts out."""
