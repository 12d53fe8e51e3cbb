"""Layering: model defaults < YAML files from left to right < dotted overrides `a.b=c`.

Mappings merge deeply; everything else, lists included, is replaced. Errors name the file or the
override, the dotted place, and what was expected.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from collegium.config.base import Config
from collegium.core import ConfigError, NotFoundError

C = TypeVar("C", bound=Config)


def load(model: type[C], files: Sequence[Path | str], overrides: Sequence[str] = ()) -> C:
    """Return the resolved `model`; raises ConfigError or NotFoundError with file and place."""
    return load_texts(model, {str(file): _read(Path(file)) for file in files}, overrides)


def load_texts(model: type[C], texts: Mapping[str, str], overrides: Sequence[str] = ()) -> C:
    """Return the resolved `model` from YAML by its origin; raises ConfigError with the place."""
    merged: dict[str, Any] = {}
    for origin, text in texts.items():
        merged = _merge(merged, _parse(text, origin))
    for override in overrides:
        merged = _merge(merged, _parse_override(override))
    try:
        return model.model_validate(merged)
    except ValidationError as error:
        sources = ", ".join([*texts, *(f"-s {o}" for o in overrides)]) or "defaults"
        raise ConfigError(f"{sources}: {_explain(model, error)}") from None


def dump_yaml(config: Config) -> str:
    """Return the resolved configuration as YAML that `load` reads back (secrets masked)."""
    text: str = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    return text


def _read(file: Path) -> str:
    if not file.is_file():
        raise NotFoundError(f"no configuration file {file}; the shipped ones are under configs/")
    return file.read_text(encoding="utf-8")


def _parse(text: str, origin: str) -> dict[str, Any]:
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{origin}: not valid YAML: {error}") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{origin}: expected a mapping at the top, found {type(data).__name__}")
    return data


def _parse_override(override: str) -> dict[str, Any]:
    path, separator, text = override.partition("=")
    if not separator or not path:
        raise ConfigError(f"override {override!r}: expected key.path=value")
    try:
        value: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"override {override!r}: not a YAML value: {error}") from None
    for key in reversed(path.split(".")):
        value = {key: value}
    nested: dict[str, Any] = value
    return nested


def _merge(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in top.items():
        below = merged.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        merged[key] = _merge(below, value) if both else value  # type: ignore[arg-type]
    return merged


def _explain(model: type[Config], error: ValidationError) -> str:
    lines = []
    for problem in error.errors():
        place = ".".join(map(str, problem["loc"])) or "(top)"
        hint = ""
        if problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1:
            hint = f"; known keys: {', '.join(sorted(model.model_fields))}"
        lines.append(f"{place}: {problem['msg']}{hint}")
    return "; ".join(lines)
