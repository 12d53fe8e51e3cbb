"""The envelope of a game file: JSON with domain, grammar, problem and walkthrough.

Every official game carries one and the same PDDL domain and one grammar that differs in its task
line only, so both are recognised by hash and any other is refused: the engine implements exactly
these rules. Generated games name the two by digest instead of copying 30 kB.
"""

import hashlib
import json
import re
from typing import Any, NamedTuple, NoReturn

from collegium.core import CorruptDataError

DOMAIN_DIGEST = "sha256:0af55e7f92d12b09d28515aa730e4d03fddd17228ef1fd7b18a3ee8ba49b27b9"
"""Digest of the `pddl_domain` text of the official games (ALFWorld 0.4)."""

GRAMMAR_DIGEST = "sha256:10da93e13b58e1a6039723f5d4a59ceae7c60772515bfab9fc603bafa7f8ee06"
"""Digest of their `grammar` text with what follows "Your task is to: " taken out."""

_TASK_LINE = re.compile(r'"rhs": "Your task is to: ([^"\\]*)"')
_TASK_TEXT = re.compile(r"[a-z0-9 ,]+\.")
_REMEDY = "restore the file (official games: collegium data household --from ARCHIVE_DIR)"


class Envelope(NamedTuple):
    """The parts of a game file that are particular to the game."""

    problem: str
    """PDDL text of the initial state and goal."""
    goal: str
    """The task line as players read it, e.g. `put a hot cup in cabinet.`"""
    walkthrough: tuple[str, ...]
    by_digest: bool
    """Whether the file names domain and grammar by digest, as generated games do."""
    digest: str
    """`sha256:<hex>` of the file's bytes."""


def sha256(data: bytes) -> str:
    """Return `sha256:<hex>` of `data`."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def corrupt(source: str, place: str, problem: str) -> NoReturn:
    """Raise the error of a bad game file; it names file, place and remedy."""
    raise CorruptDataError(f"{source}: {place}: {problem}; {_REMEDY}")


def open_envelope(data: bytes, source: str) -> Envelope:
    """Check and unpack a game file.

    Args:
        data: The file's bytes.
        source: What errors call the file, usually its path.

    Raises:
        CorruptDataError: Not the JSON of a game, or of an unknown domain or grammar.
    """
    fields = _read_json(data, source)
    domain, grammar = fields.get("pddl_domain"), fields.get("grammar")
    _check_domain(domain, source)
    if fields.get("solvable") is not True:
        corrupt(source, "key solvable", "is not true")
    problem = fields.get("pddl_problem")
    if not isinstance(problem, str):
        corrupt(source, "key pddl_problem", "is missing or not a text")
    return Envelope(
        problem=problem,
        goal=_read_goal(grammar, source),
        walkthrough=_read_walkthrough(fields.get("walkthrough"), source),
        by_digest=not isinstance(grammar, str),
        digest=sha256(data),
    )


def _read_json(data: bytes, source: str) -> dict[str, Any]:
    try:
        fields = json.loads(data)
    except json.JSONDecodeError as error:
        corrupt(source, f"line {error.lineno}, column {error.colno}", f"not JSON ({error.msg})")
    except UnicodeDecodeError as error:
        corrupt(source, f"byte {error.start}", "not UTF-8")
    except (ValueError, RecursionError) as error:
        corrupt(source, "top level", f"not the JSON of a game ({error})")
    if not isinstance(fields, dict):
        corrupt(source, "top level", "not a JSON object")
    return fields


def _check_domain(domain: object, source: str) -> None:
    if not isinstance(domain, str):
        corrupt(source, "key pddl_domain", "is missing or not a text")
    digest = domain if domain.startswith("sha256:") else sha256(domain.encode())
    if digest != DOMAIN_DIGEST:
        corrupt(source, "key pddl_domain", f"unknown domain {digest} (known: {DOMAIN_DIGEST})")


def _read_goal(grammar: object, source: str) -> str:
    """Return the task line of a known grammar, whether copied or named by digest."""
    if isinstance(grammar, str):
        line = _TASK_LINE.search(grammar)
        if not line:
            corrupt(source, "key grammar", "has no task line")
        goal: object = line[1]
        digest: object = sha256((grammar[: line.start(1)] + grammar[line.end(1) :]).encode())
    elif isinstance(grammar, dict):
        goal, digest = grammar.get("task"), grammar.get("digest")
    else:
        corrupt(source, "key grammar", "is missing or neither a text nor an object")
    if digest != GRAMMAR_DIGEST:
        corrupt(source, "key grammar", f"unknown grammar {digest} (known: {GRAMMAR_DIGEST})")
    if not isinstance(goal, str) or not _TASK_TEXT.fullmatch(goal):
        corrupt(source, "key grammar", f"unreadable task line {goal!r}")
    return goal


def _read_walkthrough(value: object, source: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(c, str) and c for c in value):
        corrupt(source, "key walkthrough", "is missing or not a list of commands")
    return tuple(value)
