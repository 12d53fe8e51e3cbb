"""Loading of prompt files. Values put into a prompt are data: they are never read as a template."""

import json
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
import yaml

from collegium.core import CorruptDataError, InvalidInputError, NotFoundError

_KEYS = ("description", "fields", "text")


class PromptTemplate:
    """A checked prompt file."""

    def __init__(self, name: str, fields: frozenset[str], template: jinja2.Template) -> None:
        self.name = name
        self.fields = fields
        self._template = template

    def render(self, **values: object) -> str:
        """Return the text with `values` filled in, without line breaks at its end.

        Raises:
            InvalidInputError: `values` are not exactly the declared fields.
        """
        if values.keys() != self.fields:
            missing = ", ".join(sorted(self.fields - values.keys())) or "none"
            unknown = ", ".join(sorted(values.keys() - self.fields)) or "none"
            raise InvalidInputError(
                f"prompt {self.name}: missing fields: {missing}; unknown fields: {unknown}"
            )
        return self._template.render(values).rstrip("\n")


def packaged_prompts() -> tuple[str, ...]:
    """Return the names of the prompts that come with the library, sorted."""
    names = (file.name for file in resources.files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))


def load_prompt(prompt: str | Path) -> PromptTemplate:
    """Load and check one prompt.

    Args:
        prompt: Name of a packaged prompt, or the path of a file of one's own.

    Raises:
        NotFoundError: There is no such prompt.
        CorruptDataError: The file is not a prompt, or declares other fields than it uses.
    """
    file = prompt if isinstance(prompt, Path) else _packaged(prompt)
    if not file.is_file():
        known = ", ".join(packaged_prompts())
        raise NotFoundError(f"no prompt {prompt}; packaged prompts: {known}; a Path works too")
    data = _read(file)
    template, used = _compile(file, data["text"])
    declared = frozenset(data["fields"])
    if declared != used:
        raise CorruptDataError(
            f"{file}: fields: declared but not used in the text: {_listed(declared - used)}; "
            f"used but not declared: {_listed(used - declared)}"
        )
    return PromptTemplate(file.name.removesuffix(".yaml"), declared, template)


def _packaged(name: str) -> Traversable:
    return resources.files(__package__) / f"{name}.yaml"


def _read(file: Traversable) -> dict[str, Any]:
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise CorruptDataError(f"{file}: not valid YAML: {error}") from error
    if not isinstance(data, dict) or sorted(data) != sorted(_KEYS):
        raise CorruptDataError(f"{file}: expected exactly the keys {', '.join(_KEYS)} at the top")
    fields = data["fields"]
    if not isinstance(fields, list) or not all(isinstance(field, str) for field in fields):
        raise CorruptDataError(f"{file}: fields: expected a list of names")
    if not isinstance(data["text"], str) or not data["text"].strip():
        raise CorruptDataError(f"{file}: text: expected a text that is not empty")
    return data


def _compile(file: Traversable, text: str) -> tuple[jinja2.Template, frozenset[str]]:
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    # Jinja's own `tojson` escapes for HTML.
    environment.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False)
    try:
        used = frozenset(jinja2.meta.find_undeclared_variables(environment.parse(text)))
        return environment.from_string(text), used
    except jinja2.TemplateError as error:
        line = getattr(error, "lineno", None)
        place = f"text, line {line}" if line else "text"
        raise CorruptDataError(f"{file}: {place}: {error}") from error


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "none"
