"""The scenario file: what it is called, what it may say, and how it is read."""

from __future__ import annotations

__all__ = ["SUFFIX"]

SUFFIX = ".scenario.yaml"  # stands here because the pytest plugin needs it before anything is loaded
