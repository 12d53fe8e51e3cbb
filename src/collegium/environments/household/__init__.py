"""ALFWorld's household games on our own engine."""
