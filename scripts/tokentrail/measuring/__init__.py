"""Run the tools and keep exactly what they said; nothing is interpreted here."""
