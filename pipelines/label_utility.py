"""Build a population's shared memory, and label which guidance helps whom.

Usage: python pipelines/label_utility.py CONFIG [-s a.b=c] [--run DIR] [--dry-run] [--json]
       ray job submit --working-dir . -- python pipelines/label_utility.py CONFIG
"""

import sys

from collegium.cli import main

if __name__ == "__main__":
    sys.exit(main(["run", "label_utility", *sys.argv[1:]]))
