"""Ray Serve: builders of applications from typed arguments; deployments wrap ASGI apps."""
