"""The dashboard: one plain, self-contained HTML page per edition, from the warehouse views."""
