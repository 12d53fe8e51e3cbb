"""Rankers of retrieved chunks: the 44 features, the models, their training, retrieve → rerank."""
