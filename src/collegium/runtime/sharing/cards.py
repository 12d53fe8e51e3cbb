"""Cards: the `README.md` of a bundle, in the form that the Hugging Face hub reads.

A card says what its bundle's own files say and nothing else, so that equal content has an equal
card. Front matter is dumped as YAML, so no text in it can become a key.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from collegium.evaluation.findings import findings
from collegium.evaluation.rendering import to_markdown
from collegium.evaluation.report import stored_summary
from collegium.evaluation.tables import result_table
from collegium.llm.adapters import AdapterCard
from collegium.store import Manifest, RunDirectory

_TAG = "collegium"


def adapter_card(card: AdapterCard) -> str:
    """Return the card of an adapter, from its `card.json`."""
    front: dict[str, Any] = {"library_name": "peft", "tags": [_TAG, "lora"]}
    if card.base_model.count("/") == 1:  # a hub id; the hub refuses other names of models
        front["base_model"] = card.base_model
    return _rendered("adapter.md.j2", front, card=card)


def model_card(name: str, files: Mapping[str, Path]) -> str:
    """Return the card of a checkpoint that brings none of its own."""
    front = {"library_name": "transformers", "tags": [_TAG]}
    return _rendered("model.md.j2", front, name=name, files=sorted(files))


def tables_card(run: RunDirectory, manifest: Manifest, tables: Sequence[str]) -> str:
    """Return the card of some of a run's tables, each of which the hub offers by its name."""
    configs = [{"config_name": t, "data_files": f"tables/{t}.parquet"} for t in tables]
    front = {"tags": [_TAG], "configs": configs}
    summary = stored_summary(run)
    return _rendered(
        "tables.md.j2",
        front,
        digest=run.read_text("digest.txt").strip(),
        config=run.read_text("config.yaml"),
        rows={name: manifest.rows[name] for name in tables},
        findings=findings(summary) if summary else (),
        results=to_markdown(result_table(summary)) if summary else "",
    )


def _rendered(template: str, front: Mapping[str, Any], **about: Any) -> str:
    environment = Environment(
        loader=PackageLoader("collegium.runtime.sharing"),
        autoescape=False,  # Markdown, not HTML
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    body = environment.get_template(template).render(about)
    return f"---\n{yaml.safe_dump(dict(front), sort_keys=False)}---\n\n{body}"
