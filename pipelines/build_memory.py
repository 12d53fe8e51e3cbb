"""Build a population's shared memory.

Usage: python pipelines/build_memory.py CONFIG [-s a.b=c] [--run DIR] [--dry-run] [--json]
       ray job submit --working-dir . -- python pipelines/build_memory.py CONFIG
"""

from collegium.runtime.jobs.command import run_pipeline
from collegium.runtime.jobs.pipelines import BUILD_MEMORY

if __name__ == "__main__":
    run_pipeline(BUILD_MEMORY)
