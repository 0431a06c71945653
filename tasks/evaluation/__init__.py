"""Evaluate a model on an edition: from its samples to the predictions of the model."""
