"""The contract of every stage: its Arrow schema, the meaning of each column, and its expectations."""
