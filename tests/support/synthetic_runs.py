"""Synthetic episodes and run directories for tests: nothing here was played by any model."""

from datetime import UTC, datetime
from itertools import product

from collegium.config import Config
from collegium.core import (
    Episode,
    FixedClock,
    GuidanceRef,
    Step,
    StopReason,
    Task,
    Trajectory,
    Usage,
    Versions,
    generator,
)
from collegium.store import RunDirectory

TASK_TYPES = (
    "look_at_obj_in_light",
    "pick_and_place_simple",
    "pick_clean_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_two_obj_and_place",
)
VERSIONS = Versions(game_data="synthetic", grammar="alfworld-0.4", engine="synthetic-0")
SMALL_USAGE = Usage(calls=3, prompt_tokens=90, cached_tokens=60, completion_tokens=10)
START = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


class SyntheticConfig(Config):
    """Configuration of a synthetic run."""

    pipeline: str = "synthetic"
    step_limit: int = 30


def synthetic_episode(
    *,
    task="task-0",
    arm="no_retrieval",
    agent="agent-a",
    offset=0,
    success=True,
    steps=3,
    stop=None,
    task_type=TASK_TYPES[0],
    source="official",
    usage=SMALL_USAGE,
    guidance=None,
    retrieve_every=5,
    observation="You arrive at shelf {i}. On the shelf {i}, you see a mug 1.",
):
    """One episode whose guidance, if any, is retrieved at every fifth step."""
    played = tuple(
        Step(
            action=f"go to shelf {i + 1}",
            observation=observation.replace("{i}", str(i + 1)),
            score=float(success and i == steps - 1),
            guidance=guidance,
            retrieved=guidance is not None and i % retrieve_every == 0,
        )
        for i in range(steps)
    )
    return Episode(
        key=f"{arm}/{task}/{agent}/{offset}/{stop or 'agent'}",
        arm=arm,
        offset=offset,
        trajectory=Trajectory(
            task=Task(
                environment="household",
                task_id=task,
                task_type=task_type,
                split="valid_unseen",
                goal="put a mug on the desk",
                source=source,
            ),
            producer=agent,
            initial_observation="You are in the middle of a room.",
            steps=played,
            success=success,
            score=float(success),
            versions=VERSIONS,
        ),
        stop_reason=stop or (StopReason.SOLVED if success else StopReason.STEP_LIMIT),
        usage=usage,
        seconds=0.5 * steps,
    )


def synthetic_episodes(*, tasks=12, agents=("agent-a", "agent-b"), source="generated", seed=0):
    """Both arms over `tasks` x `agents`, with one machinery failure and an expert's reference."""
    rng = generator(seed, "synthetic")
    chances = {"no_retrieval": 0.3, "retrieval": 0.45}
    for (number, agent), arm in product(product(range(tasks), agents), chances):
        task_type = TASK_TYPES[number % len(TASK_TYPES)]
        success = bool(rng.random() < chances[arm] + 0.2 * (agent == agents[0]))
        steps = int(rng.integers(4, 29)) if success else 30
        failed = (number, agent, arm) == (tasks - 1, agents[-1], "retrieval")
        yield synthetic_episode(
            task=f"{task_type}-Mug-None-Desk-{300 + number}/trial_T{number:03d}",
            arm=arm,
            agent=agent,
            success=success and not failed,
            steps=steps,
            stop=StopReason.ENGINE_ERROR if failed else None,
            task_type=task_type,
            source=source,
            usage=Usage(
                calls=steps,
                prompt_tokens=180 * steps + 60 * steps * (arm == "retrieval"),
                cached_tokens=140 * steps,
                completion_tokens=6 * steps,
            ),
            guidance=_guidance(rng) if arm == "retrieval" else None,
        )
    for number in range(tasks):
        yield synthetic_episode(
            task=f"{TASK_TYPES[number % 6]}-Mug-None-Desk-{300 + number}/trial_T{number:03d}",
            arm="expert",
            agent="expert",
            task_type=TASK_TYPES[number % 6],
            success=number % 3 > 0,
            steps=9 if number % 3 else 30,
            source=source,
            usage=Usage(),
        )


def synthetic_run(path, episodes=None, growth=True):
    """Write a run directory of synthetic episodes, as a pipeline would."""
    clock = FixedClock(START)
    run = RunDirectory(str(path), clock).open(SyntheticConfig())
    for episode in episodes if episodes is not None else synthetic_episodes():
        clock.advance(episode.seconds)
        run.append("episodes", [episode.model_dump(mode="json")])
    if growth:
        run.append("growth", [_growth(partition) for partition in range(4)])
    return run


def _guidance(rng):
    number = int(rng.integers(20))
    return GuidanceRef(
        chunk_id=f"{number:032x}",
        producer=("expert", "agent-a", "agent-b")[number % 3],
        rank=1,
        retrieval_score=round(float(rng.random()), 4),
        text="action: go to desk 1\nobservation: On the desk 1, you see a mug 2.",
    )


def _growth(partition):
    chunks = {"expert": 400, "agent-a": 30 * partition, "agent-b": 12 * partition}
    return {
        "key": f"D_{partition}",
        "partition": partition,
        "trajectories": 50 + 5 * partition,
        "chunks_by_producer": {name: count for name, count in chunks.items() if count},
    }
