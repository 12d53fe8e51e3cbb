"""Prompt files: the packaged ones hold together, and a wrong one says where it is wrong."""

import re

import pytest

from collegium.core import CorruptDataError, InvalidInputError, NotFoundError
from collegium.environments.household.goals import TaskType, parse_goal
from collegium.llm.prompts import load_examples, load_prompt, packaged_prompts

COMMANDS = [
    r"go to \w+ \d+",
    r"take \w+ \d+ from \w+ \d+",
    r"move \w+ \d+ to \w+ \d+",
    r"(open|close) \w+ \d+",
    r"use \w+ \d+",
    r"(clean|heat|cool) \w+ \d+ with \w+ \d+",
]


def written(folder, text):
    file = folder / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_every_packaged_prompt_loads():
    assert packaged_prompts() == (
        "household_guidance",
        "household_system",
        "household_user",
        "household_warning",
        "planner_system",
        "planner_user",
    )
    for name in packaged_prompts():
        assert load_prompt(name).name == name


def test_a_file_of_ones_own_is_filled_in(tmp_path):
    file = written(tmp_path, "description: d\nfields: [x]\ntext: |\n  a {{ x }} {{ x | json }}\n\n")
    assert load_prompt(file).render(x='"é<') == 'a "é< "\\"é<"'


def test_values_must_be_the_declared_fields():
    prompt = load_prompt("planner_user")
    with pytest.raises(InvalidInputError, match=r"missing fields: guidance, history; unknown.*: x"):
        prompt.render(goal="", observation="", x="")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("description: d\nfields: [x]\ntext: a {{ y }}", "not used in the text: x; .*declared: y"),
        ("description: d\nfields: [x, z]\ntext: a {{ x }}", "not used in the text: z; .*: none"),
        ("description: d\nfields: []\ntext: |\n  ok\n  {% if %}", r"mine\.yaml: text, line 2: "),
        ("description: d\nfields: []\ntext: '{{ 1 | nofilter }}'", "nofilter"),
        ("description: d\ntext: a", "exactly the keys description, fields, text"),
        ("description: d\nfields: []\ntext: a\nmore: b", "exactly the keys"),
        ("description: d\nfields: x\ntext: a", "fields: expected a list"),
        ("description: d\nfields: [1]\ntext: a", "fields: expected a list"),
        ("description: d\nfields: []\ntext: ''", "text: expected a text"),
        ("description: [", "not valid YAML"),
        ("just text", "exactly the keys"),
    ],
)
def test_a_wrong_file_says_where_it_is_wrong(tmp_path, text, message):
    with pytest.raises(CorruptDataError, match=message) as caught:
        load_prompt(written(tmp_path, text))
    assert "mine.yaml" in str(caught.value)


@pytest.mark.parametrize("name", ["nosuch", "../loader"])
def test_an_unknown_prompt_lists_the_known_ones(name):
    with pytest.raises(NotFoundError, match="planner_system, planner_user"):
        load_prompt(name)


def test_there_is_an_example_for_each_task_type_and_it_solves_that_type():
    examples = load_examples("household")
    assert examples.keys() == set(TaskType)
    for task_type, example in examples.items():
        goal = parse_goal(example.task)
        assert goal.task_type == task_type
        actions = [turn.action for turn in example.turns]
        assert all(any(re.fullmatch(c, a) for c in COMMANDS) for a in actions)
        assert actions[-1].startswith(("move", "use"))
        assert goal.destination in actions[-1]
        assert all(t.reasoning.startswith("Let's think step by step.") for t in example.turns)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: {task: t, turns: []}", r"mine\.yaml: kind\.turns: "),
        ("kind: {task: t, turns: [{observation: o, action: a}]}", r"kind\.turns\.0\.reasoning: "),
        ("[]", r"mine\.yaml: \(top\): "),
        ("kind: {", "not valid YAML"),
    ],
)
def test_wrong_examples_say_where_they_are_wrong(tmp_path, text, message):
    with pytest.raises(CorruptDataError, match=message):
        load_examples(written(tmp_path, text))


def test_missing_examples_are_named():
    with pytest.raises(NotFoundError, match=r"nosuch\.yaml"):
        load_examples("nosuch")
