"""The bundled configurations, one TOML file each."""
