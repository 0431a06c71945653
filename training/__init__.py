"""Training and measuring of the reference models. No run of the pipeline imports this package."""
