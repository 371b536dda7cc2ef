"""The browser and the system that a header User-Agent stands for, in plain words."""

from __future__ import annotations

UNKNOWN = "an unknown browser"
# In this order: a browser also names those that it claims to be compatible with.
BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Vivaldi/", "Vivaldi"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "an iPhone"),
    ("iPad", "an iPad"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "a Mac"),
    ("Linux", "Linux"),
)


def name_device(user_agent: str) -> str:
    """Such as "Firefox on Windows". What is not recognised is not repeated: anybody can send any header."""
    browser = next((name for mark, name in BROWSERS if mark in user_agent), UNKNOWN)
    system = next((name for mark, name in SYSTEMS if mark in user_agent), "")
    return f"{browser} on {system}" if system else browser
