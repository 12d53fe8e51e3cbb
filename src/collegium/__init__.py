"""Collegium: shared experience, reputation, deliberation and memory for populations of LLM agents."""

__version__ = "0.1.0"
