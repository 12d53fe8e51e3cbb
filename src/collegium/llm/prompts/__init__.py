"""Prompts are files: YAML with a description, the fields to fill in, and a Jinja text.

Each file is checked when it is loaded: the fields it declares are exactly those its text uses, so
a renamed field fails at start and not in the middle of a run. One-shot examples are files too.
"""

from collegium.llm.prompts.examples import Example, ExampleTurn, load_examples
from collegium.llm.prompts.loader import PromptTemplate, load_prompt, packaged_prompts

__all__ = [
    "Example",
    "ExampleTurn",
    "PromptTemplate",
    "load_examples",
    "load_prompt",
    "packaged_prompts",
]
