"""Episodes as one compact JSON block, which the page's script turns into text on demand.

Texts repeat (the same guidance for five steps, "Nothing happens."), so they are stored once and
referred to by place. The block is data: it is escaped so that no text can end its element, and the
script only ever writes it with `textContent`.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup

from collegium.core import Episode, GuidanceRef, Step

_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


class _Pool:
    """Values by first appearance."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[Any, int] = {}

    def place(self, key: Any, value: Any) -> int:
        if key not in self._places:
            self._places[key] = len(self.values)
            self.values.append(value)
        return self._places[key]


class EpisodePayload:
    """Collects episodes one at a time, so that a run is never in memory twice."""

    def __init__(self) -> None:
        self._texts = _Pool()
        self._guidance = _Pool()
        self._episodes: list[dict[str, Any]] = []

    def collect(self, episodes: Iterable[Episode]) -> Iterable[Episode]:
        """Yield `episodes` on, keeping what the page shows of each."""
        for episode in episodes:
            self._episodes.append(self._row(episode))
            yield episode

    def to_json(self, arms: Sequence[str]) -> Markup:
        """Return the block, safe inside a script element; `arms` in the order to show them."""
        block = {
            "arms": list(arms),
            "texts": self._texts.values,
            "guidance": self._guidance.values,
            "episodes": self._episodes,
        }
        text = json.dumps(block, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return Markup(text.translate(_ESCAPES))

    def _row(self, episode: Episode) -> dict[str, Any]:
        trajectory, usage = episode.trajectory, episode.usage
        return {
            "key": episode.key,
            "arm": episode.arm,
            "agent": trajectory.producer,
            "offset": episode.offset,
            "task": trajectory.task.task_id,
            "type": trajectory.task.task_type,
            "goal": trajectory.task.goal,
            "source": trajectory.task.source,
            "split": trajectory.task.split,
            "success": trajectory.success,
            "stop": episode.stop_reason.value,
            "machinery": episode.stop_reason.is_machinery,
            "error": episode.error,
            "seconds": round(episode.seconds, 3),
            "calls": usage.calls,
            "prompt": usage.prompt_tokens,
            "cached": usage.cached_tokens,
            "completion": usage.completion_tokens,
            "cost": usage.cost,
            "versions": " · ".join(trajectory.versions.model_dump().values()),
            "start": self._text(trajectory.initial_observation),
            "steps": [self._step(step) for step in trajectory.steps],
        }

    def _step(self, step: Step) -> list[int]:
        """Return [action, observation, guidance or -1, asked for guidance, answer unreadable]."""
        return [
            self._text(step.action),
            self._text(step.observation),
            -1 if step.guidance is None else self._shown(step.guidance),
            int(step.retrieved),
            int(step.parse_failed),
        ]

    def _text(self, text: str) -> int:
        return self._texts.place(text, text)

    def _shown(self, shown: GuidanceRef) -> int:
        value = {
            "chunk": shown.chunk_id,
            "producer": shown.producer,
            "rank": shown.rank,
            "score": round(shown.retrieval_score, 6),
            "text": self._text(shown.text),
        }
        return self._guidance.place(tuple(value.values()), value)
