"""The report: self-contained, deterministic, accessible, and dead to hostile text."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from synthetic_runs import synthetic_episode, synthetic_episodes, synthetic_run

from collegium.core import CorruptDataError, GuidanceRef, InvalidInputError, NotFoundError
from collegium.evaluation import Summary
from collegium.evaluation.report import build, read_summary

ATTACK = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&amp; “日本”"

VOID = ("meta", "input")


class Page(HTMLParser):
    """Collects tags, ids, references and the contents of script elements."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links, self.scripts, self.open = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.links += [
            attributes[name] for name in ("src", "href", "xlink:href") if name in attributes
        ]
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, text):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += text


def page_of(run):
    build(run.path)
    return run.read_text("report.html")


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    run = synthetic_run(folder / "run")
    return page_of(run)


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def test_page_is_well_formed_with_unique_ids(page):
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))


def test_page_asks_nothing_of_the_network(html, page):
    assert all(link.startswith("#") for link in page.links)
    assert not {"link", "img", "iframe", "object"} & {tag for tag, _ in page.tags}
    assert not re.search(r"@import|url\((?!#)", html)


def test_policy_admits_the_script_by_its_hash_only(page):
    policy = next(a["content"] for t, a in page.tags if a.get("http-equiv"))
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not [a for _, a in page.tags if any(name.startswith("on") for name in a)]


def test_script_never_parses_text_as_markup(page):
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", page.scripts[1]
    )


def test_tables_and_figures_are_accessible(html, page):
    heads = [attributes for tag, attributes in page.tags if tag == "th"]
    assert heads
    assert all(attributes.get("scope") in {"col", "row"} for attributes in heads)
    figures = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert len(figures) == 6
    assert all(a["role"] == "img" and a["aria-label"] for a in figures)
    assert "agent-a: no_retrieval" in html, "the words that stand for a figure"


def test_header_says_what_run_it_was(html):
    for words in ("configuration", "time at work", "step_limit: 30", "collegium", "python"):
        assert words in html


def test_same_run_same_bytes(tmp_path):
    run = synthetic_run(tmp_path / "run")
    assert page_of(run) == page_of(run)


def test_generated_games_are_labelled_and_official_ones_are_not(html, tmp_path):
    assert "Generated games." in html
    run = synthetic_run(tmp_path / "run", synthetic_episodes(tasks=4, source="official"))
    official = page_of(run)
    assert "Generated games." not in official
    assert "official games" in official


def test_hostile_text_stays_data(tmp_path):
    guidance = GuidanceRef(
        chunk_id=ATTACK, producer=ATTACK, rank=1, retrieval_score=0.1, text=ATTACK
    )
    episode = synthetic_episode(
        agent=ATTACK, task=ATTACK, task_type=ATTACK, observation=ATTACK, guidance=guidance
    )
    run = synthetic_run(
        tmp_path / "run", [episode, episode.model_copy(update={"arm": ATTACK, "key": "2"})]
    )
    html = page_of(run)
    page = Page(html)
    assert len(page.scripts) == 2
    assert not {"img"} & {tag for tag, _ in page.tags}
    data = json.loads(page.scripts[0])
    assert ATTACK in data["texts"]
    assert data["guidance"][0]["producer"] == ATTACK
    assert data["episodes"][0]["task"] == ATTACK
    assert data["arms"] == ["no_retrieval", ATTACK]


def test_every_step_and_its_guidance_is_in_the_page(page, tmp_path):
    data = json.loads(page.scripts[0])
    stored = {episode.key: episode for episode in synthetic_episodes()}
    assert {row["key"] for row in data["episodes"]} == set(stored)
    for row in data["episodes"]:
        steps = stored[row["key"]].trajectory.steps
        assert [data["texts"][step[0]] for step in row["steps"]] == [s.action for s in steps]
        shown = [data["guidance"][step[2]]["chunk"] for step in row["steps"] if step[2] >= 0]
        assert shown == [step.guidance.chunk_id for step in steps if step.guidance]


@pytest.mark.parametrize("solved", [True, False])
def test_one_bare_episode_makes_a_page(tmp_path, solved):
    run = synthetic_run(tmp_path / "run", [synthetic_episode(success=solved)], growth=False)
    assert Page(page_of(run)).open == []


def test_build_writes_page_and_summary_into_the_run(tmp_path):
    run = synthetic_run(tmp_path / "run")
    row = {"key": "ceiling", "label": "planner", "source": "planner", "success_rate": 1.0}
    run.append("references", [row])
    summary = build(str(tmp_path / "run"))
    assert Summary.model_validate_json(run.read_text("summary.json")) == summary
    assert summary == read_summary(run)
    assert [r.source for r in summary.references] == ["planner", "paper", "paper", "paper"]
    assert [row.partition for row in summary.growth] == [0, 1, 2, 3]
    assert run.exists("report.html")


def test_errors_say_what_is_missing(tmp_path):
    with pytest.raises(NotFoundError, match="is it a run directory"):
        build(str(tmp_path / "nowhere"))
    run = synthetic_run(tmp_path / "run", [], growth=False)
    with pytest.raises(InvalidInputError, match="no episodes"):
        build(run.path)
    run.write_text("attempts/2-torn.json", "{")
    with pytest.raises(CorruptDataError, match=r"2-torn\.json"):
        build(run.path)
