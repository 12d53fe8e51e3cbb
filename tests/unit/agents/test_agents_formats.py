"""The paper's prompts for the household, and how answers to them are read."""

import json

import pytest
from agents_fakes import GRAMMAR, TASK, guidance, view_of

from collegium.agents.guidance import GuidanceText, guidance_ref
from collegium.agents.json_format import ACTIONS, JsonFormat
from collegium.core import InvalidInputError
from collegium.environments.household import Grammar

JSON = JsonFormat(GRAMMAR)
CHOICE = JsonFormat(GRAMMAR, answer="choice")


def texts(prompt):
    system, user = prompt.text
    assert (system.role, user.role) == ("system", "user")
    return system.content, user.content


def test_the_system_message_lists_the_actions_of_the_current_grammar():
    system, _ = texts(JSON.render(view_of(), None))
    assert system.startswith("Interact with a household to solve a task. Imagine you are")
    assert "1. go to recep 2. take obj from recep 3. move obj to recep 4. open recep" in system
    assert "9. cool obj with recep where obj and recep correspond" in system
    assert "in/on" not in system
    assert "toggle" not in system


def test_the_example_fits_the_task_type_and_answers_as_the_agent_must():
    system, _ = texts(JSON.render(view_of(), None))
    shown = system.partition("ONE-SHOT EXAMPLE:\nTask: put some book on sidetable.\n")[2]
    responses = [line for line in shown.splitlines() if line.startswith("Response: ")]
    actions = [json.loads(line.removeprefix("Response: "))["action"] for line in responses]
    assert actions[-1] == "move book 2 to sidetable 1"
    task = TASK.model_copy(update={"task_type": "look_at_obj_in_light"})
    other, _ = texts(JSON.render(view_of()._replace(task=task), None))
    assert "use desklamp 1" in other


def test_the_first_user_message_has_neither_history_nor_guidance():
    _, user = texts(JSON.render(view_of(), None))
    assert user.startswith(
        "GOAL: put some book on sidetable.\n\nCURRENT STEP: 0 / 30\n\n>>> CURRENT OBSERVATION "
        "(Focus on This - Current State):\nthe start\n<<< End of Current Observation\n\n"
        "ADMISSIBLE ACTIONS (3 total):\n  1. a\n  2. b\n  3. look\n\nRESPONSE FORMAT:\n"
        "You MUST respond with valid JSON in this exact format:\n"
    )
    assert user.endswith("2. Do not include any text before or after the JSON object.")


def test_history_holds_the_last_three_steps_with_what_was_seen_before_them():
    _, user = texts(JSON.render(view_of("a", "b", "look", "a"), None))
    history = user.partition("For Reference Only) ---\n")[2].partition("\n--- End of Recent")[0]
    assert history.splitlines() == [
        "STEP 1: OBSERVATION: saw a | ACTION: b | REWARD: 0",
        "STEP 2: OBSERVATION: saw b | ACTION: look | REWARD: 0",
        "STEP 3: OBSERVATION: saw look | ACTION: a | REWARD: 0",
    ]


def test_guidance_stands_between_history_and_observation_exactly_as_recorded():
    found = guidance("go to desk 1", "move pen 1 to desk 1")
    prompt = JSON.render(view_of("a"), found)
    _, user = texts(prompt)
    before, _, after = user.partition(prompt.guidance_text)
    assert before.endswith("--- RETRIEVED TRAJECTORY GUIDANCE (Reference Examples) ---\n")
    assert "--- End of Recent History ---" in before
    assert after.startswith("\n--- End of Trajectory Guidance ---\n\n>>> CURRENT OBSERVATION")
    assert prompt.guidance_text.startswith(
        "RETRIEVED TRAJECTORY:\nTask: put some pen on desk.\n\n"
        "Retrieved successful trajectory sequence:\n"
        "Step 1: go to desk 1\n  Observation: saw go to desk 1\n"
        "Step 2: move pen 1 to desk 1\n  Observation: saw move pen 1 to desk 1\n\n"
        "Use this trajectory as a reference for your planning. Consider:\n1. The sequence"
    )


def test_without_guidance_the_prompts_differ_by_its_block_only():
    _, plain = texts(JSON.render(view_of("a"), None))
    prompt = JSON.render(view_of("a"), guidance("b"))
    _, guided = texts(prompt)
    block = (
        "--- RETRIEVED TRAJECTORY GUIDANCE (Reference Examples) ---\n"
        f"{prompt.guidance_text}\n--- End of Trajectory Guidance ---\n\n"
    )
    assert guided.replace(block, "") == plain
    assert JSON.render(view_of(), None).guidance_text == ""


def test_text_from_outside_stays_data():
    view = view_of("{{ goal }}")._replace(observation="{% for x in y %} <b>it's</b>")
    _, user = texts(JSON.render(view, guidance("{{ steps }}")))
    assert "ACTION: {{ goal }} |" in user
    assert "\n{% for x in y %} <b>it's</b>\n" in user
    assert "Step 1: {{ steps }}\n" in user


def test_the_json_form_constrains_to_a_schema_and_the_choice_form_to_the_commands():
    in_json, choice = JSON.render(view_of(), None), CHOICE.render(view_of(), None)
    assert (in_json.choices, in_json.json_schema["required"]) == (None, ["reasoning", "action"])
    assert (choice.choices, choice.json_schema) == (("a", "b", "look"), None)
    assert not any("JSON" in text for text in texts(choice))
    assert "\nResponse: go to desk 1\n" in texts(choice)[0]
    assert (JSON.name, CHOICE.name) == ("json", "choice")


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ('{"reasoning": "r", "action": "b"}', "b"),
        ('```json\n{"reasoning": "r", "action": "b"}\n```', "b"),
        ('I go. {"action": "look", "reasoning": "{"} and more', "look"),
        ('{"reasoning": "r", "action": "B"}', None),
        ('{"reasoning": "r", "action": "b "}', None),
        ('{"reasoning": "r", "action": "fly"}', None),
        ('{"reasoning": "r", "action": 3}', None),
        ('{"reasoning": "r", "action": ["b"]}', None),
        ('{"reasoning": "b"}', None),
        ('{"reasoning": "cut off', None),
        ('["b"]', None),
        ("b", None),
        ("", None),
        ('{"action": ' + "9" * 5000 + "}", None),
        ("{" * 100_000, None),
        ('{"a":' * 100_000, None),
    ],
)
def test_an_action_counts_only_if_it_is_admissible_to_the_letter(answer, action):
    assert JSON.parse(answer, view_of()) == action


@pytest.mark.parametrize(
    ("answer", "action"), [("b", "b"), (" b\n", "b"), ("B", None), ("fly", None), ("", None)]
)
def test_a_choice_is_the_command_alone(answer, action):
    assert CHOICE.parse(answer, view_of()) == action


def test_unknown_grammars_and_task_types_are_refused_with_the_known_ones():
    with pytest.raises(InvalidInputError, match=r"alfworld-0\.3.*known: alfworld-0\.4"):
        JsonFormat(Grammar.OLD)
    assert set(ACTIONS) == {Grammar.CURRENT}
    task = TASK.model_copy(update={"task_type": "juggle"})
    with pytest.raises(InvalidInputError, match=r"juggle.*known: pick_and_place_simple"):
        JSON.render(view_of()._replace(task=task), None)


def test_the_record_of_guidance_names_what_was_shown():
    found = guidance("a")
    ref = guidance_ref(found, "the text")
    assert (ref.chunk_id, ref.producer, ref.rank) == (found.chunk.chunk_id, "teacher", 1)
    assert (ref.retrieval_score, ref.text) == (0.25, "the text")
    assert GuidanceText()(None) == ""
