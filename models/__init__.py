"""The reference models: Llamas trained from scratch on a known part of the starter base."""
