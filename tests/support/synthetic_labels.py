"""Synthetic utility labels with a known cause: no agent played anything."""

from typing import NamedTuple

from collegium.core import Agent, Query, Step, Task, Trajectory, Versions, generator
from collegium.embedding import HashConfig, HashEmbedder
from collegium.environments.household import Grammar
from collegium.experience import ExperienceMemory, chunk_trajectory
from collegium.experience.labels import LABELS, UtilityLabel
from collegium.ranking.dataset import RankingData
from collegium.runtime.jobs.configs import LabelUtilityConfig
from collegium.runtime.jobs.memory import make_memory
from collegium.store import RunDirectory

TYPES = ("pick_and_place_simple", "look_at_obj_in_light", "pick_two_obj_and_place")
AGENTS = (
    Agent(id="novice", model="m", benchmarks={"all": 0.2, TYPES[0]: 0.3}),
    Agent(id="master", model="m", benchmarks={"all": 0.9, TYPES[0]: 0.8}),
    Agent(id="expert-consumer", model="m"),
)
RANKS = (1, 5, 10, 15, 20)
EMBEDDER = HashEmbedder(32)


class Material(NamedTuple):
    """Labels and the trajectories that their candidates come from."""

    labels: list
    trajectories: list


def trajectory(number, producer, *, steps=6):
    """A successful episode."""
    kind = TYPES[number % len(TYPES)]
    thing = ("mug", "apple", "book", "pen")[number % 4]
    return Trajectory(
        task=Task(
            environment="household",
            task_id=f"{kind}-{number}/trial",
            task_type=kind,
            split="train",
            goal=f"put a {thing} in shelf {number}.",
        ),
        producer=producer,
        initial_observation="You are in the middle of a room.",
        steps=tuple(
            Step(
                action=f"go to shelf {i + number}",
                observation=f"You arrive at shelf {i}. On it, you see a {thing} {i}.",
                score=float(i == steps - 1),
            )
            for i in range(steps)
        ),
        success=True,
        score=1.0,
        versions=Versions(game_data="g", grammar=Grammar.CURRENT, engine="test-1"),
    )


def material(questions=40, *, seed=0, ranks=RANKS, noise=0.1, helps=None, repeats=1):
    """Labels: a candidate of the master helps and one of the novice hurts, but for some noise."""
    rng = generator(seed, "synthetic labels")
    trajectories = [
        trajectory(number, producer) for number in range(12) for producer in ("novice", "master")
    ]
    chunks = [chunk for one in trajectories for chunk in chunk_trajectory(one)]
    labels = []
    for question in range(questions):
        for step in (1, 3):
            chosen = rng.choice(len(chunks), len(ranks), replace=False)
            base = float(rng.random() < 0.5)
            for rank, place in zip(ranks, chosen, strict=True):
                chunk = chunks[place]
                good = (helps or (lambda c: c.producer == "master"))(chunk)
                future = good if rng.random() > noise else not good
                labels.append(label(question, step, rank, chunk, base, float(future), repeats, rng))
    return Material(labels, trajectories)


def label(question, step, rank, chunk, base, future, repeats=1, rng=None):
    """One label; its control did as the baseline."""
    if repeats > 1:
        future = float(rng.binomial(repeats, 0.2 + 0.6 * future) / repeats)
    agent = AGENTS[question % len(AGENTS)].id
    kind = TYPES[question % len(TYPES)]
    query = Query(
        environment="household",
        task_id=f"{kind}-q{question}/trial",
        task_type=kind,
        goal=f"put a mug in shelf {question}.",
        state=f"observation: You arrive at shelf {question}.",
        context=f"observation: You are in a room. | action: go to shelf {question}",
        progress=step,
        grammar=Grammar.CURRENT,
        consumer=agent,
    )
    return UtilityLabel(
        key=f"{question}/{step}/{rank}",
        group=f"g{question:04d}/{step}",
        question=query.task_id,
        task_type=kind,
        partition=1,
        agent=agent,
        step=step,
        rank=rank,
        retrieval_score=0.1 * rank,
        chunk_id=chunk.chunk_id,
        producer=chunk.producer,
        query=query.model_dump_json(),
        chunk=chunk.model_dump_json(),
        score_base=base,
        score_future=future,
        score_control=base,
        label=future - base,
        utility=future - base,
        utility_low=None,
        utility_high=None,
        repeats=repeats,
        steps_future=5.0,
        steps_control=6.0,
        seeds=tuple(range(repeats)),
        embedder=EMBEDDER.name,
        grammar=Grammar.CURRENT,
    )


def ranking_data(made=None):
    """The labels with features of the hash embedder."""
    made = made or material()
    chunks = [chunk for one in made.trajectories for chunk in chunk_trajectory(one)]
    return RankingData(made.labels, chunks, AGENTS, EMBEDDER)


def labelled_run(path, made=None):
    """Write a run directory as `label_utility` leaves it: memory and labels."""
    made = made or material()
    config = LabelUtilityConfig(agents=AGENTS, embedder=HashConfig(dimension=32))
    run = RunDirectory(str(path)).open(config)
    memory: ExperienceMemory = make_memory(config.setup, run)
    memory.contribute(made.trajectories, 0)
    memory.seal(0)
    run.append(LABELS, [row.model_dump(mode="json") for row in made.labels])
    run.finish()
    return run
