"""Use-cases that every front door calls."""
