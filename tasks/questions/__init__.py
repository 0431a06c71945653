"""Build questions of several types about the points of an edition."""
