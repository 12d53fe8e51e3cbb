"""Synthetic evaluations that go together, with known findings: nothing here was played."""

from synthetic_runs import START, SyntheticConfig, synthetic_episode

from collegium.core import FixedClock, GuidanceRef
from collegium.evaluation.analyses.study import StudyRuns
from collegium.store import RunDirectory

AGENTS = {"a": 0.2, "b": 0.6}


def note(name, **changes):
    same = {"mode": name, "scope": "full", "fraction": 1.0, "folder": None, "model_id": None}
    return {"key": name, **same, **changes}


def shown(producer):
    return GuidanceRef(chunk_id="c", producer=producer, rank=1, retrieval_score=0.1, text="t")


def write_evaluation(path, solved, notes, *, tasks=60, producers=("explorer", "a"), offsets=(0,)):
    """Write a run in which each arm solves the first `solved` tasks."""
    config = SyntheticConfig()
    run = RunDirectory(str(path), FixedClock(START)).open(config)
    agents = "".join(
        f"- {{id: {a}, model: m, benchmarks: {{all: {s}}}}}\n" for a, s in AGENTS.items()
    )
    run.write_text("config.yaml", f"pipeline: synthetic\nstep_limit: 30\nagents:\n{agents}")
    for arm, count in solved.items():
        for offset in offsets:
            episodes = [
                synthetic_episode(
                    task=f"t{n:03d}",
                    arm=arm,
                    agent="ab"[(n + offset) % 2],
                    success=n < count,
                    steps=5 if n < count else 30,
                    offset=offset,
                    guidance=None if arm == "no_retrieval" else shown(producers[n % 3 == 0]),
                )
                for n in range(tasks)
            ]
            run.append("episodes", [episode.model_dump(mode="json") for episode in episodes])
    run.append("arms", [note(**each) if isinstance(each, dict) else note(each) for each in notes])
    chunks = ({"explorer": 90}, {"explorer": 90, "a": 5, "b": 5})
    rows = [
        {"key": f"D_{p}", "partition": p, "trajectories": 9, "chunks_by_producer": counts}
        for p, counts in enumerate(chunks)
    ]
    run.append("growth", rows)
    run.finish()
    return run


def study_runs(path):
    """Write the runs of a study whose findings are known; rankers are left out."""
    model = {"name": "svmrank", "folder": "models/svmrank", "model_id": "m"}
    main = {"no_retrieval": 10, "retrieval": 30, "svmrank": 50}
    scopes = {"full": 30, "same_task": 30, "cross_task": 11}
    sizes = {"memory_10": 10, "memory_50": 20, "memory_100": 30}
    return StudyRuns(
        main=[write_evaluation(path / "main", main, ["no_retrieval", "retrieval", model])],
        modes=[write_evaluation(path / "modes", {"oracle": 59}, ["oracle"])],
        scopes=[write_evaluation(path / "scopes", scopes, list(scopes))],
        memory_sizes=[
            write_evaluation(
                path / "sizes",
                sizes,
                [{"name": name, "fraction": int(name[7:]) / 100} for name in sizes],
                offsets=(0, 1),
            )
        ],
    )
