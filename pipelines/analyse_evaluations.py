"""Put several evaluations together: the paper's analyses and what became of its findings.

Usage: python pipelines/analyse_evaluations.py CONFIG [-s a.b=c] [--run DIR] [--dry-run] [--json]
"""

import sys

from collegium.cli import main

if __name__ == "__main__":
    sys.exit(main(["run", "analyse_evaluations", *sys.argv[1:]]))
