"""Knowledge bases: the bundled starter base, and readers for MedLAMA and plain triplet tables."""
