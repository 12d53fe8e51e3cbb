"""Pushing and pulling adapters, models and the tables of runs, each as a bundle with a card.

A label set is a table too: that of the run which made the labels.
"""
