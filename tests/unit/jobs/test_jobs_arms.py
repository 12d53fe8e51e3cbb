"""The arms of an evaluation, on a scripted engine: what each is shown, and that it is noted."""

import json
from collections import defaultdict

import pytest

from collegium.core import ConfigError, InvalidInputError, NotFoundError
from collegium.evaluation import read_episodes
from collegium.evaluation.arms import read_arms
from collegium.evaluation.findings import findings
from collegium.experience.sources import RandomSource
from collegium.ranking.groups import GroupCounts
from collegium.runtime.jobs import guidance_sources
from collegium.store import RunDirectory


def shown(run):
    """Return what each arm was shown: guidance by arm, then by (task, agent, offset)."""
    guidance = defaultdict(lambda: defaultdict(list))
    for episode in read_episodes(run):
        trajectory = episode.trajectory
        key = (trajectory.task.task_id, trajectory.producer, episode.offset)
        guidance[episode.arm][key] += [step.guidance for step in trajectory.steps]
    return guidance


def chunk_ids(guidance):
    return {ref.chunk_id for refs in guidance.values() for ref in refs if ref}


def test_each_mode_shows_its_own(build, evaluate):
    build()
    summary, run = evaluate("arms=[no_retrieval,retrieval,random_chunk,oracle,warnings,expert]")
    guidance = shown(run)
    pairs = set(guidance["no_retrieval"])
    assert len(pairs) == 16
    assert all(set(guidance[arm]) == pairs for arm in ("random_chunk", "oracle", "warnings"))
    assert not chunk_ids(guidance["no_retrieval"])
    known = chunk_ids(guidance["retrieval"]) | chunk_ids(guidance["random_chunk"])
    assert len(chunk_ids(guidance["random_chunk"])) > 8
    assert not known & chunk_ids(guidance["oracle"])
    assert not known & chunk_ids(guidance["warnings"])
    assert [arm.arm for arm in summary.arms] == [note.key for note in read_arms(run)]


def test_the_oracle_is_the_expert_on_the_very_game(build, evaluate):
    build()
    _, run = evaluate("arms=[oracle]")
    refs = [ref for refs in shown(run)["oracle"].values() for ref in refs if ref]
    assert {ref.producer for ref in refs} == {"explorer"}
    first = [refs[0] for refs in shown(run)["oracle"].values() if refs[0]]
    assert len(first) == 16
    assert all(ref.retrieval_score == pytest.approx(0, abs=1e-6) for ref in first)


def test_failures_are_shown_as_such(build, evaluate):
    build()
    _, run = evaluate("arms=[warnings]")
    refs = [ref for refs in shown(run)["warnings"].values() for ref in refs if ref]
    assert refs
    assert all(ref.text.startswith("# did not work: ") for ref in refs)


def test_a_memory_without_failures_has_no_warnings(build, evaluate):
    build("engine.skill=1.0")
    with pytest.raises(InvalidInputError, match="no failed trajectory"):
        evaluate("arms=[warnings]", "engine.skill=1.0")


def test_scopes_are_arms_of_one_run(build, evaluate):
    build()
    scopes = "[" + ",".join(
        f"{{name: {scope}, mode: retrieval, scope: {scope}}}"
        for scope in ("full", "same_task", "cross_task")
    )  # fmt: skip
    summary, run = evaluate(f"arms={scopes}]")
    assert [arm.arm for arm in summary.arms] == ["full", "same_task", "cross_task"]
    guidance = shown(run)
    for pair, refs in guidance["same_task"].items():
        others = guidance["cross_task"][pair]
        assert not {ref.chunk_id for ref in refs if ref} & {ref.chunk_id for ref in others if ref}
    assert [note.scope for note in read_arms(run)] == ["full", "same_task", "cross_task"]


def test_parts_of_the_memory_are_arms_too(build, evaluate):
    build()
    part = "{name: part, mode: retrieval, fraction: 0.25}"
    _, run = evaluate(f"arms=[retrieval,{part}]")
    guidance = shown(run)
    assert chunk_ids(guidance["part"])
    assert len(chunk_ids(guidance["part"])) < len(chunk_ids(guidance["retrieval"]))
    assert [note.fraction for note in read_arms(run)] == [1.0, 0.25]


@pytest.fixture
def trained(monkeypatch):
    """Puts a model in the place of trained ones: it draws at random."""

    class Card:
        model_id = "model-1"

    class Model:
        card = Card

    class Ranked(RandomSource):
        def prepare(self, chunks):
            assert len(chunks) > 0

    def ranking(first_stage, model, embedder, candidates, clones):
        assert candidates == 20
        assert model is Model
        return ranking.source

    def load(rankers, name):
        assert (rankers, name) == ("rankers", "svmrank_null")
        return Model

    def rank(self, arm, offset):
        ranking.source = Ranked(self.chunks, self.snapshot.embedder, self._config.retrieval, 7)
        return original(self, arm, offset)

    original = guidance_sources.GuidanceSources.ranked
    monkeypatch.setattr(guidance_sources, "RerankingSource", ranking)
    monkeypatch.setattr(guidance_sources, "_load", load)
    monkeypatch.setattr(guidance_sources, "_refusals", lambda rankers: {})
    monkeypatch.setattr(guidance_sources.GuidanceSources, "ranked", rank)
    return Card


def test_a_model_is_an_arm_and_its_id_is_noted(build, evaluate, trained, monkeypatch):
    build()
    _, run = evaluate("arms=[retrieval,svmrank_null]", "rankers=rankers")
    note = list(read_arms(run))[1]
    assert (note.key, note.model_id) == ("svmrank_null", "model-1")
    assert note.folder.endswith("rankers/models/svmrank_null")
    guidance = shown(run)
    assert chunk_ids(guidance["svmrank_null"]) != chunk_ids(guidance["retrieval"])
    monkeypatch.setattr(trained, "model_id", "model-2")
    with pytest.raises(ConfigError, match="begun with model model-1 as svmrank_null"):
        evaluate("arms=[retrieval,svmrank_null]", "rankers=rankers")


def test_an_unknown_model_names_those_that_are_there(build, evaluate, tmp_path):
    build()
    card = tmp_path / "rankers" / "models" / "ffn" / "card.json"
    card.parent.mkdir(parents=True)
    card.write_text("{}")
    with pytest.raises(NotFoundError, match=r"no model 'svmrank' .*; there: ffn\. Train it"):
        evaluate("arms=[svmrank]", f"rankers={tmp_path / 'rankers'}")


def test_a_model_that_training_refused_is_left_out_and_told(build, evaluate, tmp_path):
    build()
    row = {
        "key": "ffn",
        "kind": "ffn",
        "target": "paper",
        "null_candidate": False,
        "refused": "no better than chance",
        "groups": dict.fromkeys(GroupCounts.model_fields, 3),
        "metrics": None,
        "cross_validated": None,
    }
    RunDirectory(str(tmp_path / "rankers")).append("rankers", [row])
    summary, run = evaluate(
        "arms=[no_retrieval,retrieval,ffn]", f"rankers={tmp_path / 'rankers'}", "offsets=[0]"
    )
    assert [arm.arm for arm in summary.arms] == ["no_retrieval", "retrieval"]
    assert summary.not_played == {"ffn": "no better than chance"}
    assert "ffn was not played: no better than chance" in findings(summary)
    assert [note.refused for note in read_arms(run)] == ["", "", "no better than chance"]


def test_the_memory_is_noted(build, evaluate):
    _, memory = build()
    _, run = evaluate("arms=[retrieval]")
    noted = json.loads(run.read_text("memory.json"))
    assert noted["digest"] == memory.read_text("digest.txt").strip()
