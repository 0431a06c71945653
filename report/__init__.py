"""The dashboard: one simple, self-contained HTML page per edition, built from the warehouse views."""
