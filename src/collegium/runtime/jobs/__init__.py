"""Job functions: what the pipelines run. Logic in plain Python; engines come from a host."""
