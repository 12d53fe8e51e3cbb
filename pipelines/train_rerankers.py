"""Train rankers of retrieved chunks from utility labels.

Usage: python pipelines/train_rerankers.py CONFIG [-s a.b=c] [--run DIR] [--dry-run] [--json]
       ray job submit --working-dir . -- python pipelines/train_rerankers.py CONFIG
"""

import sys

from collegium.cli import main

if __name__ == "__main__":
    sys.exit(main(["run", "train_rerankers", *sys.argv[1:]]))
