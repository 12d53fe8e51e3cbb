"""Collegium: shared experience, reputation, deliberation and memory for LLM agents."""

__version__ = "0.1.0"
