"""The bundled configurations, and the queries that read knowledge bases as they are published."""
