"""Migrations, numbered in one line; `collegium db upgrade` applies those that are missing."""
