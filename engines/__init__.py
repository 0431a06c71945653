"""Language models behind one small interface (`engines.base.Engine`)."""
