"""Use-cases that every front door calls; they know neither terminal nor network."""
