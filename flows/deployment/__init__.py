"""The flows as deployments: registered, sent to pools, limited, begun again."""
