"""Ray: engine actors, the resumable task map, job functions."""
