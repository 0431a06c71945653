"""The contract of every stage: Arrow schema, meaning of each column, expectations."""
