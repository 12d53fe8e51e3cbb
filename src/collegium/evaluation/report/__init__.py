"""One self-contained HTML page of a run: tables, figures, and every episode step by step."""

from collegium.evaluation.report.builder import build, read_summary, stored_summary

__all__ = ["build", "read_summary", "stored_summary"]
