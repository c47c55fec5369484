"""`guardlab schema`: prints the JSON Schema of a scenario file."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from harness.schema import scenario_schema

if TYPE_CHECKING:
    import argparse

__all__ = ["run"]


def run(_options: argparse.Namespace) -> int:
    """Print it."""
    sys.stdout.write(json.dumps(scenario_schema(), indent=2) + "\n")
    return 0
