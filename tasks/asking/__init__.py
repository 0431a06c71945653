"""Ask models, evaluated ones and writers, and store their answers."""
