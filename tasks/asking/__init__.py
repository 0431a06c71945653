"""From prompts to stored answers, for evaluated models and for writers."""
