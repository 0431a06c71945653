"""Language models behind one small interface (`pretexeval.engines.base.Engine`)."""
