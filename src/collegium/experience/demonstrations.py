"""Training examples for small agents: an expert's episodes, with and without guidance.

Each episode becomes one tree (`llm.finetune.examples`): its transcript is the trunk, and at some
steps a branch holds guidance and then the expert's action. The guidance is what the given source
and the `follow` planner show there: that of acting, if the source retrieves as the run will. Where
noise made the expert act otherwise, the step is shown but not trained.

Two things make it pay to read the guidance, and to judge it:

* *Disguise* (after symbol tuning, Wei et al. 2023): in some guided episodes the treatment's verb,
  its adjective in the goal and its appliance are other, unrelated words. Only the guidance tells
  what to do, so reading it becomes a habit that carries over to treatments never trained on.
* *Misleading guidance*: some branches show a chunk of another task type; the target stays.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from collegium.agents.planner import FollowPlanner
from collegium.agents.protocol import GuidanceSource, HeldGuidance, View
from collegium.agents.queries import build_query
from collegium.agents.transcript import TranscriptFormat
from collegium.core import Chunk, Guidance, Step
from collegium.environments.household.abstraction import follows
from collegium.environments.household.compact import replace_words
from collegium.environments.household.engine import Household
from collegium.environments.household.explorer import Explorer
from collegium.llm.finetune.examples import Branch, Example, Piece


class Moment(NamedTuple):
    """One step of a demonstration: what was seen, what was played, what the expert advised."""

    view: View
    action: str
    advice: str


def demonstrate(
    game: Household, *, seed: int, noise: float, step_limit: int = 30
) -> tuple[Moment, ...]:
    """Play the expert until it wins; an episode that does not win within the limit is empty."""
    turn = game.reset()
    first = turn.observation
    expert = Explorer(game.task.goal, first, seed, noise)
    moments: list[Moment] = []
    steps: list[Step] = []
    while not turn.won and len(steps) < step_limit:
        view = View(game.task, first, tuple(steps), turn.observation, turn.admissible, step_limit)
        action = expert.act(turn.observation, turn.admissible)
        moments.append(Moment(view, action, expert.advice))
        turn = game.step(action)
        steps.append(Step(action=action, observation=turn.observation, score=turn.score))
    return tuple(moments) if turn.won else ()


async def guide(
    moments: Sequence[Moment], source: GuidanceSource, grammar: str
) -> list[Guidance | None]:
    """Return the guidance in use at each moment under the `follow` planner."""
    planner = FollowPlanner(follows)
    held: HeldGuidance | None = None
    shown: list[Guidance | None] = []
    for moment in moments:
        view = moment.view._replace(held=held)
        if (await planner.decide(view)).retrieve:
            query = build_query(view, grammar=grammar, consumer="")
            found = await source.retrieve(query, 1)
            held = HeldGuidance(found[0], since=len(view.steps)) if found else None
        shown.append(held.guidance if held else None)
    return shown


def build_example(
    moments: Sequence[Moment], shown: dict[int, Chunk], text: TranscriptFormat
) -> Example:
    """Return the tree of one episode; `shown` maps steps to the chunk shown in their branch."""
    trunk = [Piece(text.opening(moments[0].view))]
    branches = []
    for i, moment in enumerate(moments):
        if i:
            trunk.append(Piece(text.answer_line(moment.view.observation)))
        if i in shown:
            line = text.guidance_line(shown[i], moment.view.task.goal)
            advice = Piece(text.action_line(moment.advice), train=True)
            branches.append(Branch(len(trunk), (Piece(line), advice)))
        trunk.append(Piece(text.action_line(moment.action), train=moment.action == moment.advice))
    return Example(tuple(trunk), tuple(branches))


class Disguise(NamedTuple):
    """Other words for a treatment."""

    verb: str
    adjective: str
    appliance: str


TREATMENTS = {
    "pick_clean_then_place_in_recep": ("clean", "clean", "sinkbasin"),
    "pick_heat_then_place_in_recep": ("heat", "hot", "microwave"),
    "pick_cool_then_place_in_recep": ("cool", "cool", "fridge"),
}
"""Task type -> verb, adjective in the goal, appliance."""

_VERBS = [
    "paint",
    "polish",
    "scan",
    "weigh",
    "stamp",
    "fold",
    "press",
    "shake",
    "label",
    "peel",
    "mark",
    "tag",
    "buff",
    "wrap",
    "sand",
    "test",
    "bless",
    "sort",
    "trim",
    "bind",
    "tune",
    "prime",
    "seal",
    "grind",
    "roll",
    "dust",
    "rinse",
    "charge",
    "zap",
    "count",
]
_ADJECTIVES = [
    "odd",
    "blue",
    "plain",
    "ready",
    "brisk",
    "royal",
    "neat",
    "spare",
    "lucky",
    "grand",
    "rusty",
    "mellow",
    "vivid",
    "sturdy",
    "quaint",
    "tidy",
    "humble",
    "sleek",
    "jolly",
    "proper",
    "square",
    "woven",
    "marbled",
    "glossy",
    "tame",
    "bold",
    "faint",
    "lively",
    "noble",
    "stark",
]
_APPLIANCES = [
    "coffeemachine",
    "toaster",
    "garbagecan",
    "stoveburner",
    "countertop",
    "shelf",
    "diningtable",
    "sidetable",
    "scanner",
    "easel",
    "scale",
    "press",
    "bench",
    "rack",
    "machine",
    "station",
    "board",
    "stand",
    "vat",
    "kiln",
]


def draw_disguise(rng: np.random.Generator) -> Disguise:
    """Return unrelated words; none of them is a real treatment's."""
    words = (str(rng.choice(pool)) for pool in (_VERBS, _ADJECTIVES, _APPLIANCES))
    return Disguise(*words)


def disguise(example: Example, task_type: str, other: Disguise) -> Example:
    """Return the example told in other words; appliances that exist change places."""
    verb, adjective, appliance = TREATMENTS[task_type]
    swap = {verb: other.verb, appliance: other.appliance, other.appliance: appliance}

    def retell(piece: Piece) -> Piece:
        text = piece.text.replace(f" a {adjective} ", f" a {other.adjective} ")
        return Piece(replace_words(text, swap), piece.train)

    branches = tuple(Branch(b.after, tuple(map(retell, b.pieces))) for b in example.branches)
    return Example(tuple(map(retell, example.trunk)), branches)
