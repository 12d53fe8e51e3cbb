"""Train small agents: LoRA adapters that imitate the expert, with and without guidance.

Usage: python pipelines/train_agents.py CONFIG [-s a.b=c] [--run DIR] [--dry-run] [--json]
       ray job submit --working-dir . -- python pipelines/train_agents.py CONFIG
"""

from collegium.runtime.jobs.command import run_pipeline
from collegium.runtime.jobs.pipelines import TRAIN_AGENTS

if __name__ == "__main__":
    run_pipeline(TRAIN_AGENTS)
