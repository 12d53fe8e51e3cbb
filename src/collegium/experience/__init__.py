"""MATM: chunks, indexes, retrieval and the construction of the shared memory."""
