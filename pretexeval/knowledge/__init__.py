"""Knowledge bases: the bundled starter base, and readers of tables, ontologies, queries and MedQA."""
