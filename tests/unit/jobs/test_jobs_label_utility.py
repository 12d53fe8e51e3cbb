"""Branching and labelling from pre-population to labels, on a scripted engine."""

import io
from collections import Counter, defaultdict
from functools import partial

import pytest
from rich.console import Console

from collegium.core import BudgetExceededError, ConfigError, EngineError
from collegium.evaluation import read_episodes
from collegium.experience import LABELS, read_labels
from collegium.experience.credit import CREDITS
from collegium.runtime.jobs.build_memory import PARTITIONS
from collegium.runtime.jobs.label_utility import BRANCHINGS
from collegium.runtime.jobs.memory import built_memory
from collegium.runtime.jobs.showing import show_labels
from collegium.store import RunDirectory

GAMES, POINTS, RANKS = 4, 2, (1, 5, 10)
FEW = f"tasks={GAMES}"


@pytest.fixture
def label(label):
    """As in the CI configuration, with few games."""
    return partial(label, FEW)


def contents(run, table):
    """Rows of a table without what time and order decide."""
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in run.rows(table)]
    return sorted(rows, key=lambda row: row["key"])


def test_each_point_has_its_futures_and_a_control(label):
    made, run = label()
    labels = list(read_labels(run))
    arms = Counter(episode.arm for episode in read_episodes(run))
    assert (made.points, made.skipped) == (GAMES * POINTS, 0)
    assert arms == {
        "no_retrieval": GAMES,
        "future": GAMES * POINTS * len(RANKS),
        "control": GAMES * POINTS,
    }
    assert len(labels) == arms["future"] == sum(made.labels.values()) == sum(made.paired.values())
    groups = defaultdict(list)
    for one in labels:
        groups[one.group].append(one)
    assert {tuple(one.rank for one in group) for group in groups.values()} == {RANKS}
    assert all(len({one.query for one in group}) == 1 for group in groups.values())


def test_partitions_count_baselines_futures_and_controls_apart(label):
    _, run = label()
    rows = list(run.rows(PARTITIONS))
    points = GAMES // 2 * POINTS
    counts = [(row["episodes"], row["futures"], row["controls"]) for row in rows]
    assert counts == [(GAMES // 2, points * len(RANKS), points)] * 2
    episodes = list(read_episodes(run))
    for kind, arm in (
        ("successes", "no_retrieval"),
        ("future_successes", "future"),
        ("control_successes", "control"),
    ):
        won = [e for e in episodes if e.arm == arm and e.trajectory.success]
        assert sum(row[kind] for row in rows) == len(won)
    assert sum(row["machinery_failures"] for row in rows) == 0


def test_producers_are_credited_by_the_utility_of_their_chunks(label):
    made, run = label()
    labels = list(read_labels(run))
    assert {row.key for row in made.credits} == {label.producer for label in labels}
    for row in made.credits:
        mine = [label.utility for label in labels if label.producer == row.key]
        assert (row.labels, row.credit) == (len(mine), pytest.approx(sum(mine) / len(mine)))
    console = Console(file=io.StringIO(), width=120)
    show_labels(made, console)
    assert all(row.key in console.file.getvalue() for row in made.credits)


def test_a_label_says_what_was_shown_and_what_it_changed(label):
    _, run = label()
    episodes = {episode.key: episode for episode in read_episodes(run)}
    baselines = {e.trajectory.task.task_id: e for e in episodes.values() if e.arm == "no_retrieval"}
    for one in read_labels(run):
        query, chunk = one.as_query(), one.as_chunk()
        baseline = baselines[one.question]
        assert (query.consumer, query.progress) == (one.agent, one.step)
        assert (chunk.chunk_id, chunk.producer) == (one.chunk_id, one.producer)
        assert chunk.partition < one.partition
        assert chunk.task_id != one.question
        assert one.label == one.score_future - baseline.trajectory.score
        assert one.utility == one.score_future - one.score_control
        assert 1 <= one.step < len(baseline.trajectory.steps)
        assert query.state == f"observation: {baseline.trajectory.observation_before(one.step)}"


def test_a_future_shares_the_baseline_s_start_and_shows_its_chunk_to_the_end(label):
    _, run = label()
    episodes = list(read_episodes(run))
    baselines = {e.trajectory.task.task_id: e for e in episodes if e.arm == "no_retrieval"}
    for episode in episodes:
        if episode.arm == "no_retrieval":
            continue
        steps = episode.trajectory.steps
        shown = [step.guidance for step in steps]
        taken = len(steps) - sum(step.guidance is not None for step in steps)
        if episode.arm == "control":
            assert not any(shown)
            continue
        assert len({ref.chunk_id for ref in shown[taken:]}) <= 1
        baseline = baselines[episode.trajectory.task.task_id]
        assert steps[:taken] == baseline.trajectory.steps[:taken]
        assert episode.usage.calls == len(steps) - taken


def test_futures_enter_the_memory_and_controls_do_not(label, build):
    _, run = label()
    memory = built_memory(run)
    stored = {trajectory.trajectory_id for trajectory in memory.trajectories.read()}
    episodes = list(read_episodes(run))
    played = {e.trajectory.trajectory_id for e in episodes if e.arm != "control"}
    assert played <= stored
    alone = {e.trajectory.trajectory_id for e in episodes if e.arm == "control"} - played
    assert not alone & stored
    _, plain = build(FEW, "engine.count=24", "games.generated.count=24")
    keys = {episode.key for episode in read_episodes(plain)}
    assert keys <= {episode.key for episode in episodes}


def test_forks_and_verified_replays_give_the_same_labels(label):
    _, forked = label(name="forked")
    _, replayed = label("branching.mode=replay", name="replayed")
    assert contents(forked, LABELS) == contents(replayed, LABELS)


def test_a_stopped_run_goes_on_and_counts_nothing_twice(label, monkeypatch):
    _, whole = label(name="whole")
    with pytest.raises(BudgetExceededError):
        label("execution.budget.max_tokens=6000", "execution.concurrency=2")
    true = RunDirectory.append

    def dies(self, table, rows):
        true(self, table, rows)
        if table == LABELS:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RunDirectory, "append", dies)
        with pytest.raises(KeyboardInterrupt):
            label()
    _, run = label()
    for table in (LABELS, BRANCHINGS, PARTITIONS, CREDITS):
        assert contents(run, table) == contents(whole, table)
    keys = [row["key"] for row in run.rows("episodes")]
    assert len(keys) == len(set(keys)) == len(list(whole.rows("episodes")))


def test_futures_that_the_machinery_ends_have_no_label(label, host_of):
    class BreaksOnGuidance:
        model = "breaks"

        def __init__(self, inner):
            self._inner = inner

        async def complete(self, request):
            if request.prompt.splitlines()[-1].startswith("# "):
                raise EngineError("out of order")
            return await self._inner.complete(request)

        async def close(self):
            await self._inner.close()

    made, run = label(host=host_of(BreaksOnGuidance))
    assert made.points == GAMES * POINTS
    assert not list(read_labels(run))


def test_repeats_are_refused_where_they_would_all_be_the_same(label):
    with pytest.raises(ConfigError, match="2 repeats of scripted-a, scripted-b would"):
        label("branching.repeats=2")


def test_repeats_give_each_label_an_interval(label):
    agents = "agents=[{id: warm, model: walkthrough, sampling: {temperature: 1}}]"
    _, run = label(agents, "branching.repeats=2")
    labels = list(read_labels(run))
    assert labels
    for one in labels:
        assert one.repeats == len(set(one.seeds)) == 2
        assert one.utility_low <= one.utility <= one.utility_high
