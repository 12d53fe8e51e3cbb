"""From labels to rankers to their arms of an evaluation, on the CI configurations."""

import asyncio
import io
from pathlib import Path

from rich.console import Console

from collegium.config import load
from collegium.core import SystemClock
from collegium.evaluation import read_episodes
from collegium.evaluation.gate import judge_models, write_verdicts
from collegium.experience import read_labels
from collegium.ranking.card import load_model
from collegium.runtime.jobs.progress import ConsoleProgress
from collegium.runtime.jobs.train_rerankers import TrainRerankersConfig, train_rerankers
from collegium.store import RunDirectory

CI = Path(__file__).resolve().parents[3] / "configs" / "ci"
RANKERS = ("lambdamart", "svmrank", "ffn")


def trained(labels, folder):
    """Train the rankers of the CI configuration."""
    config = load(TrainRerankersConfig, [CI / "train_rerankers.yaml"], [f"labels={labels}"])
    progress = ConsoleProgress(Console(file=io.StringIO()), SystemClock())
    return asyncio.run(train_rerankers(config, RunDirectory(str(folder)).open(config), progress))


def test_what_helped_is_labelled_learned_and_shown(label, evaluate, tmp_path):
    made, run = label()
    assert min(made.labels["better"], made.labels["worse"]) >= 5
    helpful = [one for one in read_labels(run) if one.label > 0]
    assert all(one.as_chunk().task_type == one.task_type for one in helpful)
    rankers = trained(run.path, tmp_path / "rankers")
    assert [row.refused for row in rankers.rankers] == ["", "", ""]
    arms = ("no_retrieval", "retrieval", *RANKERS)
    summary, evaluated = evaluate(
        f"arms=[{','.join(arms)}]",
        f"memory={tmp_path / 'labels'}",
        f"rankers={tmp_path / 'rankers'}",
    )
    assert [arm.arm for arm in summary.arms] == list(arms)
    assert {arm.task_runs for arm in summary.arms} == {16}
    solved = {arm.arm: arm.solved for arm in summary.arms}
    assert all(solved[name] > solved["retrieval"] for name in RANKERS)
    assert all(shown(evaluated, name) != shown(evaluated, "retrieval") for name in RANKERS)
    judged = judge_models([evaluated])
    assert judged == summary.gate
    write_verdicts(judged)
    cards = [load_model(tmp_path / "rankers" / "models" / name).card for name in RANKERS]
    assert [card.verdict for card in cards] == [one.verdict for one in judged]
    assert [card.model_id for card in cards] == [one.model_id for one in judged]
    assert {card.verdict.pairs for card in cards} == {16}


def shown(run, arm):
    """Chunks that an arm showed."""
    return {
        step.guidance.chunk_id
        for episode in read_episodes(run)
        if episode.arm == arm
        for step in episode.trajectory.steps
        if step.guidance
    }
