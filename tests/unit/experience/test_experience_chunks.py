"""Chunks and queries: the template of formulas §2.1, to the letter, from both sides."""

from hypothesis import given
from hypothesis import strategies as st

from collegium.agents.protocol import View
from collegium.agents.queries import build_query
from collegium.core import Step, Task, Trajectory, Versions
from collegium.experience.chunks import chunk_trajectory, dedup_key

words = st.text(alphabet="abc |;:.", max_size=12)
steps = st.lists(
    st.builds(Step, action=words, observation=words, score=st.sampled_from([0.0, 1.0])),
    max_size=12,
)


def trajectory_of(initial: str, taken: list[Step]) -> Trajectory:
    return Trajectory(
        task=Task(
            environment="household", task_id="t/1", task_type="pick", split="train", goal="goal!"
        ),
        producer="a",
        initial_observation=initial,
        steps=tuple(taken),
        success=True,
        score=1.0,
        versions=Versions(game_data="g", grammar="G", engine="e"),
    )


def test_the_template_is_the_formula(make_trajectory):
    trajectory = make_trajectory(7)
    first, *_, last = chunk_trajectory(trajectory)
    assert first.key_text == (
        "goal: put an apple in the fridge. | state: observation: task-0: you are in a room. "
        "| context:  | progress: step_till_now: 0"
    )
    assert last.state == "observation: task-0: you see thing 5."
    assert last.context == " ; ".join(
        f"observation: task-0: you see thing {j - 1}. | action: go to shelf {j}"
        for j in range(1, 6)
    )
    assert last.progress == 6


def test_early_context_starts_with_the_first_observation(make_trajectory):
    third = chunk_trajectory(make_trajectory(7))[2]
    assert third.context == (
        "observation: task-0: you are in a room. | action: go to shelf 0 ; "
        "observation: task-0: you see thing 0. | action: go to shelf 1"
    )


@given(initial=words, taken=steps, window=st.integers(1, 6))
def test_one_chunk_a_step_with_the_steps_that_follow(initial, taken, window):
    trajectory = trajectory_of(initial, taken)
    chunks = chunk_trajectory(trajectory, window)
    assert [c.progress for c in chunks] == list(range(len(taken)))
    for i, chunk in enumerate(chunks):
        expected = [(s.action, s.observation, s.score) for s in taken[i : i + window]]
        assert [(s.action, s.observation, s.score) for s in chunk.steps] == expected
        assert chunk.total_steps == len(taken)
    assert len({c.chunk_id for c in chunks}) == len(chunks)


@given(initial=words, taken=steps)
def test_a_live_query_is_the_key_of_the_chunk_at_that_step(initial, taken):
    trajectory = trajectory_of(initial, taken)
    for chunk in chunk_trajectory(trajectory):
        done = trajectory.steps[: chunk.progress]
        seen = done[-1].observation if done else initial
        view = View(trajectory.task, initial, done, seen, ("look",), 30)
        query = build_query(view, grammar="G", consumer="someone else")
        assert query.key_text == chunk.key_text
        assert (query.goal, query.state, query.context) == (chunk.goal, chunk.state, chunk.context)


def test_ids_come_from_content_and_not_from_the_partition(make_trajectory):
    ids = {
        p: [c.chunk_id for c in chunk_trajectory(make_trajectory(), partition=p)] for p in (0, 3)
    }
    assert ids[0] == ids[3]
    other = [c.chunk_id for c in chunk_trajectory(make_trajectory(producer="agent-b"))]
    assert not set(ids[0]) & set(other)


def test_same_key_and_producer_is_a_duplicate_even_when_the_value_differs(make_trajectory):
    short, long = chunk_trajectory(make_trajectory(4))[0], chunk_trajectory(make_trajectory(7))[0]
    assert short.chunk_id != long.chunk_id
    assert dedup_key(short) == dedup_key(long)
    assert dedup_key(short) != dedup_key(chunk_trajectory(make_trajectory(4, producer="b"))[0])
