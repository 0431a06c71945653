"""The sample browser of an edition: a page with scripts that shows the samples behind every figure."""
