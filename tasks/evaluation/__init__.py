"""From the samples of an edition to the predictions of a model."""
