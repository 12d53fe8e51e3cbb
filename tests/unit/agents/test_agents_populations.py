"""Population files, and the paper's population against the published table."""

import csv
import json
from pathlib import Path

import pytest

from collegium.agents.populations import load_population
from collegium.core import Agent, ConfigError, CorruptDataError, NotFoundError, Sampling

ROOT = Path(__file__).parents[3]
PAPERS = ROOT / "configs" / "populations" / "papers.yaml"
TABLE = ROOT.parent / "shared" / "data" / "matm" / "agent_benchmarks.tsv"


def written(folder, text):
    file = folder / "population.yaml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture
def adapter(tmp_path):
    folder = tmp_path / "adapter"
    folder.mkdir()
    (folder / "adapter_model.safetensors").touch()
    (folder / "adapter_config.json").write_text("{}")
    (folder / "card.json").write_text(json.dumps({"benchmarks": {"success_all": 0.25}}))
    return folder


def test_defaults_fill_in_what_an_entry_leaves_out(tmp_path):
    file = written(
        tmp_path,
        """
        defaults: {model: base, provider: http, sampling: {max_tokens: 9}}
        agents:
          - {id: a}
          - {id: b, model: other, clone_group: twins, benchmarks: {source_aai: 3}}
        """,
    )
    assert load_population(file) == (
        Agent(id="a", model="base", provider="http", sampling=Sampling(max_tokens=9)),
        Agent(
            id="b",
            model="other",
            provider="http",
            sampling=Sampling(max_tokens=9),
            clone_group="twins",
            benchmarks={"source_aai": 3},
        ),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agents: [{id: a, model: m}, {id: a, model: n}]", "ids given more than once: a"),
        ("agents: []", "agents: "),
        ("agents: 3", "agents: "),
        ("{}", "agents: "),
        ("agents: [{id: a}]", r"agents\.0\.model: "),
        ("agents: [{id: a, model: m, colour: red}]", r"agents\.0\.colour: "),
        ("agents: [{id: a, model: m, price_prompt: -1}]", r"agents\.0\.price_prompt: "),
        ("defaults: {colour: red}\nagents: [{id: a, model: m}]", r"agents\.0\.colour: "),
        ("defaults: 3\nagents: [{id: a, model: m}]", "defaults: "),
        ("agents: [{id: a, model: m}]\nteam: x", "team: .*known keys"),
    ],
)
def test_a_wrong_file_says_where_it_is_wrong(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message) as caught:
        load_population(written(tmp_path, text))
    assert "population.yaml" in str(caught.value)


def test_measured_scores_come_from_the_adapters_card(tmp_path, adapter):
    entry = f"agents: [{{id: a, model: m, adapter: {adapter}}}]"
    (agent,) = load_population(written(tmp_path, entry))
    assert agent.benchmarks == {"success_all": 0.25}


def test_scores_in_the_file_beat_the_card(tmp_path, adapter):
    entry = f"agents: [{{id: a, model: m, adapter: {adapter}, benchmarks: {{x: 1}}}}]"
    (agent,) = load_population(written(tmp_path, entry))
    assert agent.benchmarks == {"x": 1.0}


def test_an_adapter_without_a_card_has_no_scores(tmp_path, adapter):
    (adapter / "card.json").unlink()
    (agent,) = load_population(
        written(tmp_path, f"agents: [{{id: a, model: m, adapter: {adapter}}}]")
    )
    assert agent.benchmarks == {}


@pytest.mark.parametrize("card", ["{", "[]", '{"benchmarks": {"x": "high"}}', '{"benchmarks": 1}'])
def test_a_broken_card_is_named(tmp_path, adapter, card):
    (adapter / "card.json").write_text(card)
    file = written(tmp_path, f"agents: [{{id: a, model: m, adapter: {adapter}}}]")
    with pytest.raises(CorruptDataError, match=r"card\.json"):
        load_population(file)


def test_an_unknown_adapter_names_file_and_agent(tmp_path):
    file = written(tmp_path, "agents: [{id: a, model: m, adapter: nosuch}]")
    with pytest.raises(NotFoundError, match=r"population\.yaml: agent a: no adapter 'nosuch'"):
        load_population(file)


def test_a_remote_agents_adapter_is_the_servers_business(tmp_path):
    text = "agents: [{id: a, model: m, adapter: theirs, provider: http}]"
    (agent,) = load_population(written(tmp_path, text))
    assert agent.adapter == "theirs"


@pytest.mark.parametrize("file", sorted(PAPERS.parent.glob("*.yaml")), ids=lambda f: f.stem)
def test_every_population_that_comes_with_the_project_loads(file):
    assert len(load_population(file)) >= 6


def test_the_papers_agents_all_have_their_scores():
    assert all(len(agent.benchmarks) == 12 for agent in load_population(PAPERS))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(NotFoundError, match="nowhere"):
        load_population(tmp_path / "nowhere.yaml")


def test_the_papers_population_has_34_agents_with_twelve_scores_each():
    agents = load_population(PAPERS)
    assert len(agents) == 34
    assert {len(agent.benchmarks) for agent in agents} == {12}
    assert {agent.provider for agent in agents} == {"http"}


def test_the_papers_population_is_the_published_table():
    if not TABLE.is_file():
        pytest.skip(f"the published table is not here: {TABLE.name}")
    with TABLE.open(encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t"))[1:]
    listed = [[a.id, *a.benchmarks.values()] for a in load_population(PAPERS)]
    assert listed == [[row[0], *map(float, row[1:])] for row in rows]
