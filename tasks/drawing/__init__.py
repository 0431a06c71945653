"""Draw what is tested of each head of a relation: its true tails and its false ones."""
