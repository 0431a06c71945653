"""How the reference models were trained and measured; nothing of a run imports this."""
