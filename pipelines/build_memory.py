"""Build a population's shared memory.

Usage: python pipelines/build_memory.py CONFIG [-s a.b=c] [--run DIR] [--dry-run] [--json]
       ray job submit --working-dir . -- python pipelines/build_memory.py CONFIG
"""

import sys

from collegium.cli import main

if __name__ == "__main__":
    sys.exit(main(["run", "build_memory", *sys.argv[1:]]))
