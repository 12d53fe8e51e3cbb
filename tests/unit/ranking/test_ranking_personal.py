"""Personalisation: own labels first, then the group's, then everybody's; and a new agent."""

import asyncio

import numpy as np
import pytest
from synthetic_labels import AGENTS, EMBEDDER, material, ranking_data

from collegium.core import Guidance, NotFoundError
from collegium.ranking.card import RankingModel, load_model, save_model
from collegium.ranking.cascade import Reranker
from collegium.ranking.configs import PersonalConfig, SVMRankConfig
from collegium.ranking.kinds import fit_ranker, load_ranker
from collegium.ranking.metrics import measure

CONFIG = PersonalConfig(patience=5.0)


def contrary(made):
    """Turn the labels of the first agent round: the master's chunks hurt it."""
    turned = [
        row.model_copy(update={"score_base": row.score_future, "label": -row.label})
        if row.agent == AGENTS[0].id
        else row
        for row in made.labels
    ]
    return made._replace(labels=turned)


@pytest.fixture(scope="module")
def data():
    return ranking_data(contrary(material(questions=60, noise=0.0)))


@pytest.fixture(scope="module")
def whole(data):
    return data.training_set("paper", null=False)[0]


@pytest.fixture(scope="module")
def personal(whole):
    return fit_ranker(CONFIG, whole, 0)


def of_agent(whole, agent):
    return whole.subset([i for i, g in enumerate(whole.groups) if g.query.consumer == agent])


def test_an_agent_with_other_preferences_gets_its_own_order(whole, personal):
    population = fit_ranker(SVMRankConfig(), whole, 0)
    for agent in AGENTS:
        mine = of_agent(whole, agent.id)
        assert measure(mine, personal.score(mine.features)).ranker.ndcg > 0.99
    contrarian = of_agent(whole, AGENTS[0].id)
    wrong = measure(contrarian, population.score(contrarian.features)).ranker.ndcg
    assert wrong < 0.95


def test_a_new_agent_is_served_by_its_group_and_a_stranger_by_all(whole, personal):
    stranger = whole.features.copy()
    stranger[:, whole.schema.blocks["consumer_id"]] = 0.0
    alone = personal.score_as(stranger, "unknown")
    assert np.array_equal(personal.score(stranger), alone)
    assert personal.shares("", "unknown") == {"population": 1.0}
    assert set(personal.shares("", "m")) == {"group/m", "population"}
    assert not np.array_equal(personal.score_as(stranger, "m"), np.zeros(len(alone)))


def test_labels_of_ones_own_count_more_the_more_there_are():
    before = 0.0
    for questions in (12, 24, 60):
        data = ranking_data(material(questions=questions))
        ranker = fit_ranker(CONFIG, data.training_set("paper", null=False)[0], 0)
        shares = ranker.shares(AGENTS[0].id, "m")
        assert sum(shares.values()) == pytest.approx(1.0)
        assert shares[f"consumer/{AGENTS[0].id}"] > before
        before = shares[f"consumer/{AGENTS[0].id}"]


def test_a_level_with_few_labels_has_no_ranker(whole):
    ranker = fit_ranker(PersonalConfig(least=10_000), whole, 0)
    assert ranker.shares(AGENTS[0].id, "m") == {"population": 1.0}


def test_rows_are_scored_by_their_own_consumer_whatever_stands_beside(whole, personal):
    scores = personal.score(whole.features)
    for agent in AGENTS:
        rows = np.concatenate(
            [
                np.arange(len(scores))[whole.rows[i]]
                for i, group in enumerate(whole.groups)
                if group.query.consumer == agent.id
            ]
        )
        assert np.array_equal(personal.score(whole.features[rows]), scores[rows])


def about(data, whole, personal):
    return {
        "features": data.schema,
        "hyperparameters": {},
        "seed": 0,
        "target": "paper",
        "grades": {},
        "null_candidate": False,
        "labels": "l",
        "run": "r",
        "groups": 1,
        "metrics": measure(whole, personal.score(whole.features)),
        "cross_validated": measure(whole, personal.score(whole.features)),
    }


def test_levels_are_saved_beside_each_other(data, whole, personal, tmp_path):
    card = save_model(tmp_path / "m", personal, data.resources, about(data, whole, personal))
    assert any(name.startswith("level-0/") for name in card.files)
    loaded = load_model(tmp_path / "m").ranker
    assert np.array_equal(loaded.score(whole.features), personal.score(whole.features))
    with pytest.raises(NotFoundError, match="personal"):
        load_ranker("personal", tmp_path)


def test_the_cascade_serves_a_new_agent_by_its_group(data, whole, personal, tmp_path):
    save_model(tmp_path / "m", personal, data.resources, about(data, whole, personal))
    model: RankingModel = load_model(tmp_path / "m")
    rows = data.labels[:5]
    guidance = [
        Guidance(chunk=row.as_chunk(), rank=rank, retrieval_score=row.retrieval_score)
        for rank, row in enumerate(rows, start=1)
    ]
    query = rows[0].as_query().model_copy(update={"consumer": "newcomer"})
    features = data.extractor.matrix(query, guidance)

    def scores(clones):
        ranked = asyncio.run(Reranker(model, EMBEDDER, clones).order(query, guidance))
        return sorted(one.score for one in ranked.candidates)

    assert scores({"newcomer": "m"}) == sorted(personal.score_as(features, "m"))
    assert scores(None) == sorted(personal.score(features))
