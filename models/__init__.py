"""The reference models: their weights and cards, one folder each."""
