"""Charts, in plain Python: what is shown (`figures`), where it is drawn (`layout`), as SVG (`svg`) and as PNG (`png`)."""
