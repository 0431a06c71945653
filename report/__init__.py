"""The dashboard: simple HTML pages of each edition, built from the warehouse views."""
