"""One-shot examples for prompts: files of invented episodes, one for each task type."""

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import yaml
from pydantic import Field, TypeAdapter, ValidationError

from collegium.core import CorruptDataError, NotFoundError, Record


class ExampleTurn(Record):
    """What an agent sees, thinks and does."""

    observation: str = Field(min_length=1)
    reasoning: str = Field(min_length=1)
    action: str = Field(min_length=1)


class Example(Record):
    """One solved task; the turns may start in the middle."""

    task: str = Field(min_length=1)
    turns: tuple[ExampleTurn, ...] = Field(min_length=1)


def load_examples(examples: str | Path) -> dict[str, Example]:
    """Return task type -> example.

    Args:
        examples: Name of a packaged file, e.g. `household`, or the path of one's own.

    Raises:
        NotFoundError: There is no such file.
        CorruptDataError: The file does not hold examples; the message names the place.
    """
    file: Traversable = (
        examples
        if isinstance(examples, Path)
        else resources.files(__package__) / "example_data" / f"{examples}.yaml"
    )
    if not file.is_file():
        raise NotFoundError(f"no example file {file}: give the name of a packaged one or a Path")
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
        return TypeAdapter(dict[str, Example]).validate_python(data)
    except yaml.YAMLError as error:
        raise CorruptDataError(f"{file}: not valid YAML: {error}") from error
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"])) or "(top)"
        raise CorruptDataError(f"{file}: {place}: {problem['msg']}") from None
