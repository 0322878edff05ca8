"""`python -m tests.store --kills 50 --seed 1 --server s3`: two machines, and a server that is killed."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from msgspec.structs import asdict

from tests.support.killed_store import run_kills

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--server", choices=["s3", "azure"], default="s3")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        losses = run_kills(Path(folder), options.kills, options.seed, options.server)
    for name, value in asdict(losses).items():
        print(f"{name}: {value}")
    sys.exit(bool(losses.lost or losses.different or losses.orphans))
