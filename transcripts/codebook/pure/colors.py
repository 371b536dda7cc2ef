"""Colours to choose from for families and codes.

Each stands out from the light and the dark page alike (at least 3:1), which lets it fill a swatch or draw a border. No
single colour is fit for words on both, so none is used for words, and none is ever the only thing that tells.
"""

from __future__ import annotations

PALETTE = {
    "#a8559a": "plum",
    "#c25187": "pink",
    "#c94a5c": "red",
    "#c2661a": "orange",
    "#a86b25": "brown",
    "#94791a": "gold",
    "#7d861c": "olive",
    "#3d8a49": "green",
    "#1f8a86": "teal",
    "#2f7fb5": "blue",
    "#7a68c9": "violet",
    "#6f7b8a": "slate",
}


def name_color(color: str) -> str:
    """A word for a colour of the palette; another is called by its number."""
    return PALETTE.get(color, color)
