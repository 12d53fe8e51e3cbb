"""Ray: the cluster of a run, engines in actors, job functions. Only this package imports Ray."""
