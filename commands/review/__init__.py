"""Grading by doctors: the export of blinded sheets, the import of grades, and the instructions."""
