"""Success, steps, RPP, welfare; tables, figures and the HTML report."""
