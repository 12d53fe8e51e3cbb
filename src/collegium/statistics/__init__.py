"""Pure functions on arrays: paired bootstrap, intervals."""
