"""Estimates with intervals: shares, means and paired differences over correlated observations."""
