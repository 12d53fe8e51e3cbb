"""Typed configuration: frozen pydantic models, YAML layers, dotted overrides, a digest."""

from collegium.config.base import Config, digest
from collegium.config.loading import dump_yaml, load, load_texts

__all__ = ["Config", "digest", "dump_yaml", "load", "load_texts"]
