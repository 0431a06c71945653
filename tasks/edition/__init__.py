"""From a knowledge base to the samples of an edition."""
