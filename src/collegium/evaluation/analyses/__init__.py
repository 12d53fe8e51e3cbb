"""The paper's analyses: what several evaluations say together, as records, tables and figures."""
