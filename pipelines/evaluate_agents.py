"""Evaluate a population on test games, with and without shared memory.

Usage: python pipelines/evaluate_agents.py CONFIG [-s a.b=c] [--run DIR] [--dry-run] [--json]
       ray job submit --working-dir . -- python pipelines/evaluate_agents.py CONFIG
"""

import sys

from collegium.cli import main

if __name__ == "__main__":
    sys.exit(main(["run", "evaluate_agents", *sys.argv[1:]]))
