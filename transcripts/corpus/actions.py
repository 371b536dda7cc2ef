"""What is done to texts: files of interviews come in whole or not at all."""

from __future__ import annotations
