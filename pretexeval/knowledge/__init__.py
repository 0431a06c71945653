"""Knowledge bases: the bundled starter base, and readers for MedLAMA, DiseK and plain triplet tables."""
