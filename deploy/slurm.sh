#!/bin/bash
# One pipeline on many nodes of a Slurm cluster, or the rest of it if its run directory is there:
#
#   export DATABASE_URL=postgresql://user@host/collegium
#   sbatch deploy/slurm.sh evaluate_agents configs/household/evaluate_agents.yaml runs/household/evaluation
#
# Submit it from the checkout, which lies, like the run directory, on a disk that all nodes share.
# Settings may follow (-s a.b=c); --dry-run as the last of them starts nothing. Give partition,
# account and other sizes to sbatch, whose options beat the lines below. A job that is requeued or
# submitted again goes on where it stopped. Nodes are not shared with other jobs, as Ray, when it is
# done, stops whatever Ray runs on its node.
#SBATCH --job-name=collegium
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=collegium-%j.log
set -euo pipefail

usage="usage: sbatch deploy/slurm.sh PIPELINE CONFIG RUN [-s a.b=c ...]"
pipeline=${1:?$usage}
config=${2:?$usage}
run=${3:?$usage}
shift 3
: "${DATABASE_URL:?more than one node needs a PostgreSQL server that all of them reach}"

cd "${SLURM_SUBMIT_DIR:?submit this script with sbatch}"
export PATH="$PWD/.venv/bin:$PATH"
export RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT=600

head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
gpus=$((SLURM_JOB_NUM_NODES * SLURM_GPUS_ON_NODE))

# Ray starts on every node; the pipeline's driver runs on the first.
exec srun --export=ALL --kill-on-bad-exit=1 \
    ray symmetric-run --address "$head:6379" --min-nodes "$SLURM_JOB_NUM_NODES" \
    --num-gpus "$SLURM_GPUS_ON_NODE" -- \
    python "pipelines/$pipeline.py" "$config" --run "$run" \
    -s execution.ray_address=auto -s execution.engines_side_by_side="$gpus" \
    -s engine.gpus=1 -s engine.kv_cache_gb=null -s engine.enforce_eager=false \
    "$@"
