"""Language models behind one small interface."""
