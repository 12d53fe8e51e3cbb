"""Demonstrations become trees whose prompts are those of play, and disguises stay consistent."""

import asyncio

from collegium.agents.transcript import TranscriptFormat
from collegium.core import Guidance, generator
from collegium.environments.household import Grammar, Household, load_game_text
from collegium.environments.household.generator import generate_game
from collegium.environments.household.short import HouseholdText
from collegium.experience import chunk_trajectory
from collegium.experience.demonstrations import (
    build_example,
    demonstrate,
    disguise,
    draw_disguise,
    guide,
)
from collegium.experience.replay import replay

CLEAN = "pick_clean_then_place_in_recep"
TEXT = TranscriptFormat(HouseholdText())


def game(seed):
    return load_game_text(
        generate_game(seed, CLEAN), f"clean/{seed}", split="generated_train", source="generated"
    )


def chunks(seed):
    played = game(seed)
    return chunk_trajectory(replay(Household(played), played.walkthrough, "walkthrough"))


class Nearest:
    """Gives the first chunk, and counts how often it is asked."""

    def __init__(self, found):
        self.found = found
        self.asked = 0

    async def retrieve(self, query, k):
        self.asked += 1
        return [Guidance(chunk=self.found[0], rank=1, retrieval_score=0.0)]


def test_a_demonstration_wins_and_its_noise_is_not_its_advice():
    moments = demonstrate(Household(game(1)), seed=5, noise=0.5)
    assert moments
    assert any(moment.action != moment.advice for moment in moments)
    assert not any(m.action != m.advice for m in demonstrate(Household(game(1)), seed=5, noise=0.0))


def test_the_trunk_is_the_transcript_that_play_would_show():
    moments = demonstrate(Household(game(1)), seed=0, noise=0.0)
    example = build_example(moments, {}, TEXT)
    last = moments[-1].view
    shown = "".join(piece.text for piece in example.trunk[:-1])
    assert shown == TEXT.render(last, None).text


def test_a_branch_continues_the_prompt_with_guidance():
    moments = demonstrate(Household(game(1)), seed=0, noise=0.0)
    chunk = chunks(2)[0]
    example = build_example(moments, {2: chunk}, TEXT)
    (branch,) = example.branches
    shown = "".join(piece.text for piece in example.trunk[: branch.after])
    guidance = Guidance(chunk=chunk, rank=1, retrieval_score=0.0)
    assert shown + branch.pieces[0].text == TEXT.render(moments[2].view, guidance).text
    assert branch.pieces[1].text == f"{moments[2].advice}\n"


def test_noisy_steps_are_shown_but_not_trained():
    moments = demonstrate(Household(game(1)), seed=5, noise=0.5)
    example = build_example(moments, {}, TEXT)
    trained = [piece.train for piece in example.trunk if not piece.text.startswith(("=", "task"))]
    assert trained == [moment.action == moment.advice for moment in moments]


def test_guidance_is_kept_while_the_expert_follows_it():
    moments = demonstrate(Household(game(1)), seed=0, noise=0.0)
    source = Nearest(chunks(1))
    shown = asyncio.run(guide(moments, source, Grammar.CURRENT))
    assert len(shown) == len(moments)
    assert 1 <= source.asked <= len(moments)


def test_a_disguise_leaves_no_word_of_the_treatment():
    moments = demonstrate(Household(game(1)), seed=0, noise=0.0)
    example = build_example(moments, {0: chunks(2)[0]}, TEXT)
    other = draw_disguise(generator(0, "disguise"))
    told = disguise(example, CLEAN, other)
    pieces = [*told.trunk, *(piece for branch in told.branches for piece in branch.pieces)]
    text = "".join(piece.text for piece in pieces)
    assert " clean " not in text.replace("\n", " ")
    assert f"{other.verb} " in text
    assert [piece.train for piece in told.trunk] == [piece.train for piece in example.trunk]
