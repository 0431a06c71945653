"""Sheets on which people grade samples, or judge labels and rewordings: export, import, instructions."""
