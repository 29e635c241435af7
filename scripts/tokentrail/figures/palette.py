"""Colours by meaning, for figures and page alike: the same thing has the same colour everywhere.

Hues after Okabe and Ito, told apart with every common colour blindness; darkened to 4.5:1 on white where they carry
text. The second table is the same meanings on a dark page; inlined figures switch by CSS variables.
"""

from __future__ import annotations

COLOURS: dict[str, str] = {
    "prefill": "#0b66a8",
    "decode": "#b44708",
    "gpu": "#04785a",
    "cpu": "#8a4a80",
    "published": "#606974",
    "cold": "#2b8fd0",
    "warm": "#8a6108",
    "other": "#b9c0c7",
    "limit": "#4a4f57",
    "ink": "#1d2026",
    "soft": "#5c636d",
    "faint": "#e4e6e3",
    "paper": "#fefefd",
}
DARK: dict[str, str] = {
    "prefill": "#62b5f0",
    "decode": "#ff9a5c",
    "gpu": "#45cfa3",
    "cpu": "#dba0cf",
    "published": "#9aa5b1",
    "cold": "#8fd0f8",
    "warm": "#e0b450",
    "other": "#56606b",
    "limit": "#b9c0c9",
    "ink": "#e8e9e6",
    "soft": "#a3abb5",
    "faint": "#343a41",
    "paper": "#1b1f24",
}
