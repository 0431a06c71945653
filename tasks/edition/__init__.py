"""Build an edition: from a knowledge base to its samples."""
