"""Evaluate a population on test games, with and without shared memory.

Usage: python pipelines/evaluate_agents.py CONFIG [-s a.b=c] [--run DIR] [--dry-run] [--json]
       ray job submit --working-dir . -- python pipelines/evaluate_agents.py CONFIG
"""

from collegium.runtime.jobs.command import run_pipeline
from collegium.runtime.jobs.pipelines import EVALUATE_AGENTS

if __name__ == "__main__":
    run_pipeline(EVALUATE_AGENTS)
