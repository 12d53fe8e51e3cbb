"""Train small agents: LoRA adapters that imitate the expert, with and without guidance.

Usage: python pipelines/train_agents.py CONFIG [-s a.b=c] [--run DIR] [--dry-run] [--json]
       ray job submit --working-dir . -- python pipelines/train_agents.py CONFIG
"""

import sys

from collegium.cli import main

if __name__ == "__main__":
    sys.exit(main(["run", "train_agents", *sys.argv[1:]]))
