"""Grading by doctors: blinded sheets, their import, and the instructions."""
